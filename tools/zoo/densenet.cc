// DenseNet-121: each layer reads all features before it in its block, and adds
// `width` (the growth rate) of its own. What a layer reads is joined inside of
// the layer's region: dropped and joined again, features cost memory linear in
// depth, not quadratic.
//
// Source: Huang et al. (2016), "Densely connected convolutional networks",
// arXiv:1608.06993, table 1; Pleiss et al. (2017), arXiv:1707.06990.

#include "tools/zoo/family.h"

namespace reprise {
namespace zoo {
namespace {

constexpr int64_t kLayersOfBlocks[] = {6, 12, 24, 16};
constexpr int64_t kBottleneck = 4;

Builder::ConvOptions Options(int64_t kernel, int64_t stride) {
  Builder::ConvOptions options;
  options.kernel = kernel;
  options.stride = stride;
  options.w = Init::VarianceScaling(2, proto::Initializer::FAN_IN,
                                    /*normal=*/true);
  return options;
}

Value NormRelu(Builder& b, const Value& x, const std::string& block,
               const std::string& suffix, int64_t channels) {
  return b.Relu(b.BatchNorm(x, absl::StrCat(block, ".norm", suffix), channels),
                absl::StrCat(block, ".relu", suffix));
}

Value Join(Builder& b, const Values& features, const std::string& name) {
  if (features.size() == 1) return features[0];
  return b.Add("Concat", features, {{"axis", 1}}, name);
}

Value DenseLayer(Builder& b, const Values& features, const std::string& name,
                 int64_t from) {
  const Builder::Block block = b.NewBlock(name);
  const int64_t growth = b.size("width");
  const int64_t middle = kBottleneck * growth;
  Value y = NormRelu(b, Join(b, features, name + ".join"), name, "1", from);
  y = b.Conv(y, name + ".conv1", from, middle, Options(1, 1));
  y = NormRelu(b, y, name, "2", middle);
  return b.Conv(y, name + ".conv2", middle, growth, Options(3, 1));
}

void Build(Builder& b) {
  int64_t channels = 2 * b.size("width");
  Value y = b.ConvNormRelu(b.Image(), "stem", "", b.size("channels"), channels,
                           Options(7, 2));
  y = b.Pool("MaxPool", y, "stem.pool",
             {/*kernel=*/3, /*stride=*/2,
              /*pad=*/1});
  for (int64_t i = 0; i < 4; ++i) {
    const std::string block = Numbered("block", i);
    Values features = {y};
    for (int64_t layer = 0; layer < kLayersOfBlocks[i]; ++layer) {
      features.push_back(DenseLayer(
          b, features, absl::StrCat(block, ".", Numbered("layer", layer)),
          channels));
      channels += b.size("width");
    }
    y = Join(b, features, block + ".join");
    if (i == 3) break;
    const std::string name = Numbered("transition", i);
    const Builder::Block region = b.NewBlock(name);
    y = b.Conv(NormRelu(b, y, name, "", channels), name + ".conv", channels,
               channels / 2, Options(1, 1));
    y = b.Pool("AveragePool", y, name + ".pool", {});
    channels /= 2;
  }
  b.Classify(b.Average(NormRelu(b, y, "last", "", channels)), channels);
}

absl::Status Check(const ZooSizes& sizes) { return CheckImage(sizes, 32, 1); }

}  // namespace

std::vector<Entry> DensenetEntries() {
  return {{{"densenet121",
            "densely connected network of 121 layers; `width` is its growth",
            {{"batch", 16},
             {"channels", 3},
             {"classes", 1000},
             {"image", 224},
             {"width", 32}},
            /*max_blocks=*/0,
            /*has_dropout=*/false,
            "A block is a dense layer, or what lies between two dense blocks. "
            "The features that\na layer reads are joined inside of it."},
           Check,
           Build}};
}

}  // namespace zoo
}  // namespace reprise
