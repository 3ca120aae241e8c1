// Linear layers and nothing else: a perceptron of a few wide ones, and a chain
// of as many as one likes, for planners.

#include "tools/zoo/family.h"

namespace reprise {
namespace zoo {
namespace {

void BuildMlp(Builder& b) {
  const int64_t pixels = b.size("image") * b.size("image");
  const int64_t width = b.size("width");
  const Value x = b.Input("x", DType::kF32, {pixels}, "images, row by row");
  Value y = b.Relu(b.Linear(x, "first", pixels, width), "first.relu");
  for (int64_t i = 0; i < b.size("blocks"); ++i) {
    const std::string name = Numbered("block", i);
    const Builder::Block block = b.NewBlock(name);
    y = b.Relu(b.Linear(y, name + ".linear", width, width), name + ".relu");
  }
  b.Classify(y, width);
}

// He's first weights, under which a signal neither dies nor grows with depth.
void BuildChain(Builder& b) {
  const int64_t width = b.size("width");
  Value y = b.Input("x", DType::kF32, {width}, "numbers of order one");
  for (int64_t i = 0; i < b.size("blocks"); ++i) {
    const std::string name = Numbered("block", i);
    const Builder::Block block = b.NewBlock(name);
    y = b.Relu(b.Linear(y, name + ".linear", width, width,
                        {Init::VarianceScaling(2), Init::Constant(0)}),
               name + ".relu");
  }
  b.Classify(y, width);
}

}  // namespace

std::vector<Entry> MlpEntries() {
  return {
      {{"mlp",
        "perceptron: linear and relu, `blocks` of them between the first and "
        "the last",
        {{"batch", 256},
         {"blocks", 8},
         {"classes", 10},
         {"image", 28},
         {"width", 1024}},
        /*max_blocks=*/100'000,
        /*has_dropout=*/false,
        "A block is a linear layer and its relu."},
       nullptr,
       BuildMlp},
      {{"chain",
        "chain of linear and relu, two nodes a block, for depth",
        {{"batch", 32}, {"blocks", 1000}, {"classes", 10}, {"width", 64}},
        /*max_blocks=*/500'000,
        /*has_dropout=*/false,
        "A block is a linear layer and its relu."},
       nullptr,
       BuildChain},
  };
}

}  // namespace zoo
}  // namespace reprise
