// A plain convolutional network for small images: stages of two conv-norm-relu
// each; every stage but the first halves the image and doubles the channels.

#include "core/status_macros.h"
#include "tools/zoo/family.h"

namespace reprise {
namespace zoo {
namespace {

// All convolutions begin as PyTorch's do.
Builder::ConvOptions Options(int64_t from, int64_t stride) {
  Builder::ConvOptions options;
  options.stride = stride;
  options.w = Builder::UniformInit(9 * from).w;
  return options;
}

void Build(Builder& b) {
  int64_t width = b.size("width");
  const int64_t channels = b.size("channels");
  Builder::ConvOptions first = Options(channels, 1);
  first.bias = Builder::UniformInit(9 * channels).b;
  Value y =
      b.Relu(b.Conv(b.Image(), "first", channels, width, first), "first.relu");
  for (int64_t i = 0; i < b.size("blocks"); ++i) {
    const std::string name = Numbered("block", i);
    const int64_t from = width;
    if (i > 0) width *= 2;
    const Builder::Block block = b.NewBlock(name);
    y = b.ConvNormRelu(y, name, "1", from, width, Options(from, i > 0 ? 2 : 1));
    y = b.ConvNormRelu(y, name, "2", width, width, Options(width, 1));
  }
  b.Classify(b.Average(y), width);
}

absl::Status Check(const ZooSizes& sizes) {
  // An image has at most 20 halvings, so the channels stay in range.
  const int64_t blocks = sizes.at("blocks");
  const int64_t least = blocks > 20 ? kMaxZooSize : int64_t{1} << (blocks - 1);
  return CheckImage(sizes, least, 1);
}

}  // namespace

std::vector<Entry> CnnEntries() {
  return {{{"cnn",
            "plain convolutional network for small images, `width` channels "
            "doubled from block to block",
            {{"batch", 64},
             {"blocks", 4},
             {"channels", 3},
             {"classes", 10},
             {"image", 32},
             {"width", 32}},
            /*max_blocks=*/20,
            /*has_dropout=*/false,
            "A block is conv, norm, relu, conv, norm, relu."},
           Check,
           Build}};
}

}  // namespace zoo
}  // namespace reprise
