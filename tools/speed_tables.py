#!/usr/bin/env python3
"""Writes docs/performance_tables.md: every table behind docs/performance.md.

    bazel build //tools:reprise
    tools/speed_tables.py bazel-bin/tools/reprise \\
        --python=VENV/bin/python > docs/performance_tables.md

  steps  time of a step, share of the machine's peak, kernels bare to the step,
         time that is no kernel
  batch  time and bytes of a step over the batch
  depth  the same over the number of blocks, and the seconds from a file to
         kernels that are built
  small  a net of 64-32-10 at a batch of 1
  peers  all that tools/compare_speed.py measures, whose head says what VENV
         holds; some hours

--tables chooses among them; without --python there are no peers. With --results
the peers' figures are kept in a file, and only models that it lacks are
measured. A step is forward, backward and AdamW. Run it alone.
"""

import argparse
import datetime
import json
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

SMALL = """
format_version: 1
name: "small"
symbol { name: "batch" default_value: 1 }
input { name: "x" type { dtype: FLOAT32 dim { symbol: "batch" } dim { value: 64 } } }
input { name: "label" type { dtype: INT64 dim { symbol: "batch" } } }
parameter { name: "w1" type { dtype: FLOAT32 dim { value: 64 } dim { value: 32 } } }
parameter { name: "b1" type { dtype: FLOAT32 dim { value: 32 } } }
parameter { name: "w2" type { dtype: FLOAT32 dim { value: 32 } dim { value: 10 } } }
parameter { name: "b2" type { dtype: FLOAT32 dim { value: 10 } } }
node { name: "fc1" op: "Gemm" input: "x" input: "w1" input: "b1" output: "h" }
node { name: "relu" op: "Relu" input: "h" output: "a" }
node { name: "fc2" op: "Gemm" input: "a" input: "w2" input: "b2" output: "scores" }
node {
  name: "loss" op: "SoftmaxCrossEntropyLoss"
  input: "scores" input: "label" output: "l"
}
output: "scores"
loss { value: "l" }
"""


def cpu():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


class Program:
    def __init__(self, path, folder, seconds):
        self.path = path
        self.folder = pathlib.Path(folder)
        self.seconds = seconds

    def run(self, *arguments):
        return subprocess.run(
            [self.path, *arguments], check=True, stdout=subprocess.PIPE
        ).stdout

    def model(self, *zoo):
        """Returns the path of a zoo's model, or of the small net."""
        if zoo == ("small",):
            path = self.folder / "small.textproto"
            path.write_text(SMALL)
            return str(path)
        path = self.folder / ("_".join(zoo).replace("--", "") + ".textproto")
        if not path.exists():
            path.write_bytes(self.run("zoo", *zoo))
        return str(path)

    def bench(self, zoo, threads):
        """Returns the report of a benchmark."""
        return json.loads(
            self.run(
                "bench",
                self.model(*zoo),
                "--optimizer=adamw",
                f"--threads={threads}",
                f"--seconds={self.seconds}",
                "--format=json",
            )
        )

    def library(self):
        """Returns the name and version of the kernels' library."""
        return self.bench(("small",), 1)["library"]

    def preparation(self, zoo):
        """Returns the seconds of a plan, from the file on, and its report."""
        model = self.model(*zoo)
        start = time.monotonic()
        report = self.run(
            "plan", model, "--optimizer=adamw", "--threads=1", "--format=json"
        )
        return time.monotonic() - start, json.loads(report)


def milliseconds(report):
    return report["step_nanoseconds"]["median"] / 1e6


def mib(count):
    return f"{count / 2**20:.1f}"


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*names):
    row(*names)
    print("|---|" + "--:|" * (len(names) - 1))


def steps(program):
    head(
        "model",
        "threads",
        "step, ms (least)",
        "GFLOP/s",
        "of the peak",
        "kernels bare / least step",
        "no kernel",
    )
    for model in ("mlp", "cnn", "gpt", "resnet50", "mobilenet_v1", "unet", "vit_tiny"):
        for threads in (1, 2):
            report = program.bench((model,), threads)
            least = report["step_nanoseconds"]["min"]
            rate = report["flops"] / least
            row(
                model,
                threads,
                f"{milliseconds(report):.1f} ({least / 1e6:.1f})",
                f"{rate:.0f}",
                f"{1e9 * rate / report['peak_flops_per_second']:.2f}",
                f"{report['bare_nanoseconds'] / least:.2f}",
                f"{100 * report['overhead_fraction']:.2f} %",
            )


