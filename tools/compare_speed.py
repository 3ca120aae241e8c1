#!/usr/bin/env python3
"""Compares steps of training with PyTorch's and JAX's: time, memory, gradients.

    python3 -m venv VENV
    VENV/bin/pip install numpy jax torch
    bazel build //tools:reprise
    VENV/bin/python tools/compare_speed.py --reprise=bazel-bin/tools/reprise \\
        --models=mlp,gpt --threads=1,2 --results=results.json --out=tables.md

The virtual environment is outside the repository. torch.compile wants a C++
compiler. Each model of tools/peers/models.py is the zoo's, with the same
weights; every contestant is a process of its own:

  ours      `reprise bench`, AdamW
  eager     PyTorch: channels last, fused AdamW, relus in place
  compiled  the same in torch.compile
  jax       one jitted step with donated buffers, channels last

Parts, in the order in which they run (--parts; without it all):

  gradients   loss and gradients on the same data against ours: the largest
              difference of a parameter's gradient, relative to its largest
              element (tools/peers/agreement.py). The reference is PyTorch in
              float64, so that the table says who is off. Exit code 1 if it is
              ours
  time        first every variant of a peer's settings, at the most threads; the
              fastest then alternates with ours, --rounds times; a peer much slower than
              another is measured once. A number is the median of the
              rounds' medians
  memory      peak resident less what is resident with the framework loaded and
              warm, so that parameters count on both sides; ours also as planned
  recompute   our smallest arena for at most 5 % more of a step
  checkpoint  everything with checkpointing for each block, on both sides

--results keeps what was measured, by model: a later run of other models or
parts adds to it, and without --models only the tables are written. One thread
is one processor for everybody. Run it alone, or with --lock=FILE, which is held
while something is measured.
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))

import agreement  # noqa: E402
import contestants  # noqa: E402
import tables  # noqa: E402
from contestants import Reprise, Variant, Worker  # noqa: E402

ZOO = {
    "mlp": ("mlp",),
    "cnn": ("cnn",),
    "gpt": ("gpt",),
    "resnet50": ("resnet50",),
    "mobilenet_v1": ("mobilenet_v1",),
    "unet": ("unet",),
    "vit_tiny": ("vit_tiny",),
    "gpt2_small": (
        "gpt",
        "--blocks=12",
        "--width=768",
        "--heads=12",
        "--vocabulary=50257",
        "--length=256",
        "--batch=2",
    ),
}
TRANSFORMERS = ("gpt", "gpt2_small", "vit_tiny")
IMAGES = ("cnn", "resnet50", "mobilenet_v1", "unet")
PARTS = ("gradients", "time", "memory", "recompute", "checkpoint")
PEERS = ("eager", "compiled", "jax")
MOST_ADDED = 0.05  # of a step, for recomputation
SLOW = 1.5  # times the fastest peer: not worth more than a round
TINY = ("mlp", "--batch=4", "--blocks=1", "--image=2", "--width=8")


class Model:
    """A model of the zoo with its weights and data, in a folder."""

    def __init__(self, reprise, name, folder):
        import numpy as np
        import weights

        self.name = name
        self.folder = folder / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.graph = self.write(reprise, "graph")
        self.blocks = self.write(reprise, "blocks", "--regions=block")
        text = self.graph.read_text()
        check = reprise.report("check", str(self.graph))
        self.trained = [p["name"] for p in check["parameters"] if p["trainable"]]
        self.trained_bytes = 4 * check["trainable_elements"]
        self.inputs = [entry["name"] for entry in check["inputs"]]
        classes = int(re.search(r"below (\d+)", text).group(1))
        batch = weights.random_batch(check, classes, seed=2)
        weights.write_safetensors(
            self.folder / "weights.safetensors",
            weights.random_weights(check, text, seed=1),
        )
        np.savez(self.folder / "batch.npz", **batch)
        for key, array in batch.items():
            np.save(self.folder / (key + ".npy"), array)
        (self.folder / "trained.json").write_text(json.dumps(self.trained))

    def write(self, reprise, stem, *options):
        path = self.folder / (stem + ".textproto")
        path.write_text(reprise.text("zoo", *ZOO[self.name], *options))
        return path


def with_settings(variant, **settings):
    merged = {**dict(variant.settings), **settings}
    return Variant(variant.framework, tuple(merged.items()), variant.kept_heap)


def variants(model, peer, autotune):
    """Settings to choose from, the plain ones first."""
    framework = "jax" if peer == "jax" else "torch"
    first = Variant(framework)
    if peer == "compiled":
        first = with_settings(first, compile="default")
    yield first
    if peer == "compiled" and autotune:
        yield with_settings(first, compile="max-autotune")
    if model in TRANSFORMERS and framework == "torch":
        yield with_settings(first, attention="plain")
    if model in IMAGES:
        yield with_settings(first, layout="first")


def plain(model, peer):
    return next(variants(model, peer, False))


class Comparison:
    """Runs the parts for a model; each returns what goes into the results."""

    def __init__(self, flags, model):
        self.flags = flags
        self.model = model
        self.reprise = Reprise(flags.reprise)
        self.chosen = {}  # variants by peer, once they are known

    def worker(self, variant, threads):
        return Worker(
            self.flags.python, variant, self.model.name, self.model.folder, threads
        )

    def say(self, *words):
        print(f"{self.model.name}:", *words, file=sys.stderr, flush=True)

    def turn(self):
        return contestants.turn(self.flags.lock)

    def measure(self, worker, seconds):
        with self.turn():
            return worker.ask(f"measure {seconds}")

    def ours(self, graph, threads, *options):
        with self.turn():
            return self.reprise.bench(graph, threads, self.flags.seconds, *options)

    # Gradients.

    def our_gradients(self):
        import numpy as np

        folder = self.model.folder / "ours"
        arguments = ["--grad=" + ",".join(self.model.trained)]
        for name in self.model.inputs:
            arguments += ["--input", f"{name}={self.model.folder / name}.npy"]
        report = self.reprise.report(
            "run",
            str(self.model.graph),
            f"--load={self.model.folder / 'weights.safetensors'}",
            f"--out-dir={folder}",
            *arguments,
        )
        loss = next(r for r in report["results"] if r["name"] == "loss")
        found = {
            name: np.load(folder / f"grad.{name}.npy") for name in self.model.trained
        }
        return loss["elements"][0], found

    def peer_gradients(self, variant):
        import numpy as np

        path = self.model.folder / "gradients.npz"
        with self.worker(variant, os.cpu_count()) as worker:
            loss = worker.ask(f"gradients {path}")["loss"]
        return loss, dict(np.load(path))

    def gradients(self):
        """By contestant: `loss` and `gradient`, largest differences relative to
        float64, with the `parameter` that has the latter; of ours also `peers`,
        the largest relative to each peer."""
        exact_variant = Variant("torch", (("float64", True),))
        everybody = {"ours": self.our_gradients()}
        exact = self.peer_gradients(exact_variant)
        for peer in PEERS:
            variant = plain(self.model.name, peer)
            everybody[peer] = self.peer_gradients(variant)
        difference = agreement.difference
        rows = {name: difference(found, exact) for name, found in everybody.items()}
        ours = everybody["ours"]
        rows["ours"]["peers"] = {
            peer: difference(ours, everybody[peer]) for peer in PEERS
        }
        return rows

    # Time.

    def calibrate(self, peer):
        """The fastest variant of a peer's and its milliseconds."""

        def attempt(variant):
            try:
                with self.worker(variant, threads) as worker:
                    worker.ask("measure 0")
                    found = self.measure(worker, self.flags.seconds)
            except RuntimeError as error:
                self.say(peer, variant.describe(), error)
                return float("inf")
            self.say(peer, variant.describe(), "%.1f ms" % found["median"])
            return found["min"]

        threads = max(self.flags.threads)
        results = {
            variant: attempt(variant)
            for variant in variants(self.model.name, peer, self.flags.autotune)
        }
        best = min(results, key=results.get)
        kept = dataclasses.replace(best, kept_heap=True)
        results[kept] = attempt(kept)
        best = min(results, key=results.get)
        return best, results[best]

    def alternate(self, threads, chosen, ours, rounds=None):
        """Rounds of everybody, by default as many as the flag says.

        chosen: variants by name. ours: by name the graph and the options of
        `reprise bench`. Returns summaries by name; a peer that died has none.
        """
        times = {name: [] for name in (*chosen, *ours)}
        workers = {}
        try:
            for name, variant in chosen.items():
                try:
                    workers[name] = self.worker(variant, threads)
                    workers[name].ask("measure 0")
                except RuntimeError as error:
                    self.say(name, variant.describe(), error)
                    workers.pop(name, None)
            for _ in range(rounds or self.flags.rounds):
                for name, worker in workers.items():
                    found = self.measure(worker, self.flags.seconds)
                    times[name].append((found["median"], found["min"]))
                for name, (graph, options) in ours.items():
                    report = self.ours(graph, threads, *options)
                    times[name].append(contestants.step_milliseconds(report))
        finally:
            for worker in workers.values():
                worker.__exit__()
        summary = {name: summarize(found) for name, found in times.items() if found}
        for name in workers:
            summary[name]["settings"] = chosen[name].describe()
        self.say(threads, {n: round(s["median"], 1) for n, s in summary.items()})
        return summary

    def time(self, threads):
        if not self.chosen:
            self.chosen = {peer: self.calibrate(peer) for peer in PEERS}
        least = min(milliseconds for _, milliseconds in self.chosen.values())
        slow = {
            peer: variant
            for peer, (variant, milliseconds) in self.chosen.items()
            if milliseconds > SLOW * least
        }
        fast = {p: v for p, (v, _) in self.chosen.items() if p not in slow}
        ours = {"ours": (self.model.graph, ())}
        found = self.alternate(threads, fast, ours)
        return {**found, **self.alternate(threads, slow, {}, rounds=1)}

    # Memory.

    def peer_memory(self, variant):
        with self.worker(variant, max(self.flags.threads)) as worker:
            for _ in range(2):
                worker.ask("measure 0")
            found = worker.ask("memory")
        return {key: found[key] - found["base"] for key in ("peak", "step_peak")}

    def our_base(self):
        """Bytes resident at the peak of a tiny model: the program, loaded and
        warm, as the peers' base is."""
        path = self.model.folder / "tiny.textproto"
        path.write_text(self.reprise.text("zoo", *TINY))
        threads = max(self.flags.threads)
        return self.reprise.bench(path, threads, 0.2)["resident"]

    def our_memory(self, graph, *options):
        report = self.ours(graph, max(self.flags.threads), *options)
        return {
            "arena": report["arena_bytes"],
            "lower_bound": report["lower_bound_bytes"],
            "peak": report["resident"] - self.our_base(),
        }

    def peers_memory(self, **settings):
        rows = {}
        for peer in PEERS:
            variant = plain(self.model.name, peer)
            rows[peer] = self.peer_memory(with_settings(variant, **settings))
        return rows

    def memory(self):
        rows = {**self.peers_memory(), "ours": self.our_memory(self.model.graph)}
        rows["trained_bytes"] = self.model.trained_bytes
        self.say(rows)
        return rows

    # Recomputation.

    def recompute(self, threads):
        """Our smallest arena for at most MOST_ADDED more of a step, by estimate,
        and what both take."""
        common = ("--optimizer=adamw", f"--threads={threads}")
        curve = self.reprise.report("sweep", str(self.model.graph), *common)["curve"]
        cheap = [p for p in curve if p["recompute_cost_fraction"] <= MOST_ADDED]
        best = min(cheap, key=lambda point: point["arena_bytes"])
        budget = f"--budget={best['arena_bytes']}B"
        plan = self.reprise.report("plan", str(self.model.graph), *common, budget)
        ours = {
            "kept": (self.model.graph, ()),
            "recomputed": (self.model.graph, (budget,)),
        }
        return {
            "arena": plan["arena_bytes"],
            "persistent": plan["persistent_bytes"],
            "estimated": plan["recompute_cost_fraction"],
            **self.alternate(threads, {}, ours),
        }

    # Checkpointing.

    def checkpoint_time(self, threads):
        chosen = {}
        for peer in PEERS:
            variant = plain(self.model.name, peer)
            chosen[peer] = with_settings(variant, checkpoint=True)
        ours = {
            "unannotated": (self.model.graph, ()),
            "ours": (self.model.blocks, ()),
        }
        return self.alternate(threads, chosen, ours)

    def checkpoint_memory(self):
        rows = self.peers_memory(checkpoint=True)
        return {**rows, "ours": self.our_memory(self.model.blocks)}


