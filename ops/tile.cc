// Tile: x, `repeats` times along each axis.
//
//   dx = the sum of dy over the copies of each element
//
// In the step graph it is views around an Expand: [2, 3] twice along axis 1 is
// [2, 1, 3], expanded to [2, 2, 3], seen as [2, 6]. Tested by
// tests/ops/shape_test.cc.

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/expand.h"
#include "core/op.h"
#include "ops/lib/infer.h"

namespace reprise {
namespace {

// Axes that one Expand repeats: a dim before the first one, two for each.
constexpr int kMostAxes = (kMaxRank - 1) / 2;

InferredTypes Infer(const OpArgs& args) {
  const TensorType& x = args.in[0];
  const Ints& repeats = args.attrs.IntList("repeats");
  if (repeats.size() != x.dims.size()) {
    return Invalid("Tile: repeats must be a number for each axis of ",
                   ToString(x), ", got ", DimsToString(repeats));
  }
  for (const int64_t times : repeats) {
    if (times < 0) {
      return Invalid("Tile: repeats must be at least 0, got ",
                     DimsToString(repeats));
    }
    if (times > kMaxTensorBytes) {
      return Invalid("Tile: repeats must be at most ", kMaxTensorBytes,
                     ", got ", DimsToString(repeats));
    }
  }
  Dims dims;
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (x.dims[i] > 0 &&
        repeats[i] > std::numeric_limits<int64_t>::max() / x.dims[i]) {
      return Invalid("Tile: ", repeats[i], " times ", x.dims[i],
                     " elements are too many");
    }
    dims.push_back(x.dims[i] * repeats[i]);
  }
  return OneType("Tile", x.dtype, std::move(dims));
}

absl::Status ExpandToViews(ExpandBuilder& b) {
  const Ints repeats = b.attrs().IntList("repeats");
  ValueId y = b.in(0);
  const auto view = [&](ValueId value, Dims dims) {
    return b.Add("Reshape", {value},
                 {{"shape", std::move(dims)}, {"allowzero", int64_t{1}}}, 1)[0];
  };
  for (size_t next = 0; next < repeats.size();) {
    const Dims dims = b.type(y).dims;
    // Each repeated axis begins a dim of its repeats and one of what it holds,
    // the axes after it included.
    Dims whole = dims;
    Dims from = {1};
    Dims to = {1};
    int count = 0;
    for (size_t i = 0; i < repeats.size(); ++i) {
      if (i == next && count < kMostAxes) {
        ++next;
        if (repeats[i] != 1) {
          ++count;
          whole[i] *= repeats[i];
          from.insert(from.end(), {1, 1});
          to.insert(to.end(), {repeats[i], 1});
        }
      }
      from.back() *= dims[i];
      to.back() *= dims[i];
    }
    if (count == 0) break;
    const ValueId repeated =
        b.Add("Expand", {view(y, from)}, {{"shape", to}}, 1)[0];
    y = view(repeated, whole);
  }
  b.SetOut(0, y == b.in(0) ? b.Add("Identity", {y}, {}, 1)[0] : y);
  return absl::OkStatus();
}

}  // namespace

std::vector<OpDef> TileOps() {
  OpDef op;
  op.name = "Tile";
  op.attrs = {AttrSpec("repeats", AttrKind::kInts, AttrSpec::kRequired)};
  op.infer = Infer;
  op.expand = ExpandToViews;
  return {op};
}

}  // namespace reprise