def batch(program):
    head("model", "batch", "step, ms", "ms a sample", "arena, MiB", "bound / arena")
    for model in ("mlp", "cnn", "gpt"):
        for size in (1, 2, 4, 8, 16, 32, 64):
            report = program.bench((model, f"--batch={size}"), 1)
            row(
                model,
                size,
                f"{milliseconds(report):.2f}",
                f"{milliseconds(report) / size:.3f}",
                mib(report["arena_bytes"]),
                f"{report['lower_bound_bytes'] / report['arena_bytes']:.5f}",
            )


def depth(program):
    head("blocks", "step, ms", "ms a block", "arena, MiB", "MiB a block", "plan, s")
    for blocks in (6, 12, 24, 48, 96):
        zoo = ("gpt", f"--blocks={blocks}", "--batch=1")
        seconds, plan = program.preparation(zoo)
        report = program.bench(zoo, 1)
        row(
            blocks,
            f"{milliseconds(report):.1f}",
            f"{milliseconds(report) / blocks:.2f}",
            mib(plan["arena_bytes"]),
            mib(plan["arena_bytes"] / blocks),
            f"{seconds:.1f}",
        )


def small(program):
    head("net", "threads", "step, microseconds (least)")
    for threads in (1, 2):
        report = program.bench(("small",), threads)
        least = report["step_nanoseconds"]["min"] / 1e3
        row("64-32-10", threads, f"{1e3 * milliseconds(report):.1f} ({least:.1f})")


def peers(arguments):
    """Prints what compare_speed.py finds, of the models that are still missing."""
    script = pathlib.Path(__file__).resolve().parent / "compare_speed.py"
    results = pathlib.Path(arguments.results)
    measured = {}
    if results.exists():
        measured = json.loads(results.read_text())["models"]
    missing = [name for name in arguments.models.split(",") if name not in measured]
    text = subprocess.run(
        [
            arguments.python,
            script,
            f"--reprise={arguments.reprise}",
            f"--results={results}",
            f"--models={','.join(missing)}",
            f"--rounds={arguments.rounds}",
            f"--seconds={arguments.seconds}",
        ],
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    print(text.split("\n", 2)[2])


TABLES = {
    "steps": ("Our steps", steps),
    "batch": ("Steps over the batch, one thread", batch),
    "depth": ("Steps over the depth of gpt, batch 1, one thread", depth),
    "small": ("A small net", small),
}
MODELS = "mlp,cnn,gpt,resnet50,mobilenet_v1,unet,vit_tiny,gpt2_small"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reprise", help="the built program")
    parser.add_argument("--tables", default=",".join([*TABLES, "peers"]))
    parser.add_argument("--python", help="with PyTorch and JAX")
    parser.add_argument("--models", default=MODELS, help="beside the peers")
    parser.add_argument("--results", help="JSON of the peers, read and written")
    parser.add_argument("--rounds", type=int, default=5, help="beside the peers")
    parser.add_argument("--seconds", type=float, default=3, help="of a measurement")
    arguments = parser.parse_args()
    chosen = arguments.tables.split(",")
    for name in chosen:
        if name not in (*TABLES, "peers"):
            parser.error(f"{name!r} is none of {', '.join([*TABLES, 'peers'])}")
    with tempfile.TemporaryDirectory() as folder:
        program = Program(arguments.reprise, folder, arguments.seconds)
        print("# Tables of speed\n")
        print("Made by `tools/speed_tables.py`; docs/performance.md reads them.")
        print(f"{datetime.date.today()}, {cpu()}, {program.library()}.\n")
        for name in chosen:
            if name in TABLES:
                title, table = TABLES[name]
                print(f"## {title}\n")
                table(program)
                print(flush=True)
        if "peers" in chosen and arguments.python:
            arguments.results = arguments.results or f"{folder}/results.json"
            print("## Beside PyTorch and JAX\n", flush=True)
            peers(arguments)


if __name__ == "__main__":
    sys.exit(main())
