"""How far losses and gradients of contestants are apart."""

PEERS = ("eager", "compiled", "jax")
TOLERANCE = 1e-4
LEAST_SCALE = 1e-3


def difference(found, reference):
    """Largest differences of (loss, gradients), relative to the reference.

    Of a gradient: relative to its largest element, or to LEAST_SCALE of the
    largest of all gradients where that is more. A bias ahead of a normalization
    has a gradient of zero, whose roundings are no measure of anything.
    """
    loss, gradients = found
    exact_loss, exact = reference
    scale = {name: float(abs(g).max()) for name, g in exact.items()}
    least = LEAST_SCALE * max(scale.values())
    largest = {
        name: float(abs(gradients[name] - g).max()) / (max(scale[name], least) or 1)
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
