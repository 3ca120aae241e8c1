#include "ops/lib/reduce_walk.h"

#include <algorithm>
#include <utility>

#include "ops/lib/layout.h"
#include "ops/lib/reduce.h"

namespace reprise {

ReduceWalk MakeReduceWalk(const TensorType& x, const Layout& layout,
                          const Attrs& attrs) {
  const Dims& dims = x.dims;
  const int rank = x.rank();
  const std::vector<int> reduced_axes = ReducedAxes(attrs, rank);
  const Dims strides = StridesOf(dims, layout);
  std::vector<std::pair<StridedAxis, bool>> axes;
  for (const int axis : AxisOrder(layout, rank)) {
    if (dims[axis] == 1) continue;
    const bool reduced =
        std::binary_search(reduced_axes.begin(), reduced_axes.end(), axis);
    if (!axes.empty() && axes.back().second == reduced) {
      axes.back().first = {axes.back().first.dim * dims[axis], strides[axis]};
    } else {
      axes.push_back({{dims[axis], strides[axis]}, reduced});
    }
  }
  ReduceWalk walk;
  if (axes.empty()) return walk;
  walk.inner = axes.back().first.dim;
  walk.inner_reduced = axes.back().second;
  axes.pop_back();
  for (const auto& [axis, reduced] : axes) {
    (reduced ? walk.reduced : walk.kept).push_back(axis);
    (reduced ? walk.num_reduced : walk.num_kept) *= axis.dim;
  }
  return walk;
}

int64_t OffsetOf(const std::vector<StridedAxis>& axes, int64_t index) {
  int64_t offset = 0;
  for (size_t i = axes.size(); i-- > 0;) {
    offset += index % axes[i].dim * axes[i].stride;
    index /= axes[i].dim;
  }
  return offset;
}

}  // namespace reprise
