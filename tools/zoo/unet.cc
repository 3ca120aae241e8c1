// U-Net: four levels down, a bottom, four levels up; each level up reads what
// the level down at its height gave. Convolutions are padded and normalized,
// unlike the published ones, so that scores have the image's size.
//
// A level up begins with a transposed convolution of 2x2 and stride 2. Its
// windows do not overlap, so it is a 1x1 convolution to four times the channels
// whose results are then laid out as 2x2 pixels:
//
//   y[n, c, 2i + p, 2j + q] = b[c] + sum_k w[c, p, q, k] x[n, k, i, j]
//
// with the four rows (c, p, q) of w side by side.
//
// Source: Ronneberger et al. (2015), "U-Net", arXiv:1505.04597, figure 1.

#include <vector>

#include "tools/zoo/family.h"

namespace reprise {
namespace zoo {
namespace {

constexpr int64_t kLevels = 4;

Value TwoConvs(Builder& b, const Value& x, const std::string& name,
               int64_t from, int64_t to) {
  const Value y = b.ConvNormRelu(x, name, "1", from, to, {});
  return b.ConvNormRelu(y, name, "2", to, to, {});
}

// x [n, from, side, side] to [n, to, 2 side, 2 side].
Value Up(Builder& b, const Value& x, const std::string& name, int64_t from,
         int64_t to, int64_t side) {
  const Builder::LayerInit init = Builder::UniformInit(from);
  Builder::ConvOptions options;
  options.kernel = 1;
  options.w = init.w;
  Value y = b.Conv(x, name + ".conv", from, 4 * to, options);
  y = b.Reshape(y, {0, to, 2, 2, side, side}, name + ".quarters");
  y = b.Add("Transpose", {y}, {{"perm", Ints{0, 1, 4, 2, 5, 3}}},
            name + ".turn");
  y = b.Reshape(y, {0, to, 2 * side, 2 * side}, name + ".pixels");
  const Value bias = b.graph().Parameter(name + ".b", {to, 1, 1}, init.b);
  return b.Add("Add", {y, bias}, {}, name);
}

void Build(Builder& b) {
  int64_t width = b.size("width");
  int64_t from = b.size("channels");
  int64_t side = b.size("image");
  const int64_t classes = b.size("classes");
  Value y = b.Image();
  Values skips;
  for (int64_t i = 0; i < kLevels; ++i) {
    const std::string name = Numbered("down", i);
    const Builder::Block block = b.NewBlock(name);
    skips.push_back(TwoConvs(b, y, name, from, width));
    y = b.Pool("MaxPool", skips.back(), name + ".pool", {});
    from = width;
    width *= 2;
    side /= 2;
  }
  {
    const Builder::Block block = b.NewBlock("bottom");
    y = TwoConvs(b, y, "bottom", from, width);
  }
  for (int64_t i = kLevels; i-- > 0;) {
    const std::string name = Numbered("up", i);
    const Builder::Block block = b.NewBlock(name);
    const int64_t to = width / 2;
    y = Up(b, y, name + ".rise", width, to, side);
    y = b.Add("Concat", {skips[i], y}, {{"axis", 1}}, name + ".join");
    y = TwoConvs(b, y, name, width, to);
    width = to;
    side *= 2;
  }
  const Builder::LayerInit init = Builder::UniformInit(width);
  Builder::ConvOptions last;
  last.kernel = 1;
  last.w = init.w;
  last.bias = init.b;
  const Value scores = b.Conv(y, "logits", width, classes, last);
  b.CrossEntropy(scores,
                 b.Input("label", DType::kI64, {side, side},
                         absl::StrCat("classes of pixels, below ", classes)));
}

absl::Status Check(const ZooSizes& sizes) { return CheckImage(sizes, 16, 16); }

}  // namespace

std::vector<Entry> UnetEntries() {
  return {{{"unet",
            "encoder and decoder that classify every pixel",
            {{"batch", 4},
             {"channels", 3},
             {"classes", 2},
             {"image", 256},
             {"width", 64}},
            /*max_blocks=*/0,
            /*has_dropout=*/false,
            "A block is a level: of the way down, with its pooling; the "
            "bottom; of the way up.\nTransposed convolutions of 2x2 and stride "
            "2 are 1x1 convolutions to four times the\nchannels, laid out as "
            "2x2 pixels: the same function, with weights of the same number."},
           Check,
           Build}};
}

}  // namespace zoo
}  // namespace reprise
