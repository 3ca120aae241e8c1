#!/usr/bin/env bash
# Plans a small model, trains it on images of handwritten digits, evaluates it,
# and shows that the saved weights, loaded again, give the same evaluation.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh

bazel build --compilation_mode=opt --noshow_progress --ui_event_filters=-info //tools:reprise
reprise=$(bazel info --compilation_mode=opt bazel-bin 2>/dev/null)/tools/reprise
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

model=examples/digits_mlp.textproto
data=examples/data/digits.csv.gz

# Shows a command, then runs it.
show() {
  printf '\n$ reprise %s\n' "$*"
  "$reprise" "$@"
}

show plan "$model"
show train "$model" --data="$data" --holdout=0.2 --epochs=20 --seed=1 --save="$scratch/weights.safetensors"
show eval "$model" --data="$data" --load="$scratch/weights.safetensors" | tee "$scratch/first"
show eval "$model" --data="$data" --load="$scratch/weights.safetensors" | tee "$scratch/second"
cmp "$scratch/first" "$scratch/second"
