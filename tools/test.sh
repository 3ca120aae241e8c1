#!/usr/bin/env bash
# Builds everything and runs every test. The last line is `N passed, N failed`
# (`, N skipped` when some were): the test cases that really ran. The exit code
# is 0 only if something ran and nothing failed.
#
#   tools/test.sh          with gcc
#   tools/test.sh --all    and with clang: with the address and undefined-
#                          behaviour sanitizers, and with the thread sanitizer
#                          outside the sandbox; the format check; prints a table
#
# Tests find the folder `shared` beside the repository, when it is there, in the
# environment variable REPRISE_SHARED_DIR.
set -euo pipefail
cd "$(dirname "$0")/.."

all=false
case "${1-}" in
  "") ;;
  --all) all=true ;;
  *) echo "usage: tools/test.sh [--all]" >&2; exit 2 ;;
esac

tools/setup.sh "$@"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

flags=()
[[ -t 1 ]] || flags+=(--noshow_progress --color=no)
test_flags=()
if shared=$(cd ../shared 2>/dev/null && pwd); then
  # The second variable makes Bazel run the tests anew when the folder changes.
  stamp=$(cd "$shared" && find -L . -type f -printf '%P %s %T@\n' | sort | cksum)
  test_flags+=("--test_env=REPRISE_SHARED_DIR=$shared" "--test_env=REPRISE_SHARED_STAMP=${stamp// /-}")
fi

passed=0 failed=0 skipped=0
table=()

# Adds a row to the table and its numbers to the sum.
record() {  # name passed failed skipped
  table+=("$(printf '%-23s %7d %7d %8d' "$@")")
  passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
}

# Runs all tests with the given Bazel flags and records the cases that ran.
run_tests() {  # name, flags...
  local name=$1 events="$scratch/events.json" code=0 counts
  shift
  rm -f "$events"
  bazel test //... --keep_going --build_event_json_file="$events" \
    "${flags[@]}" "${test_flags[@]}" "$@" || code=$?
  read -r -a counts < <(python3 tools/count_tests.py "$events")
  # A build that failed, or a run without a test, ran nothing that could fail.
  ((code == 0 || counts[1] > 0)) || counts[1]=1
  record "$name" "${counts[@]}"
}

# Builds and runs the embedding example, a Bazel workspace of its own.
run_embedding_example() {
  local code=0 model="$PWD/examples/digits_mlp"
  (cd examples/embed && bazel run "${flags[@]}" //:embed -- \
    "$model.textproto" "$model.train.textproto") || code=$?
  if ((code == 0)); then record "examples/embed" 1 0 0; else record "examples/embed" 0 1 0; fi
}

check_format() {
  local code=0
  git ls-files '*.cc' '*.h' | xargs -r clang-format --dry-run -Werror || code=$?
  if ((code == 0)); then record "clang-format" 1 0 0; else record "clang-format" 0 1 0; fi
}

run_tests gcc
run_embedding_example

if $all; then
  # Each has its own output directory, so that none evicts another's.
  # With libFuzzer's counters: the targets of tests/fuzz need no build of their own.
  run_tests "clang, asan, ubsan" --config=fuzz --platform_suffix=-fuzz
  run_tests "clang, tsan, no sandbox" --config=tsan --platform_suffix=-tsan \
    --spawn_strategy=local \
    --test_env=OMP_TOOL_LIBRARIES="$(clang -print-file-name=libarcher.so)"
  check_format
  printf '\n%-23s %7s %7s %8s\n' configuration passed failed skipped
  printf '%s\n' "${table[@]}"
  echo
fi

if ((skipped)); then
  echo "$passed passed, $failed failed, $skipped skipped"
else
  echo "$passed passed, $failed failed"
fi
((passed > 0 && failed == 0))
