// Random cases of ConvTranspose.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "tests/ops/layer_cases.h"
#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

// What ONNX's page says of one axis.
struct Span {
  int64_t size;  // of y
  int64_t begin;
};

Span SpanOf(const Attrs& attrs, const Dims& x, const Dims& w, size_t i) {
  const size_t rank = x.size() - 2;
  const auto list = [&](const char* name, size_t at, int64_t otherwise) {
    return attrs.Has(name) ? attrs.IntList(name)[at] : otherwise;
  };
  const int64_t stride = list("strides", i, 1);
  const int64_t full = stride * (x[i + 2] - 1) + list("output_padding", i, 0) +
                       (w[i + 2] - 1) * list("dilations", i, 1) + 1;
  const std::string& auto_pad = attrs.String("auto_pad");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (attrs.Has("output_shape") || same) {
    const int64_t size = list("output_shape", i, x[i + 2] * stride);
    const int64_t total = full - size;
    const int64_t half =
        static_cast<int64_t>(std::floor(static_cast<double>(total) / 2));
    return {size, auto_pad == "SAME_UPPER" ? half : total - half};
  }
  const int64_t begin = list("pads", i, 0);
  return {full - begin - list("pads", rank + i, 0), begin};
}

HostTensors Defined(const HostTensors& in, const Attrs& attrs) {
  const Dims& x = in[0].type.dims;
  const Dims& w = in[1].type.dims;
  const int64_t group = attrs.Int("group");
  const int64_t per_group = x[1] / group;
  Dims dims = {x[0], w[1] * group};
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    dims.push_back(SpanOf(attrs, x, w, i).size);
  }
  HostTensor y = FromIndex(F32(dims), [&](const Dims& at) {
    return in.size() > 2 ? At(in[2], {at[1]}) : 0.0;
  });
  // Every element of x adds its filter to y.
  ForEachIndex(x, [&](const Dims& from) {
    ForEachIndex(Dims(w.begin() + 1, w.end()), [&](const Dims& k) {
      Dims to = {from[0], from[1] / per_group * w[1] + k[0]};
      Dims w_at = {from[1], k[0]};
      bool inside = true;
      for (size_t i = 0; i + 2 < x.size(); ++i) {
        const int64_t stride =
            attrs.Has("strides") ? attrs.IntList("strides")[i] : 1;
        const int64_t dilation =
            attrs.Has("dilations") ? attrs.IntList("dilations")[i] : 1;
        to.push_back(from[i + 2] * stride + k[i + 1] * dilation -
                     SpanOf(attrs, x, w, i).begin);
        w_at.push_back(k[i + 1]);
        inside = inside && to.back() >= 0 && to.back() < dims[i + 2];
      }
      if (!inside) return;
      int64_t at = 0;
      for (size_t i = 0; i < dims.size(); ++i) at = at * dims[i] + to[i];
      y.data[at] += At(in[0], from) * At(in[1], w_at);
    });
  });
  return {y};
}

}  // namespace

OpCase ConvTransposeOf(Dims x, Dims w, Attrs attrs, bool bias) {
  OpCase c;
  c.op = "ConvTranspose";
  const int64_t channels =
      w[1] * (attrs.Has("group") ? attrs.Int("group") : int64_t{1});
  c.in = {F32(std::move(x)), F32(std::move(w))};
  if (bias) c.in.push_back(F32({channels}));
  c.attrs = std::move(attrs);
  c.definition = Defined;
  // Up to 200 terms below 4, summed in float in another order.
  c.tolerance = 5e-5;
  c.gradient_tolerance = 3e-4;
  return c;
}

OpCase ConvTransposeCase(CaseRandom& random) {
  const int rank = static_cast<int>(random.Int(1, 3));
  const int64_t group = random.Pick<int64_t>({1, 1, 2, 3});
  Dims x = {random.Pick<int64_t>({1, 1, 2, 0}), group * random.Int(1, 2)};
  Dims w = {x[1], random.Int(1, 2)};
  Ints strides;
  Ints dilations;
  Ints more;
  Ints begin;
  Ints end;
  Ints shape;
  for (int i = 0; i < rank; ++i) {
    x.push_back(random.Int(1, 4 - (rank == 3 ? 1 : 0)));
    w.push_back(random.Int(1, rank == 3 ? 2 : 3));
    strides.push_back(random.Int(1, 3));
    dilations.push_back(random.Int(1, 2));
    more.push_back(random.Int(0, strides[i]));
    const int64_t covered =
        strides[i] * (x[i + 2] - 1) + (w[i + 2] - 1) * dilations[i] + 1;
    begin.push_back(random.Int(0, std::min<int64_t>(2, covered - 1)));
    end.push_back(random.Int(0, std::min<int64_t>(2, covered - 1 - begin[i])));
    shape.push_back(random.Int(1, covered + 2));
  }
  Attrs attrs{{"strides", strides}, {"dilations", dilations}, {"group", group}};
  if (random.Bool()) attrs.Set("output_padding", more);
  const int64_t padding = random.Int(0, 5);
  if (padding == 0) attrs.Set("auto_pad", std::string("SAME_UPPER"));
  if (padding == 1) attrs.Set("auto_pad", std::string("SAME_LOWER"));
  if (padding == 2) attrs.Set("output_shape", shape);
  if (padding > 3) {
    begin.insert(begin.end(), end.begin(), end.end());
    attrs.Set("pads", begin);
  }
  OpCase c = ConvTransposeOf(x, w, attrs, random.Bool());
  // Padding that would leave nothing of what the windows cover is refused.
  Attrs complete = attrs;
  if (!complete.Has("auto_pad")) {
    complete.Set("auto_pad", std::string("NOTSET"));
  }
  for (int i = 0; i < rank; ++i) {
    const Span span = SpanOf(complete, x, w, i);
    const int64_t covered =
        strides[i] * (x[i + 2] - 1) + (w[i + 2] - 1) * dilations[i] + 1;
    const int64_t first = std::max<int64_t>(span.begin, 0);
    const int64_t last = std::min(span.begin + span.size, covered);
    if (last <= first) return ConvTransposeCase(random);
  }
  return c;
}

}  // namespace reprise
