// What the families of the zoo share: layers, and how a model is listed.

#ifndef TOOLS_ZOO_FAMILY_H_
#define TOOLS_ZOO_FAMILY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/graph_builder.h"
#include "tools/zoo/zoo.h"

namespace reprise {
namespace zoo {

using Value = GraphBuilder::Value;
using Values = GraphBuilder::Values;

// One model under construction.
class Builder {
 public:
  Builder(absl::string_view name, ZooSizes sizes, float dropout,
          absl::optional<proto::Policy> block_policy);

  int64_t size(absl::string_view flag) const;
  GraphBuilder& graph() { return graph_; }

  // What is said about an input.
  struct Data {
    std::string name;
    std::string type;
    std::string meaning;
  };
  const std::vector<Data>& data() const { return data_; }

  // A region around what is added while it lives, where regions are wanted.
  using Block = absl::optional<GraphBuilder::Scope>;
  [[nodiscard]] Block NewBlock(const std::string& name);

  // An input of `batch` rows of the given dims.
  Value Input(const std::string& name, DType dtype, const Dims& row_dims,
              absl::string_view meaning);

  // The input x f32[batch, channels, image, image].
  Value Image();

  Value Add(absl::string_view op, const Values& in,
            const BuilderAttrs& attrs = {}, absl::string_view name = "") {
    return graph_.Add(op, in, attrs, name);
  }
  Value Relu(const Value& x, const std::string& name) {
    return graph_.Add("Relu", {x}, {}, name);
  }
  Value Reshape(const Value& x, const Ints& shape, const std::string& name) {
    return graph_.Add("Reshape", {x}, {{"shape", shape}}, name);
  }

  // Nothing where the ratio is 0.
  Value Dropout(const Value& x, const std::string& name);

  // First weights and biases of a layer.
  struct LayerInit {
    proto::Initializer w;
    proto::Initializer b;
  };

  // PyTorch's own: both uniform in +-1 / sqrt(fan_in).
  static LayerInit UniformInit(int64_t fan_in);

  // y [n, to] = x [n, from] w + b.
  Value Linear(const Value& x, const std::string& name, int64_t from,
               int64_t to, const LayerInit& init);
  Value Linear(const Value& x, const std::string& name, int64_t from,
               int64_t to) {
    return Linear(x, name, from, to, UniformInit(from));
  }

  struct ConvOptions {
    int64_t kernel = 3;  // padded by half of it, if odd
    int64_t stride = 1;
    int64_t group = 1;
    absl::optional<proto::Initializer> bias;  // none: no bias
    proto::Initializer w =
        Init::VarianceScaling(2, proto::Initializer::FAN_OUT, /*normal=*/true);
  };

  Value Conv(const Value& x, const std::string& name, int64_t from, int64_t to,
             const ConvOptions& options);

  // With the batch's statistics in training, and running ones.
  Value BatchNorm(const Value& x, const std::string& name, int64_t channels);

  // Over the last axis.
  Value LayerNorm(const Value& x, const std::string& name, int64_t width,
                  float epsilon);

  // conv, norm and relu with names that end in `suffix`.
  Value ConvNormRelu(const Value& x, const std::string& block,
                     const std::string& suffix, int64_t from, int64_t to,
                     const ConvOptions& options);

  struct PoolOptions {
    int64_t kernel = 2;
    int64_t stride = 2;
    int64_t pad = 0;
  };
  Value Pool(absl::string_view op, const Value& x, const std::string& name,
             const PoolOptions& options);

  // Pixels averaged: [n, c, h, w] to [n, c].
  Value Average(const Value& x);

  // A linear layer to `classes` scores, the labels and the loss.
  void Classify(const Value& features, int64_t width, const LayerInit& init);
  void Classify(const Value& features, int64_t width) {
    Classify(features, width, UniformInit(width));
  }

  // The loss of `scores`, which are an output, against `labels`.
  void CrossEntropy(const Value& scores, const Value& labels);

 private:
  GraphBuilder graph_;
  ZooSizes sizes_;
  float dropout_;
  absl::optional<proto::Policy> block_policy_;
  BuilderDim batch_;
  std::vector<Data> data_;
};

// A model, the rules of its sizes beyond being positive, and what makes it.
struct Entry {
  ZooModel model;
  absl::Status (*check)(const ZooSizes& sizes);  // nullptr: no rules
  void (*build)(Builder& b);
};

// One function a family.
std::vector<Entry> MlpEntries();
std::vector<Entry> CnnEntries();
std::vector<Entry> ResnetEntries();
std::vector<Entry> DensenetEntries();
std::vector<Entry> VggEntries();
std::vector<Entry> MobilenetEntries();
std::vector<Entry> UnetEntries();
std::vector<Entry> TransformerEntries();

// InvalidArgument unless the image has at least `least` pixels a side, and a
// multiple of `multiple`.
absl::Status CheckImage(const ZooSizes& sizes, int64_t least, int64_t multiple);

// InvalidArgument unless heads divide the width.
absl::Status CheckHeads(const ZooSizes& sizes);

// "block1", "conv2": names count from one.
inline std::string Numbered(absl::string_view stem, int64_t index) {
  return absl::StrCat(stem, index + 1);
}

}  // namespace zoo
}  // namespace reprise

#endif  // TOOLS_ZOO_FAMILY_H_
