// VGG-19: sixteen 3x3 convolutions between five poolings, then three linear
// layers, which hold most of the weights.
//
// Source: Simonyan and Zisserman (2014), "Very deep convolutional networks for
// large-scale image recognition", arXiv:1409.1556, configuration E.

#include <algorithm>

#include "tools/zoo/family.h"

namespace reprise {
namespace zoo {
namespace {

constexpr int64_t kConvsOfStages[] = {2, 2, 4, 4, 4};
constexpr int64_t kHalvings = 32;  // five poolings

void Build(Builder& b) {
  const int64_t width = b.size("width");
  int64_t from = b.size("channels");
  Builder::ConvOptions options;
  options.bias = Init::Constant(0);
  Value y = b.Image();
  for (int64_t stage = 0; stage < 5; ++stage) {
    const std::string name = Numbered("stage", stage);
    const int64_t to = width << std::min<int64_t>(stage, 3);
    const Builder::Block block = b.NewBlock(name);
    for (int64_t i = 0; i < kConvsOfStages[stage]; ++i) {
      y = b.Conv(y, absl::StrCat(name, ".", Numbered("conv", i)), from, to,
                 options);
      y = b.Relu(y, absl::StrCat(name, ".", Numbered("relu", i)));
      from = to;
    }
    y = b.Pool("MaxPool", y, name + ".pool", {});
  }
  const Builder::LayerInit init = {Init::Normal(0, 0.01f), Init::Constant(0)};
  const int64_t side = b.size("image") / kHalvings;
  int64_t features = from * side * side;
  y = b.Add("Flatten", {y}, {}, "features");
  const int64_t hidden = 64 * width;
  for (int64_t i = 0; i < 2; ++i) {
    const std::string name = Numbered("hidden", i);
    const Builder::Block block = b.NewBlock(name);
    y = b.Relu(b.Linear(y, name + ".linear", features, hidden, init),
               name + ".relu");
    y = b.Dropout(y, name + ".dropout");
    features = hidden;
  }
  b.Classify(y, features, init);
}

absl::Status Check(const ZooSizes& sizes) {
  return CheckImage(sizes, kHalvings, 1);
}

}  // namespace

std::vector<Entry> VggEntries() {
  return {{{"vgg19",
            "sixteen convolutions and three linear layers",
            {{"batch", 16},
             {"channels", 3},
             {"classes", 1000},
             {"image", 224},
             {"width", 64}},
            /*max_blocks=*/0,
            /*has_dropout=*/true,
            "A block is what lies between two poolings, or a hidden linear "
            "layer. The first\nlinear layer has as many inputs as the image "
            "leaves."},
           Check,
           Build}};
}

}  // namespace zoo
}  // namespace reprise
