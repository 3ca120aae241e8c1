// ResNet-50: residual blocks of three convolutions, 1x1, 3x3 and 1x1 with four
// times the channels. The stride of a stage is that of the 3x3 one ("v1.5"), as
// in PyTorch's.
//
// Source: He et al. (2015), "Deep residual learning for image recognition",
// arXiv:1512.03385, table 1.

#include "tools/zoo/family.h"

namespace reprise {
namespace zoo {
namespace {

constexpr int64_t kBlocksOfStages[] = {3, 4, 6, 3};
constexpr int64_t kExpansion = 4;

Builder::ConvOptions Options(int64_t kernel, int64_t stride) {
  Builder::ConvOptions options;
  options.kernel = kernel;
  options.stride = stride;
  return options;
}

Value Bottleneck(Builder& b, const Value& x, const std::string& name,
                 int64_t from, int64_t width, int64_t stride) {
  const Builder::Block block = b.NewBlock(name);
  const int64_t to = kExpansion * width;
  Value y = b.ConvNormRelu(x, name, "1", from, width, Options(1, 1));
  y = b.ConvNormRelu(y, name, "2", width, width, Options(3, stride));
  y = b.BatchNorm(b.Conv(y, name + ".conv3", width, to, Options(1, 1)),
                  name + ".norm3", to);
  Value shortcut = x;
  if (from != to || stride > 1) {
    shortcut = b.BatchNorm(
        b.Conv(x, name + ".shortcut.conv", from, to, Options(1, stride)),
        name + ".shortcut.norm", to);
  }
  return b.Relu(b.Add("Add", {y, shortcut}, {}, name + ".add"),
                name + ".relu3");
}

void Build(Builder& b) {
  int64_t width = b.size("width");
  Value y = b.ConvNormRelu(b.Image(), "stem", "", b.size("channels"), width,
                           Options(7, 2));
  y = b.Pool("MaxPool", y, "stem.pool",
             {/*kernel=*/3, /*stride=*/2,
              /*pad=*/1});
  int64_t from = width;
  for (int64_t stage = 0; stage < 4; ++stage) {
    for (int64_t i = 0; i < kBlocksOfStages[stage]; ++i) {
      const std::string name =
          absl::StrCat(Numbered("stage", stage), ".", Numbered("block", i));
      y = Bottleneck(b, y, name, from, width, stage > 0 && i == 0 ? 2 : 1);
      from = kExpansion * width;
    }
    width *= 2;
  }
  b.Classify(b.Average(y), from);
}

absl::Status Check(const ZooSizes& sizes) { return CheckImage(sizes, 32, 1); }

}  // namespace

std::vector<Entry> ResnetEntries() {
  return {{{"resnet50",
            "residual network of 50 layers",
            {{"batch", 16},
             {"channels", 3},
             {"classes", 1000},
             {"image", 224},
             {"width", 64}},
            /*max_blocks=*/0,
            /*has_dropout=*/false,
            "A block is a residual one: three convolutions and the sum."},
           Check,
           Build}};
}

}  // namespace zoo
}  // namespace reprise
