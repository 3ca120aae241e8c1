"""How far losses and gradients of contestants are apart."""

PEERS = ("eager", "compiled", "jax")
TOLERANCE = 1e-4


def difference(found, reference):
    """Largest differences of (loss, gradients), relative to the reference."""
    loss, gradients = found
    exact_loss, exact = reference
    largest = {
        name: float(abs(gradients[name] - g).max() / (abs(g).max() or 1))
        for name, g in exact.items()
    }
    worst = max(largest, key=largest.get)
    return {
        "loss": abs(loss - exact_loss) / abs(exact_loss),
        "gradient": largest[worst],
        "parameter": worst,
    }


def disagreements(results):
    """Models whose loss or gradients are off, as sentences.

    More than TOLERANCE is too much, unless a peer is as far from float64: deep
    networks, and relus near zero, spread roundings further.
    """
    for model, entry in results["models"].items():
        rows = entry.get("gradients", {})
        for key in ("loss", "gradient") if rows else ():
            allowed = max(TOLERANCE, 2 * max(rows[peer][key] for peer in PEERS))
            if not rows["ours"][key] <= allowed:
                yield f"{model}: {key} is off by {rows['ours'][key]:.1e}"
