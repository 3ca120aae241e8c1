// InstanceNormalization: every channel of every image has mean 0 and variance
// 1, then a scale and an offset of its own: ops/lib/group_norm.h with groups of
// one channel. Tested by tests/ops/group_norm_test.cc.

#include <vector>

#include "core/op.h"
#include "ops/lib/group_norm.h"

namespace reprise {

std::vector<OpDef> InstanceNormalizationOps() {
  return GroupNormOps(
      "InstanceNormalization", {},
      [](const TensorType& x, const Attrs&) -> absl::StatusOr<int64_t> {
        return x.dims[1];
      });
}

}  // namespace reprise
