// Transformers whose blocks normalize first: of tokens (gpt and its deep
// sibling, without a mask), and of the patches of an image (ViT-Ti/16).
//
//   block:  x = x + attention(norm(x));  x = x + mlp(norm(x))
//
// Between the blocks x is [batch * length, width], so that every linear layer
// is one product of matrices; only attention sees the rows of a sample apart.
//
// Source: Radford et al. (2019), "Language models are unsupervised multitask
// learners" (sizes); Dosovitskiy et al. (2020), arXiv:2010.11929, and Touvron
// et al. (2020), arXiv:2012.12877, table 1 (ViT-Ti).

#include <cmath>

#include "core/status_macros.h"
#include "tools/zoo/family.h"

namespace reprise {
namespace zoo {
namespace {

struct BlockShape {
  int64_t length;
  int64_t width;
  int64_t heads;
  float epsilon;
  // First content of a layer with that many inputs.
  Builder::LayerInit (*init)(int64_t fan_in);
};

// Part of q, k and v, [batch * length, width], as [batch, heads, ...] with the
// other two axes in the order of `perm`.
Value Heads(Builder& b, const Value& part, const std::string& name,
            const BlockShape& shape, const Ints& perm) {
  const Value split = b.Reshape(
      part, {-1, shape.length, shape.heads, shape.width / shape.heads},
      name + ".heads");
  return b.Add("Transpose", {split}, {{"perm", perm}}, name + ".turn");
}

Value Attention(Builder& b, const Value& x, const std::string& block,
                const BlockShape& shape) {
  const int64_t width = shape.width;
  const Builder::LayerInit init = shape.init(width);
  const Value qkv = b.Linear(x, block + ".qkv", width, 3 * width, init);
  const Values parts =
      b.graph().AddMany("Split", {qkv}, {{"axis", 1}, {"num_outputs", 3}},
                        {block + ".q", block + ".k", block + ".v"});
  const Value q = Heads(b, parts[0], block + ".q", shape, {0, 2, 1, 3});
  const Value k = Heads(b, parts[1], block + ".k", shape, {0, 2, 3, 1});
  const Value v = Heads(b, parts[2], block + ".v", shape, {0, 2, 1, 3});
  const double per_head = static_cast<double>(width / shape.heads);
  const Value factor = b.graph().Frozen(
      block + ".factor", DType::kF32, {},
      Init::Constant(static_cast<float>(1 / std::sqrt(per_head))));
  Value y = b.Add("MatMul", {q, k}, {}, block + ".scores");
  y = b.Add("Mul", {y, factor}, {}, block + ".scaled");
  y = b.Add("Softmax", {y}, {{"axis", -1}}, block + ".weights");
  y = b.Dropout(y, block + ".weights.dropout");
  y = b.Add("MatMul", {y, v}, {}, block + ".attend");
  y = b.Add("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}}, block + ".turn");
  y = b.Reshape(y, {-1, width}, block + ".rows");
  y = b.Linear(y, block + ".out", width, width, init);
  return b.Dropout(y, block + ".out.dropout");
}

Value Mlp(Builder& b, const Value& x, const std::string& block,
          const BlockShape& shape) {
  const int64_t width = shape.width;
  const int64_t hidden = 4 * width;
  Value y = b.Linear(x, block + ".up", width, hidden, shape.init(width));
  y = b.Add("Gelu", {y}, {}, block + ".gelu");
  y = b.Linear(y, block + ".down", hidden, width, shape.init(hidden));
  return b.Dropout(y, block + ".down.dropout");
}

Value Blocks(Builder& b, Value x, const BlockShape& shape) {
  for (int64_t i = 0; i < b.size("blocks"); ++i) {
    const std::string name = Numbered("block", i);
    const Builder::Block block = b.NewBlock(name);
    Value y = b.LayerNorm(x, name + ".norm1", shape.width, shape.epsilon);
    y = Attention(b, y, name, shape);
    x = b.Add("Add", {x, y}, {}, name + ".sum1");
    y = b.LayerNorm(x, name + ".norm2", shape.width, shape.epsilon);
    y = Mlp(b, y, name, shape);
    x = b.Add("Add", {x, y}, {}, name + ".sum2");
  }
  return x;
}

void BuildGpt(Builder& b) {
  const int64_t width = b.size("width");
  const int64_t length = b.size("length");
  const int64_t vocabulary = b.size("vocabulary");
  const BlockShape shape = {length, width, b.size("heads"), /*epsilon=*/1e-5f,
                            Builder::UniformInit};
  const std::string range = absl::StrCat("tokens, below ", vocabulary);
  const Value tokens = b.Input("tokens", DType::kI64, {length}, range);
  const Value embedding =
      b.graph().Parameter("embedding", {vocabulary, width}, Init::Normal(0, 1));
  const Value places =
      b.graph().Parameter("places", {length, width}, Init::Constant(0));
  Value x = b.Add("Gather", {embedding, tokens}, {{"axis", 0}}, "embedded");
  x = b.Add("Add", {x, places}, {}, "placed");
  x = b.Reshape(x, {-1, width}, "rows");
  x = Blocks(b, b.Dropout(x, "dropout"), shape);
  x = b.LayerNorm(x, "norm", width, shape.epsilon);
  const Value scores = b.Linear(x, "logits", width, vocabulary);
  const Value targets = b.Input("targets", DType::kI64, {length}, range);
  b.CrossEntropy(scores, b.Reshape(targets, {-1}, "labels"));
}

// Truncation of the normal draws is left out: it is at fifty deviations.
Builder::LayerInit SmallNormal(int64_t /*fan_in*/) {
  return {Init::Normal(0, 0.02f), Init::Constant(0)};
}

constexpr int64_t kPatch = 16;

// The class token of every sample, [batch, 1, width]. Only an input knows the
// batch; the sum over none of its elements is a zero a sample, whatever it
// holds.
Value ClassTokens(Builder& b, const Value& image, int64_t width) {
  const Value token =
      b.graph().Parameter("class.token", {1, 1, width}, Init::Normal(0, 0.02f));
  Value y = b.Add("Slice", {image},
                  {{"starts", Ints{0}}, {"ends", Ints{0}}, {"axes", Ints{1}}},
                  "class.nothing");
  y = b.Add("ReduceSum", {y}, {{"axes", Ints{1, 2, 3}}, {"keepdims", 0}},
            "class.zero");
  y = b.Reshape(y, {0, 1, 1}, "class.zeros");
  return b.Add("Add", {y, token}, {}, "class");
}

void BuildVit(Builder& b) {
  const int64_t width = b.size("width");
  const int64_t side = b.size("image") / kPatch;
  const int64_t patches = side * side;
  const int64_t channels = b.size("channels");
  const BlockShape shape = {patches + 1, width, b.size("heads"),
                            /*epsilon=*/1e-6f, SmallNormal};
  const Value image = b.Image();
  // A convolution of 16x16 with stride 16 as the one product that it is.
  const int64_t pixels = channels * kPatch * kPatch;
  Value x = b.Reshape(image, {0, channels, side, kPatch, side, kPatch},
                      "patches.cut");
  x = b.Add("Transpose", {x}, {{"perm", Ints{0, 2, 4, 1, 3, 5}}},
            "patches.turn");
  x = b.Reshape(x, {-1, pixels}, "patches.pixels");
  x = b.Linear(x, "patches", pixels, width);
  x = b.Reshape(x, {-1, patches, width}, "patches.rows");
  x = b.Add("Concat", {ClassTokens(b, image, width), x}, {{"axis", 1}},
            "tokens");
  const Value places = b.graph().Parameter("places", {patches + 1, width},
                                           Init::Normal(0, 0.02f));
  x = b.Add("Add", {x, places}, {}, "placed");
  x = b.Reshape(x, {-1, width}, "rows");
  x = Blocks(b, b.Dropout(x, "dropout"), shape);
  x = b.Reshape(x, {-1, patches + 1, width}, "samples");
  x = b.Add("Slice", {x},
            {{"starts", Ints{0}}, {"ends", Ints{1}}, {"axes", Ints{1}}},
            "first");
  x = b.Reshape(x, {-1, width}, "first.rows");
  b.Classify(b.LayerNorm(x, "norm", width, shape.epsilon), width,
             SmallNormal(width));
}

absl::Status CheckVit(const ZooSizes& sizes) {
  RETURN_IF_ERROR(CheckHeads(sizes));
  return CheckImage(sizes, kPatch, kPatch);
}

Entry GptEntry(absl::string_view name, absl::string_view summary,
               int64_t blocks) {
  return {{std::string(name),
           std::string(summary),
           {{"batch", 8},
            {"blocks", blocks},
            {"heads", 8},
            {"length", 128},
            {"vocabulary", 256},
            {"width", 512}},
           /*max_blocks=*/50'000,
           /*has_dropout=*/true,
           "A block is attention and mlp, each with its norm and sum. Every "
           "token attends to all:\nthere is no mask. The head is a layer of "
           "its own, with biases, not the embedding."},
          CheckHeads,
          BuildGpt};
}

}  // namespace

std::vector<Entry> TransformerEntries() {
  return {GptEntry("gpt", "transformer of tokens", 6),
          GptEntry("transformer", "the same, deep", 96),
          {{"vit_tiny",
            "transformer of the patches of an image, ViT-Ti/16",
            {{"batch", 16},
             {"blocks", 12},
             {"channels", 3},
             {"classes", 1000},
             {"heads", 3},
             {"image", 224},
             {"width", 192}},
            /*max_blocks=*/50'000,
            /*has_dropout=*/true,
            "A block is attention and mlp, each with its norm and sum. "
            "Patches are 16x16: their "
            "pixels, in rows, go\nthrough one linear layer, which is what a "
            "convolution of 16x16 with stride 16 is."},
           CheckVit,
           BuildVit}};
}

}  // namespace zoo
}  // namespace reprise
