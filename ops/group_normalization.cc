// GroupNormalization: groups of channels, `num_groups` in an image, have mean 0
// and variance 1, then each channel a scale and an offset of its own, as in
// ONNX from version 21 on: ops/lib/group_norm.h. Tested by
// tests/ops/group_norm_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/group_norm.h"
#include "ops/lib/infer.h"

namespace reprise {
namespace {

absl::StatusOr<int64_t> Groups(const TensorType& x, const Attrs& attrs) {
  const int64_t groups = attrs.Int("num_groups");
  if (groups < 1 || x.dims[1] % groups != 0) {
    return Invalid("GroupNormalization: num_groups must divide the channels, ",
                   "got ", groups, " for ", ToString(x));
  }
  return groups;
}

}  // namespace

std::vector<OpDef> GroupNormalizationOps() {
  return GroupNormOps(
      "GroupNormalization",
      {AttrSpec("num_groups", AttrKind::kInt, AttrSpec::kRequired),
       AttrSpec("stash_type", int64_t{1})},
      Groups);
}

}  // namespace reprise
