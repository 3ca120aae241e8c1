#include "tools/zoo/family.h"

#include <cmath>

#include "core/status_macros.h"
#include "core/tensor_type.h"

namespace reprise {
namespace zoo {

Builder::Builder(absl::string_view name, ZooSizes sizes, float dropout,
                 absl::optional<proto::Policy> block_policy)
    : graph_(name),
      sizes_(std::move(sizes)),
      dropout_(dropout),
      block_policy_(std::move(block_policy)),
      batch_(graph_.Symbol("batch", size("batch"))) {}

int64_t Builder::size(absl::string_view flag) const {
  const auto found = sizes_.find(std::string(flag));
  REPRISE_CHECK(found != sizes_.end());  // an entry names its model's sizes
  return found->second;
}

Builder::Block Builder::NewBlock(const std::string& name) {
  if (!block_policy_.has_value()) return absl::nullopt;
  return graph_.Region(name, *block_policy_);
}

Value Builder::Input(const std::string& name, DType dtype, const Dims& row_dims,
                     absl::string_view meaning) {
  BuilderDims dims = {batch_};
  dims.insert(dims.end(), row_dims.begin(), row_dims.end());
  std::string type = absl::StrCat(ToString(dtype), "[batch");
  for (const int64_t dim : row_dims) absl::StrAppend(&type, ",", dim);
  data_.push_back({name, type + "]", std::string(meaning)});
  return graph_.Input(name, dtype, dims);
}

Value Builder::Image() {
  const int64_t image = size("image");
  return Input("x", DType::kF32, {size("channels"), image, image}, "images");
}

Value Builder::Dropout(const Value& x, const std::string& name) {
  if (dropout_ == 0) return x;
  return graph_.Add("Dropout", {x}, {{"ratio", dropout_}}, name);
}

Builder::LayerInit Builder::UniformInit(int64_t fan_in) {
  const float bound =
      static_cast<float>(1 / std::sqrt(static_cast<double>(fan_in)));
  return {Init::Uniform(-bound, bound), Init::Uniform(-bound, bound)};
}

Value Builder::Linear(const Value& x, const std::string& name, int64_t from,
                      int64_t to, const LayerInit& init) {
  const Value w = graph_.Parameter(name + ".w", {from, to}, init.w);
  const Value b = graph_.Parameter(name + ".b", {to}, init.b);
  return graph_.Add("Gemm", {x, w, b}, {}, name);
}

Value Builder::Conv(const Value& x, const std::string& name, int64_t from,
                    int64_t to, const ConvOptions& options) {
  const int64_t kernel = options.kernel;
  Values in = {x, graph_.Parameter(name + ".w",
                                   {to, from / options.group, kernel, kernel},
                                   options.w)};
  if (options.bias.has_value()) {
    in.push_back(graph_.Parameter(name + ".b", {to}, *options.bias));
  }
  BuilderAttrs attrs;
  if (kernel > 1 && kernel % 2 == 1) {
    attrs.emplace_back("pads", Ints(4, kernel / 2));
  }
  if (options.stride > 1) {
    attrs.emplace_back("strides", Ints(2, options.stride));
  }
  if (options.group > 1) attrs.emplace_back("group", options.group);
  return graph_.Add("Conv", in, attrs, name);
}

Value Builder::BatchNorm(const Value& x, const std::string& name,
                         int64_t channels) {
  const Value scale =
      graph_.Parameter(name + ".scale", {channels}, Init::Constant(1));
  const Value bias =
      graph_.Parameter(name + ".bias", {channels}, Init::Constant(0));
  const Value mean =
      graph_.State(name + ".mean", DType::kF32, {channels}, Init::Constant(0));
  const Value var =
      graph_.State(name + ".var", DType::kF32, {channels}, Init::Constant(1));
  const Values out = graph_.AddMany(
      "BatchNormalization", {x, scale, bias, mean, var}, {{"training_mode", 1}},
      {name, name + ".next_mean", name + ".next_var"});
  graph_.SetNext(mean, out[1]);
  graph_.SetNext(var, out[2]);
  return out[0];
}

Value Builder::LayerNorm(const Value& x, const std::string& name, int64_t width,
                         float epsilon) {
  const Value scale =
      graph_.Parameter(name + ".scale", {width}, Init::Constant(1));
  const Value bias =
      graph_.Parameter(name + ".bias", {width}, Init::Constant(0));
  return graph_.Add("LayerNormalization", {x, scale, bias},
                    {{"epsilon", epsilon}}, name);
}

Value Builder::ConvNormRelu(const Value& x, const std::string& block,
                            const std::string& suffix, int64_t from, int64_t to,
                            const ConvOptions& options) {
  const Value conv =
      Conv(x, absl::StrCat(block, ".conv", suffix), from, to, options);
  const Value norm = BatchNorm(conv, absl::StrCat(block, ".norm", suffix), to);
  return Relu(norm, absl::StrCat(block, ".relu", suffix));
}

Value Builder::Pool(absl::string_view op, const Value& x,
                    const std::string& name, const PoolOptions& options) {
  BuilderAttrs attrs = {{"kernel_shape", Ints(2, options.kernel)},
                        {"strides", Ints(2, options.stride)}};
  if (options.pad > 0) attrs.emplace_back("pads", Ints(4, options.pad));
  return graph_.Add(op, {x}, attrs, name);
}

Value Builder::Average(const Value& x) {
  const Value averages = graph_.Add("GlobalAveragePool", {x}, {}, "averages");
  return graph_.Add("Flatten", {averages}, {}, "features");
}

void Builder::Classify(const Value& features, int64_t width,
                       const LayerInit& init) {
  const int64_t classes = size("classes");
  const Value scores = Linear(features, "logits", width, classes, init);
  CrossEntropy(scores, Input("label", DType::kI64, {},
                             absl::StrCat("classes, below ", classes)));
}

void Builder::CrossEntropy(const Value& scores, const Value& labels) {
  graph_.Output(scores);
  graph_.Loss(
      graph_.Add("SoftmaxCrossEntropyLoss", {scores, labels}, {}, "loss"));
}

absl::Status CheckImage(const ZooSizes& sizes, int64_t least,
                        int64_t multiple) {
  const int64_t image = sizes.at("image");
  if (image < least) {
    return absl::InvalidArgumentError(
        absl::StrCat("--image must be at least ", least, ", got ", image));
  }
  if (image % multiple != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--image must be a multiple of ", multiple, ", got ", image));
  }
  return absl::OkStatus();
}

absl::Status CheckHeads(const ZooSizes& sizes) {
  const int64_t width = sizes.at("width");
  const int64_t heads = sizes.at("heads");
  if (width % heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--heads must divide --width, got ", heads, " and ", width));
  }
  return absl::OkStatus();
}

}  // namespace zoo
}  // namespace reprise
