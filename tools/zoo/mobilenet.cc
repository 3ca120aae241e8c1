// MobileNet v1: convolutions split in two, 3x3 within a channel and 1x1 across.
//
// Source: Howard et al. (2017), "MobileNets", arXiv:1704.04861, table 1.

#include "tools/zoo/family.h"

namespace reprise {
namespace zoo {
namespace {

struct Separable {
  int64_t widths;  // channels, in those of the first convolution
  int64_t stride;
};

constexpr Separable kBlocks[] = {{2, 1},  {4, 2},  {4, 1},  {8, 2},  {8, 1},
                                 {16, 2}, {16, 1}, {16, 1}, {16, 1}, {16, 1},
                                 {16, 1}, {32, 2}, {32, 1}};

void Build(Builder& b) {
  const int64_t width = b.size("width");
  Builder::ConvOptions first;
  first.stride = 2;
  Value y =
      b.ConvNormRelu(b.Image(), "stem", "", b.size("channels"), width, first);
  int64_t from = width;
  int64_t index = 0;
  for (const Separable& separable : kBlocks) {
    const std::string name = Numbered("block", index++);
    const Builder::Block block = b.NewBlock(name);
    const int64_t to = separable.widths * width;
    Builder::ConvOptions depthwise;
    depthwise.stride = separable.stride;
    depthwise.group = from;
    Builder::ConvOptions pointwise;
    pointwise.kernel = 1;
    y = b.ConvNormRelu(y, name, "1", from, from, depthwise);
    y = b.ConvNormRelu(y, name, "2", from, to, pointwise);
    from = to;
  }
  b.Classify(b.Dropout(b.Average(y), "dropout"), from);
}

absl::Status Check(const ZooSizes& sizes) { return CheckImage(sizes, 32, 1); }

}  // namespace

std::vector<Entry> MobilenetEntries() {
  return {{{"mobilenet_v1",
            "depthwise separable convolutions",
            {{"batch", 16},
             {"channels", 3},
             {"classes", 1000},
             {"image", 224},
             {"width", 32}},
            /*max_blocks=*/0,
            /*has_dropout=*/true,
            "A block is a separable convolution: depthwise, norm, relu, "
            "pointwise, norm, relu."},
           Check,
           Build}};
}

}  // namespace zoo
}  // namespace reprise
