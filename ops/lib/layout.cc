#include "ops/lib/layout.h"

#include <algorithm>

namespace reprise {

bool IsPermutation(const Layout& layout) {
  return std::all_of(layout.format.begin(), layout.format.end(),
                     [](char c) { return c >= 'a' && c <= 'l'; });
}

std::vector<int> AxisOrder(const Layout& layout, int rank) {
  std::vector<int> order(rank);
  for (int i = 0; i < rank; ++i) {
    order[i] = layout.row_major() ? i : layout.format[i] - 'a';
  }
  return order;
}

Layout LayoutOfOrder(const std::vector<int>& order) {
  if (std::is_sorted(order.begin(), order.end())) return Layout();
  Layout layout;
  for (const int axis : order) {
    layout.format.push_back(static_cast<char>('a' + axis));
  }
  return layout;
}

Dims StridesOf(const Dims& dims, const Layout& layout) {
  const int rank = static_cast<int>(dims.size());
  const std::vector<int> order = AxisOrder(layout, rank);
  Dims strides(rank);
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    strides[order[i]] = stride;
    stride *= dims[order[i]];
  }
  return strides;
}

Dims InOrder(const Dims& of_axes, const std::vector<int>& order) {
  Dims result;
  for (const int axis : order) result.push_back(of_axes[axis]);
  return result;
}

bool IsByteEqualToRowMajor(const Dims& dims, const Layout& layout) {
  if (!IsPermutation(layout)) return false;
  int last = -1;
  for (const int axis : AxisOrder(layout, static_cast<int>(dims.size()))) {
    if (dims[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace reprise
