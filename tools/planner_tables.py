#!/usr/bin/env python3
"""Prints docs/planner.md's tables of public instances, as Markdown.

  bazel build //tools:planner_bench
  tools/planner_tables.py PLANNER_BENCH FOLDER

FOLDER has `offsets/*.csv`, `remat/*.txt`, and `remat-small/` with EXPECTED.txt
(lines `FILE B=budget:cost ...`). Run it alone: some columns are seconds.
"""

import argparse
import json
import pathlib
import re
import subprocess

# Of the peak with everything kept; recomputation in percent of the base cost, as
# published or measured with other planners, and whether that is an optimum.
KNOWN_REMAT = {
    "VGG16_256": {.95: (.7742, True), .90: (1.9677, True), .85: (1.9677, True)},
    "vgg_unet_32": {.90: (1.1289, True), .80: (1.9836, True),
                    .70: (2.967, False), .60: (4.838, False),
                    .50: (8.450, False), .40: (14.820, False)},
    "ResNet50_256": {.90: (.108, False), .80: (.279, False),
                     .50: (1.532, False), .20: (7.36, False)},
    "random_layered_n100": {.90: (.789, False), .80: (2.297, False)},
    "random_layered_n500": {.90: (.845, False), .80: (3.193, False)},
}
# Seconds of a complete search elsewhere, at the capacity (or the bound).
KNOWN_OFFSETS = {"A": 17.5, "C": 1.26, "E": 4.9, "G": 1.8, "I": 7.3, "K": .72,
                 "resnet50": 1.07, "G_1": 7.1}


def bench(binary, *arguments):
  output = subprocess.run([binary, *arguments, "--format=json"], check=True,
                          capture_output=True, text=True).stdout
  return json.loads(output)["instances"]


def offsets_table(binary, folder):
  print("| instance | buffers | lower bound | arena | ratio | seconds "
        "| elsewhere | method |\n|---|--:|--:|--:|--:|--:|--:|---|")
  files = sorted(folder.glob("*.csv"))
  ours = theirs = 0
  for row in bench(binary, "offsets", *map(str, files)):
    name = pathlib.Path(row["file"]).name.split(".")[0]
    known = KNOWN_OFFSETS.get(name)
    if known is not None:
      ours, theirs = ours + row["seconds"], theirs + known
    print(f"| {name} | {row['buffers']} | {row['lower_bound_bytes']} "
          f"| {row['arena_bytes']} | {row['ratio']:.4f} | {row['seconds']:.3f} "
          f"| {'' if known is None else known} | {row['method']} |")
  print(f"| sum | | | | | {ours:.3f} | {theirs:.2f} | |\n")


def remat_table(binary, folder):
  print("| graph | n | budget | added % | known % | proven here | seconds "
        "| method |\n|---|--:|--:|--:|--:|---|--:|---|")
  for name, budgets in KNOWN_REMAT.items():
    file = next(folder.glob(name + "_*.txt"))
    for fraction, (known, optimum) in budgets.items():
      row = bench(binary, "remat", str(file), f"--budget-fraction={fraction}")[0]
      print(f"| {name} | {row['nodes']} | {fraction:.2f} "
            f"| {row['added_percent']:.4f} "
            f"| {known}{' (optimum)' if optimum else ''} "
            f"| {'yes' if row['proven'] else 'no'} | {row['seconds']:.1f} "
            f"| {row['method']} |", flush=True)
  print()


def small_table(binary, folder):
  right = total = 0
  for line in (folder / "EXPECTED.txt").read_text().splitlines():
    name = re.match(r"\s*(\S+)", line)
    for budget, cost in re.findall(r"(?:B=)?(\d+):(\d+)", line):
      file = folder / name.group(1)
      if not file.suffix:
        file = file.with_suffix(".txt")
      row = bench(binary, "remat", str(file), f"--budget={budget}")[0]
      total += 1
      right += row["cost"] == int(cost)
  print(f"{right} of {total} optima of small graphs are found.\n")


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("planner_bench")
  parser.add_argument("folder", type=pathlib.Path)
  flags = parser.parse_args()
  offsets_table(flags.planner_bench, flags.folder / "offsets")
  small_table(flags.planner_bench, flags.folder / "remat-small")
  remat_table(flags.planner_bench, flags.folder / "remat")


if __name__ == "__main__":
  main()
