#!/bin/sh
# Writes all_ops.cc: one call for each operator file named on the command line.
# foo_bar.cc must define std::vector<OpDef> FooBarOps() in namespace reprise; a
# forgotten one is a link error that names it.
set -eu
names=$(for f in "$@"; do basename "$f" .cc | sed -E 's/(^|_)([a-z0-9])/\U\2/g'; done | LC_ALL=C sort)
echo '#include "ops/all_ops.h"'
echo '#include <utility>'
echo 'namespace reprise {'
for n in $names; do echo "std::vector<OpDef> ${n}Ops();"; done
echo 'std::vector<OpDef> AllOps() {'
echo '  std::vector<OpDef> all;'
for n in $names; do echo "  for (OpDef& op : ${n}Ops()) all.push_back(std::move(op));"; done
echo '  return all;'
echo '}'
echo '}  // namespace reprise'
