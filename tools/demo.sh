#!/usr/bin/env bash
# Plans a small classifier of handwritten digits, trains it, and shows that the
# saved weights, loaded again, give the evaluation that training ended with.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh

bazel build --compilation_mode=opt //tools:reprise
reprise=$(bazel info --compilation_mode=opt bazel-bin 2>/dev/null)/tools/reprise
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

model=examples/digits_mlp.textproto
weights=$scratch/digits.safetensors
data=(--data=examples/data/digits.csv.gz --scale=0.0625 --holdout=0.2 --seed=1)

# Shows a command, then runs it.
show() {
  printf '\n$ reprise %s\n' "$*"
  "$reprise" "$@"
}

show plan "$model"
show train "$model" --config=examples/digits_mlp.train.textproto "${data[@]}" \
  --epochs=30 --save="$weights" | tee "$scratch/train"
show eval "$model" "${data[@]}" --load="$weights" | tee "$scratch/eval"

trained=$(sed -n 's/.* held out: \(.*\) | .*/\1/p' "$scratch/train" | tail -1)
loaded=$(sed -n 's/.* rows: //p' "$scratch/eval")
echo
if [[ -z $loaded || $trained != "$loaded" ]]; then
  echo "The weights loaded give '$loaded', training ended with '$trained'." >&2
  exit 1
fi
echo "Trained, saved, loaded: the same held-out $loaded."
