#!/usr/bin/env python3
"""Says whether a step of training became slower, by ratios alone.

    bazel build //tools:reprise
    tools/check_speed.py bazel-bin/tools/reprise            # against the file
    tools/check_speed.py bazel-bin/tools/reprise --update   # writes the file

tools/speed_ratios.json holds no times, so it is good for any machine, roughly:
  step    time of a step / the time that its products alone would take at the
          rate of products that the same process measured
  arena   planned arena / lower bound
  shares  part of each operator in the time of kernels, from 2 % on
A step may be --tolerance longer, an operator's share as much again plus a
twentieth; the arena may not be larger. The best of --tries runs counts, because
other programs only slow one down. Too noisy for a unit test: run it before and
after a change of kernels. Exit code 1 if anything is worse.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

RATIOS = pathlib.Path(__file__).resolve().parent / "speed_ratios.json"
MODELS = {
    "mlp": ("mlp",),
    "cnn": ("cnn",),
    "gpt": ("gpt", "--blocks=2"),
    "mobilenet_v1": ("mobilenet_v1", "--batch=2"),
    "resnet50": ("resnet50", "--batch=2"),
}
LEAST_SHARE = 0.02
SHARE_SLACK = 0.05


def bench(program, graph, seconds):
    output = subprocess.run(
        [
            program,
            "bench",
            graph,
            "--optimizer=adamw",
            "--threads=1",
            f"--seconds={seconds}",
            "--format=json",
        ],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return json.loads(output)


def ratios(report):
    """The ratios of a report of `reprise bench`."""
    ideal = 1e9 * report["flops"] / report["peak_flops_per_second"]
    return {
        "step": round(report["step_nanoseconds"]["min"] / ideal, 3),
        "arena": round(report["arena_bytes"] / report["lower_bound_bytes"], 4),
        "shares": {
            op["op"]: round(op["fraction"], 3)
            for op in report["ops"]
            if op["fraction"] >= LEAST_SHARE
        },
    }


def measure(flags, zoo):
    """The ratios of the run with the shortest step."""
    with tempfile.NamedTemporaryFile("w", suffix=".textproto") as graph:
        subprocess.run([flags.reprise, "zoo", *zoo], check=True, stdout=graph)
        runs = [
            ratios(bench(flags.reprise, graph.name, flags.seconds))
            for _ in range(flags.tries)
        ]
    return min(runs, key=lambda run: run["step"])


def complaints(found, known, tolerance):
    """What is worse than known, as sentences."""
    if found["step"] > known["step"] * (1 + tolerance):
        yield f"a step is {found['step']} of its products, was {known['step']}"
    if found["arena"] > known["arena"]:
        yield f"arena is {found['arena']} of its bound, was {known['arena']}"
    for op, share in found["shares"].items():
        before = known["shares"].get(op, LEAST_SHARE)
        if share > before * (1 + tolerance) + SHARE_SLACK:
            yield f"{op} takes {share:.1%} of the kernels' time, was {before:.1%}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reprise", help="the program, built by //tools:reprise")
    parser.add_argument("--update", action="store_true", help="write the file")
    parser.add_argument("--tolerance", type=float, default=0.3)
    parser.add_argument("--seconds", type=float, default=3, help="of a run")
    parser.add_argument("--tries", type=int, default=3)
    flags = parser.parse_args()
    found = {name: measure(flags, zoo) for name, zoo in MODELS.items()}
    if flags.update:
        RATIOS.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    known = json.loads(RATIOS.read_text())
    worse = 0
    for name, values in found.items():
        print(
            f"{name}: step {values['step']} (was {known[name]['step']}), "
            f"arena {values['arena']} (was {known[name]['arena']})"
        )
        for text in complaints(values, known[name], flags.tolerance):
            print(f"{name}: {text}")
            worse += 1
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
