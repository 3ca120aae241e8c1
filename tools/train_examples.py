"""Trains the examples in full, with three seeds each, and prints a table.

    bazel build //tools:reprise
    python3 tools/train_examples.py bazel-bin/tools/reprise [--mnist=FOLDER]
        [--text=FILE] [--threads=N] [--only=NAME]

`bazel info bazel-bin` names the folder of the program. --mnist is where MNIST's
four idx files are; without it that model is left out. --text is what the
transformer learns, by default the GPL that every Debian system has. The table
is Markdown, one line a run; docs/examples.md has one.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

import context_model

SEEDS = (1, 2, 3)
HOLDOUT = 0.1  # of the text
WINDOW = 64  # of char_transformer
EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def train(args, model, *options):
    """Runs `reprise train`; returns its report and the seconds it took."""
    start = time.monotonic()
    output = subprocess.run(
        [
            args.reprise,
            "train",
            str(EXAMPLES / (model + ".textproto")),
            "--config=" + str(EXAMPLES / (model + ".train.textproto")),
            "--threads=%d" % args.threads,
            "--format=json",
            *options,
        ],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return json.loads(output), time.monotonic() - start


def accuracy(metrics):
    return "%.2f %% of %d right" % (100 * metrics["accuracy"], metrics["labels"])


def bits(metrics):
    return "%.3f bits per character" % metrics["bits_per_character"]


def runs(args):
    """What to train: name, options, how to show the metrics, what to compare with."""
    digits = (
        "--data=" + str(EXAMPLES / "data" / "digits.csv.gz"),
        "--scale=0.0625",
        "--holdout=0.2",
    )
    yield "digits_mlp", (*digits, "--epochs=30"), accuracy, "at least 96 %"
    yield "deep_mlp", (*digits, "--epochs=30", "--set", "batch=64"), accuracy, ""
    if args.mnist:
        pairs = [
            ",".join(
                str(pathlib.Path(args.mnist) / (part + end))
                for end in ("-images-idx3-ubyte.gz", "-labels-idx1-ubyte.gz")
            )
            for part in ("train", "t10k")
        ]
        options = ("--data=" + pairs[0], "--eval-data=" + pairs[1], "--epochs=3")
        yield "mnist_cnn", options, accuracy, "at least 98.5 %"
    text = pathlib.Path(args.text).read_bytes()
    held_out = context_model.held_out_bytes(len(text), HOLDOUT)
    order2 = context_model.bits_per_character(
        text, order=2, holdout=HOLDOUT, characters=held_out // WINDOW * WINDOW
    )
    options = ("--data=" + args.text, "--holdout=%g" % HOLDOUT, "--steps=2000")
    yield "char_transformer", options, bits, "order-2 context model: %.3f" % order2


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("reprise", help="the program, built by //tools:reprise")
    parser.add_argument("--mnist")
    parser.add_argument("--text", default="/usr/share/common-licenses/GPL-3")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--only", help="one model, by its name")
    args = parser.parse_args()
    print("| model | seed | steps | held out | to compare | arena bytes | seconds |")
    print("|---|---|---|---|---|---|---|")
    for model, options, show, compare in runs(args):
        if args.only and model != args.only:
            continue
        for seed in SEEDS:
            report, seconds = train(args, model, "--seed=%d" % seed, *options)
            print(
                "| `%s` | %d | %d | %s | %s | %s | %.0f |"
                % (
                    model,
                    seed,
                    report["steps"],
                    show(report["reports"][-1]["held_out"]),
                    compare,
                    format(report["arena_bytes"], ","),
                    seconds,
                )
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
