#include "ops/lib/channels_last.h"

#include <vector>

#include "ops/lib/layout.h"

namespace reprise {
namespace {

// The axes of more than one element, from the outermost to the innermost.
std::vector<int> LongAxes(const Dims& dims, const Layout& layout) {
  std::vector<int> axes;
  for (const int axis : AxisOrder(layout, static_cast<int>(dims.size()))) {
    if (dims[axis] != 1) axes.push_back(axis);
  }
  return axes;
}

}  // namespace

Layout ChannelsLast(int rank) {
  if (rank < 3) return Layout();
  std::vector<int> order = {0};
  for (int axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1);
  return LayoutOfOrder(order);
}

Layout ChannelsLastOf(const Dims& dims) {
  const Layout layout = ChannelsLast(static_cast<int>(dims.size()));
  return IsByteEqualToRowMajor(dims, layout) ? Layout() : layout;
}

bool IsChannelsLast(const Dims& dims, const Layout& layout) {
  return IsPermutation(layout) &&
         LongAxes(dims, layout) ==
             LongAxes(dims, ChannelsLast(static_cast<int>(dims.size())));
}

Layout WantChannelsLast(const Dims& dims, const Layout& offered) {
  return IsChannelsLast(dims, offered) ? offered : ChannelsLastOf(dims);
}

}  // namespace reprise
