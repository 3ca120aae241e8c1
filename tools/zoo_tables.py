#!/usr/bin/env python3
"""Prints docs/planner.md's tables of the zoo's models, as Markdown.

  bazel build //tools:reprise
  tools/zoo_tables.py REPRISE [--models=mlp,cnn] [--sweep]

The first table has a plan of each model at its full size with AdamW: arena,
lower bound, their ratio. With --sweep a second one has all plans between that
and the smallest arena found; it takes some minutes.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

MODELS = ["mlp", "chain", "cnn", "resnet50", "densenet121", "vgg19",
          "mobilenet_v1", "unet", "gpt", "transformer", "vit_tiny"]
OPTIONS = ["--optimizer=adamw", "--threads=1", "--format=json"]


def report(binary, command, model, folder):
  """Returns the JSON of a command on a model of the zoo, and its seconds."""
  path = pathlib.Path(folder) / f"{model}.textproto"
  if not path.exists():
    path.write_bytes(subprocess.run([binary, "zoo", model], check=True,
                                    capture_output=True).stdout)
  start = time.monotonic()
  output = subprocess.run([binary, command, str(path), *OPTIONS], check=True,
                          capture_output=True).stdout
  return json.loads(output), time.monotonic() - start


def ratio(arena, bound):
  return f"{arena / bound:.5f}"


def plan_table(binary, models, folder):
  print("| model | steps | lower bound | arena | ratio | seconds |")
  print("|---|--:|--:|--:|--:|--:|")
  for model in models:
    plan, seconds = report(binary, "plan", model, folder)
    arena, bound = plan["arena_bytes"], plan["lower_bound_bytes"]
    print(f"| {model} | {plan['steps']:,} | {bound:,} | {arena:,} | "
          f"{ratio(arena, bound)} | {seconds:.1f} |", flush=True)


def sweep_table(binary, models, folder):
  print("| model | plans | ratio 1.00000 | largest ratio | arena | with 5 % "
        "more cost | smallest arena | seconds |")
  print("|---|--:|--:|--:|--:|--:|--:|--:|")
  for model in models:
    sweep, seconds = report(binary, "sweep", model, folder)
    curve = sweep["curve"]
    ratios = [p["arena_bytes"] / p["lower_bound_bytes"] for p in curve]
    cheap = min(p["arena_bytes"] for p in curve
                if p["recompute_cost_fraction"] <= .05)
    print(f"| {model} | {len(curve)} | {sum(r < 1.000005 for r in ratios)} | "
          f"{max(ratios):.5f} | {curve[0]['arena_bytes']:,} | {cheap:,} | "
          f"{curve[-1]['arena_bytes']:,} | {seconds:.0f} |", flush=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
  parser.add_argument("reprise")
  parser.add_argument("--models", default=",".join(MODELS))
  parser.add_argument("--sweep", action="store_true")
  arguments = parser.parse_args()
  models = arguments.models.split(",")
  with tempfile.TemporaryDirectory() as folder:
    plan_table(arguments.reprise, models, folder)
    if arguments.sweep:
      print()
      sweep_table(arguments.reprise, models, folder)


if __name__ == "__main__":
  main()
