#!/usr/bin/env bash
# Installs what building and testing need, on Debian 12 or 13, and nothing that
# is there already. Says nothing when nothing is missing.
#
#   tools/setup.sh [--all]
#
# --all adds what tools/test.sh --all uses: clang, lld, the sanitizers' runtimes
# and symbolizer, clang-format.
set -euo pipefail

packages=(
  bazel-bootstrap  # with a C++ compiler, Python and a Java runtime
  g++ python3 pkg-config
  libabsl-dev libdnnl-dev libhwy-dev libprotobuf-dev protobuf-compiler
  libarchive-dev libbenchmark-dev libcli11-dev libonnx-dev nlohmann-json3-dev zlib1g-dev
  libgmock-dev libgtest-dev
)
case "${1-}" in
  "") ;;
  --all) packages+=(clang clang-format git libclang-rt-dev libomp-dev lld llvm) ;;
  *) echo "usage: tools/setup.sh [--all]" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | head -1 || true)
  [[ $status == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
((EUID == 0)) || as_root=(sudo)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs apt-get as root; its output is shown only if it fails.
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" \
    </dev/null >"$log" 2>&1 || { cat "$log" >&2; return 1; }
}

echo "Installing ${missing[*]}" >&2
# Package lists of a fresh machine are absent or old.
apt update || true
apt install -y --no-install-recommends "${missing[@]}"
