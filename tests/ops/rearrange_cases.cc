// Random cases of operators that pad, repeat, cut and interleave.

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

OpCase Of(std::string op, CaseRandom& random, Dims dims) {
  OpCase c;
  c.op = std::move(op);
  const DType dtype = random.Pick<DType>(
      {DType::kF32, DType::kF32, DType::kI32, DType::kI64, DType::kU8});
  c.in = {{dtype, std::move(dims)}};
  c.ranges = {{0, 100}};
  return c;
}

// The tensor of `dims` whose element at each index is x's at f(index).
HostTensors Indexed(const HostTensor& x, Dims dims,
                    const std::function<Dims(const Dims&)>& f) {
  return {FromIndex({x.type.dtype, std::move(dims)},
                    [&](const Dims& index) { return At(x, f(index)); })};
}

// Where position `at` outside of n elements takes its element from, walking
// there step by step.
int64_t Walked(const std::string& mode, int64_t at, int64_t n) {
  if (mode == "edge") return at < 0 ? 0 : n - 1;
  if (mode == "wrap") {
    while (at < 0) at += n;
    while (at >= n) at -= n;
    return at;
  }
  if (n == 1) return 0;
  while (at < 0 || at >= n) at = at < 0 ? -at : 2 * (n - 1) - at;
  return at;
}

}  // namespace

OpCase PadCase(CaseRandom& random) {
  OpCase c = Of("Pad", random, random.AnyDims(1, 4));
  Dims& dims = c.in[0].dims;
  const int rank = c.in[0].rank();
  const std::string mode =
      random.Pick<std::string>({"constant", "reflect", "edge", "wrap"});
  if (mode != "constant" || random.Bool()) c.attrs.Set("mode", mode);
  if (mode == "constant" && random.Bool()) {
    c.attrs.Set("constant_value", 7.0f);
  }
  Ints axes;
  Ints before;
  Ints after;
  Dims all_before(rank, 0);
  Dims all_after(rank, 0);
  const bool all = random.Bool();
  for (int i = rank - 1; i >= 0; --i) {
    if (!all && random.Bool()) continue;
    if (mode != "constant") dims[i] = std::max<int64_t>(1, dims[i]);
    const auto pad = [&](int64_t least) {
      return random.Pick<int64_t>({0, 1, 2, 5, least});
    };
    before.push_back(pad(-std::min<int64_t>(dims[i], 1)));
    after.push_back(pad(-std::min<int64_t>(dims[i] + before.back(), 1)));
    if (dims[i] + before.back() + after.back() < 0) after.back() = 0;
    axes.push_back(random.Bool() ? i : i - rank);
    all_before[i] = before.back();
    all_after[i] = after.back();
  }
  if (all) {
    std::reverse(before.begin(), before.end());
    std::reverse(after.begin(), after.end());
  } else {
    c.attrs.Set("axes", axes);
  }
  before.insert(before.end(), after.begin(), after.end());
  c.attrs.Set("pads", before);
  c.gradient_tolerance = 2e-4;
  c.definition = [mode, all_before, all_after](const HostTensors& in,
                                               const Attrs& attrs) {
    const HostTensor& x = in[0];
    Dims to = x.type.dims;
    for (size_t i = 0; i < to.size(); ++i)
      to[i] += all_before[i] + all_after[i];
    return HostTensors{
        FromIndex({x.type.dtype, to}, [&](const Dims& index) -> double {
          Dims at = index;
          for (size_t i = 0; i < at.size(); ++i) {
            const int64_t n = x.type.dims[i];
            at[i] -= all_before[i];
            if (at[i] >= 0 && at[i] < n) continue;
            if (mode == "constant") return attrs.Float("constant_value");
            at[i] = Walked(mode, at[i], n);
          }
          return At(x, at);
        })};
  };
  return c;
}

OpCase TileCase(CaseRandom& random) {
  OpCase c = Of("Tile", random, random.AnyDims(0, 4));
  Ints repeats;
  for (int i = 0; i < c.in[0].rank(); ++i) {
    repeats.push_back(random.Pick<int64_t>({1, 1, 2, 3, 0}));
  }
  c.attrs.Set("repeats", repeats);
  c.gradient_tolerance = 2e-4;
  c.definition = [repeats](const HostTensors& in, const Attrs&) {
    Dims to = in[0].type.dims;
    for (size_t i = 0; i < to.size(); ++i) to[i] *= repeats[i];
    return Indexed(in[0], to, [&](const Dims& index) {
      Dims at = index;
      for (size_t i = 0; i < at.size(); ++i) at[i] %= in[0].type.dims[i];
      return at;
    });
  };
  return c;
}

OpCase DepthToSpaceCase(CaseRandom& random) {
  const int64_t s = random.Int(1, 3);
  OpCase c = Of("DepthToSpace", random,
                {random.Int(0, 2), s * s * random.Int(1, 3), random.Int(1, 4),
                 random.Int(1, 4)});
  c.attrs.Set("blocksize", s);
  if (random.Bool()) {
    c.attrs.Set("mode", random.Pick<std::string>({"DCR", "CRD"}));
  }
  c.definition = [s](const HostTensors& in, const Attrs& attrs) {
    const Dims& x = in[0].type.dims;
    const int64_t channels = x[1] / (s * s);
    const bool dcr = attrs.String("mode") == "DCR";
    return Indexed(in[0], {x[0], channels, x[2] * s, x[3] * s},
                   [&](const Dims& at) {
                     const int64_t block = at[2] % s * s + at[3] % s;
                     const int64_t channel =
                         dcr ? block * channels + at[1] : at[1] * s * s + block;
                     return Dims{at[0], channel, at[2] / s, at[3] / s};
                   });
  };
  return c;
}

OpCase SpaceToDepthCase(CaseRandom& random) {
  const int64_t s = random.Int(1, 3);
  OpCase c = Of("SpaceToDepth", random,
                {random.Int(0, 2), random.Int(1, 3), s * random.Int(1, 3),
                 s * random.Int(1, 3)});
  c.attrs.Set("blocksize", s);
  c.definition = [s](const HostTensors& in, const Attrs&) {
    const Dims& x = in[0].type.dims;
    return Indexed(in[0], {x[0], x[1] * s * s, x[2] / s, x[3] / s},
                   [&](const Dims& at) {
                     const int64_t block = at[1] / x[1];
                     return Dims{at[0], at[1] % x[1], at[2] * s + block / s,
                                 at[3] * s + block % s};
                   });
  };
  return c;
}

OpCase TriluCase(CaseRandom& random) {
  OpCase c = Of("Trilu", random, random.AnyDims(2, 4));
  if (random.Bool()) c.attrs.Set("upper", random.Int(0, 1));
  if (random.Int(0, 3) > 0) {
    c.attrs.Set("k", random.Pick<int64_t>({-9, -2, -1, 0, 1, 3, 20}));
  }
  c.definition = [](const HostTensors& in, const Attrs& attrs) {
    return HostTensors{FromIndex(in[0].type, [&](const Dims& at) {
      const int64_t diagonal = at[at.size() - 1] - at[at.size() - 2];
      const int64_t k = attrs.Int("k");
      const bool kept = attrs.Int("upper") != 0 ? diagonal >= k : diagonal <= k;
      return kept ? At(in[0], at) : 0.0;
    })};
  };
  return c;
}

}  // namespace reprise
