"""The results of compare_speed.py as Markdown."""

PEERS = ("eager", "compiled", "jax")
MEBI = 1 << 20


def row(*cells):
    return "| " + " | ".join(map(str, cells)) + " |\n"


def head(*cells):
    """A header: names align left, all others right."""
    return row(*cells) + "|" + "".join(
        "---|" if cell in ("model", "settings", "parameter", "contestant") else "--:|"
        for cell in cells
    ) + "\n"


def mebi(value):
    return "%.1f" % (value / MEBI)


def measured(results, part):
    """(model, its entry for the part) of the models that have it."""
    for model, entry in results["models"].items():
        if part in entry:
            yield model, entry[part]


def by_threads(results, part):
    for model, entry in measured(results, part):
        for threads, found in sorted(entry.items()):
            yield model, threads, found


def fastest(found, key="median"):
    return min(found[peer][key] for peer in PEERS if peer in found)


def milliseconds(found, name):
    """The cell of a contestant; a peer that could not run has none."""
    return "%.1f" % found[name]["median"] if name in found else ""


def time_table(results):
    lines = head("model", "threads", "ours", *PEERS, "ours / fastest", "least")
    settings = head("model", "threads", "settings")
    for model, threads, found in by_threads(results, "time"):
        ours = found["ours"]
        lines += row(
            model,
            threads,
            milliseconds(found, "ours"),
            *(milliseconds(found, peer) for peer in PEERS),
            "%.3f" % (ours["median"] / fastest(found)),
            "%.3f" % (ours["min"] / fastest(found, "min")),
        )
        texts = (f"{p}: {found[p]['settings']}" for p in PEERS if p in found)
        settings += row(model, threads, "; ".join(texts))
    return (
        "## Time\n\nMilliseconds of a step, the median of the rounds' medians. "
        "The last column is the ratio of the\nfastest single steps.\n\n"
        f"{lines}\nThe fastest settings that were found, and alternated:\n\n{settings}"
    )


def memory_row(model, rows):
    """Cells of the arena, the bound, our process, the peers, and two ratios."""
    ours = rows["ours"]
    peaks = {peer: rows[peer]["step_peak"] for peer in PEERS}
    return row(
        model,
        mebi(ours["arena"]),
        mebi(ours["lower_bound"]),
        mebi(ours["peak"]),
        *(mebi(peaks[peer]) for peer in PEERS),
        "%.3f" % (ours["arena"] / peaks["eager"]),
        "%.3f" % (ours["arena"] / min(peaks.values())),
        "%.3f" % (ours["peak"] / min(peaks.values())),
    )


MEMORY_HEAD = head(
    "model",
    "arena",
    "bound",
    "our process",
    *PEERS,
    "arena / eager",
    "/ smallest",
    "process / smallest",
)


def memory_table(results):
    lines = MEMORY_HEAD
    for model, rows in measured(results, "memory"):
        lines += memory_row(model, rows)
    return (
        "## Memory, nothing recomputed\n\nMiB of a training run: of a process, its "
        "peak of two warm steps less what is resident with the\nframework loaded "
        "and warm; of ours, the peak of the whole run less that of a tiny model's.\n\n"
        + lines
    )


def recompute_table(results):
    lines = head(
        "model",
        "threads",
        "arena",
        "beyond",
        "eager beyond",
        "ratio",
        "estimated",
        "measured",
    )
    for model, threads, found in by_threads(results, "recompute"):
        memory = results["models"][model].get("memory")
        kept, recomputed = found["kept"], found["recomputed"]
        beyond = found["arena"] - found["persistent"]
        theirs = ratio = ""
        if memory:
            rest = memory["eager"]["step_peak"] - 3 * memory["trained_bytes"]
            theirs, ratio = mebi(rest), "%.3f" % (beyond / rest)
        lines += row(
            model,
            threads,
            mebi(found["arena"]),
            mebi(beyond),
            theirs,
            ratio,
            "%+.1f %%" % (100 * found["estimated"]),
            "%+.1f %%" % (100 * (recomputed["median"] / kept["median"] - 1)),
        )
    return (
        "## Memory, at most 5 % recomputed\n\nMiB; `beyond` is all but parameters, "
        "states and the optimizer's moments. The added time of a\nstep as the "
        "planner estimates it, and as measured.\n\n" + lines
    )


def checkpoint_tables(results):
    time = head(
        "model", "threads", "ours", "/ unannotated", *PEERS, "ours / fastest"
    )
    for model, threads, found in by_threads(results, "checkpoint"):
        ours = found["ours"]
        time += row(
            model,
            threads,
            milliseconds(found, "ours"),
            "%.3f" % (ours["median"] / found["unannotated"]["median"]),
            *(milliseconds(found, peer) for peer in PEERS),
            "%.3f" % (ours["median"] / fastest(found)),
        )
    memory = MEMORY_HEAD
    for model, rows in measured(results, "checkpoint_memory"):
        memory += memory_row(model, rows)
    return (
        "## Checkpointing for each block\n\nMilliseconds of a step, the regions of "
        f"`reprise zoo NAME --regions=block` on both sides:\n\n{time}\nMiB, as "
        f"above:\n\n{memory}"
    )


def gradients_table(results):
    lines = head("model", "contestant", "loss", "gradient", "parameter", "ours to it")
    for model, rows in measured(results, "gradients"):
        for name in ("ours", *PEERS):
            direct = rows["ours"]["peers"].get(name)
            lines += row(
                model,
                name,
                "%.1e" % rows[name]["loss"],
                "%.1e" % rows[name]["gradient"],
                f"`{rows[name]['parameter']}`",
                "%.1e" % direct["gradient"] if direct else "",
            )
    return (
        "## Agreement\n\nLargest difference of the loss and of a parameter's "
        "gradient from PyTorch's in float64, relative\nto the largest element (at "
        "least a thousandth of that of all gradients); the parameter that has\nit; "
        "ours relative to each peer.\n\n" + lines
    )


def render(results):
    """All tables whose part was measured."""
    machine = results.get("machine", {})
    text = (
        "# Steps of training, ours and others'\n\n"
        f"{machine.get('processor')}, {machine.get('processors')} processors; "
        f"{machine.get('versions')}; {machine.get('date')}.\n"
        f"{machine.get('rounds')} rounds of {machine.get('seconds')} seconds each.\n"
    )
    parts = {
        "time": time_table,
        "memory": memory_table,
        "recompute": recompute_table,
        "checkpoint": checkpoint_tables,
        "gradients": gradients_table,
    }
    for part, table in parts.items():
        if any(measured(results, part)):
            text += "\n" + table(results)
    return text