def summarize(rounds):
    """Median over rounds of their medians, least of all steps."""
    return {
        "median": statistics.median(median for median, _ in rounds),
        "min": min(least for _, least in rounds),
        "rounds": [round(median, 3) for median, _ in rounds],
    }


def machine(flags):
    """What the tables say about where and when."""
    versions = subprocess.run(
        [
            flags.python,
            "-c",
            "import jax, sys, torch;"
            "print(f'Python {sys.version.split()[0]}, PyTorch {torch.__version__}, "
            "JAX {jax.__version__}')",
        ],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.strip()
    text = pathlib.Path("/proc/cpuinfo").read_text()
    found = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return {
        "processor": found.group(1) if found else platform.machine(),
        "processors": os.cpu_count(),
        "versions": versions,
        "date": datetime.date.today().isoformat(),
        "seconds": flags.seconds,
        "rounds": flags.rounds,
    }


def run_model(flags, model, parts, entry):
    """Adds to the model's entry of the results what the parts find."""
    comparison = Comparison(flags, model)
    for part in parts:
        if part == "gradients":
            entry[part] = comparison.gradients()
        elif part == "memory":
            entry[part] = comparison.memory()
        elif part == "checkpoint":
            entry["checkpoint_memory"] = comparison.checkpoint_memory()
        step = {
            "time": comparison.time,
            "recompute": comparison.recompute,
            "checkpoint": comparison.checkpoint_time,
        }.get(part)
        for threads in flags.threads if step else ():
            entry.setdefault(part, {})[str(threads)] = step(threads)
        flags.save()


def names(text):
    return [name for name in text.split(",") if name]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reprise", help="the program")
    parser.add_argument("--python", default=sys.executable, help="with the peers")
    parser.add_argument("--models", type=names, default=[], help=", ".join(ZOO))
    parser.add_argument(
        "--threads", type=lambda text: [int(n) for n in names(text)], default=[1, 2]
    )
    parser.add_argument("--parts", type=names, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="of a measurement")
    parser.add_argument(
        "--autotune", action="store_true", help="try max-autotune, for minutes"
    )
    parser.add_argument("--lock", help="file to hold while measuring")
    parser.add_argument("--folder", type=pathlib.Path, help="for weights and logs")
    parser.add_argument("--results", type=pathlib.Path, help="JSON, read and written")
    parser.add_argument("--out", type=pathlib.Path, help="tables, Markdown")
    flags = parser.parse_args()
    for chosen, known in ((flags.models, ZOO), (flags.parts, PARTS)):
        for name in chosen:
            if name not in known:
                parser.error(f"{name!r} is none of {', '.join(known)}")
    if flags.models and not flags.reprise:
        parser.error("--models wants --reprise")
    return flags


def main():
    flags = parse()
    results = {"models": {}}
    if flags.results and flags.results.exists():
        results = json.loads(flags.results.read_text())

    def save():
        if flags.results:
            flags.results.write_text(json.dumps(results, indent=1) + "\n")

    flags.save = save
    if flags.models:
        results["machine"] = machine(flags)
    with tempfile.TemporaryDirectory() as scratch:
        folder = flags.folder or pathlib.Path(scratch)
        for name in flags.models:
            model = Model(Reprise(flags.reprise), name, folder)
            run_model(flags, model, flags.parts, results["models"].setdefault(name, {}))
    text = tables.render(results)
    if flags.out:
        flags.out.write_text(text)
    else:
        print(text)
    wrong = list(agreement.disagreements(results))
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
