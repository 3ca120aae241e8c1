#include "core/graph_builder.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

proto::DType Message(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return proto::FLOAT32;
    case DType::kI32:
      return proto::INT32;
    case DType::kI64:
      return proto::INT64;
    case DType::kBool:
      return proto::BOOL;
    case DType::kU8:
      return proto::UINT8;
    case DType::kNone:
    case DType::kOpaque:
      break;
  }
  return proto::DTYPE_UNSPECIFIED;
}

proto::TensorType Message(DType dtype, const BuilderDims& dims) {
  proto::TensorType type;
  type.set_dtype(Message(dtype));
  for (const BuilderDim& dim : dims) *type.add_dim() = dim.message();
  return type;
}

proto::Tensor EmptyTensor(DType dtype, const Dims& dims) {
  proto::Tensor tensor;
  *tensor.mutable_type() =
      Message(dtype, BuilderDims(dims.begin(), dims.end()));
  return tensor;
}

// Absent and default initializers are one thing; the file has none of them.
template <typename Source>
void SetInitializer(Source& source, const proto::Initializer& initializer) {
  if (initializer.kind_case() == proto::Initializer::KIND_NOT_SET) return;
  *source.mutable_initializer() = initializer;
}

void Assign(proto::Policy::Strings& strings,
            const std::vector<std::string>& list) {
  for (const std::string& entry : list) strings.add_v(entry);
}

// Writes each alternative of AttrValue into the field that holds it.
struct AttributeWriter {
  proto::Attribute& attribute;

  void operator()(int64_t value) { attribute.set_i(value); }
  void operator()(float value) { attribute.set_f(value); }
  void operator()(const std::string& value) { attribute.set_s(value); }
  void operator()(bool value) { attribute.set_b(value); }
  void operator()(DType value) { attribute.set_type(Message(value)); }
  void operator()(const Ints& value) {
    attribute.mutable_ints()->mutable_v()->Add(value.begin(), value.end());
  }
  void operator()(const Floats& value) {
    attribute.mutable_floats()->mutable_v()->Add(value.begin(), value.end());
  }
  void operator()(const Literal& value) {
    *attribute.mutable_tensor() =
        EmptyTensor(value.type.dtype, value.type.dims);
    attribute.mutable_tensor()->set_data(value.data);
  }
};

}  // namespace

BuilderDim BuilderDim::OfSymbol(std::string symbol) {
  BuilderDim dim;
  dim.symbol_ = std::move(symbol);
  return dim;
}

proto::Dim BuilderDim::message() const {
  proto::Dim dim;
  if (symbol_.empty()) {
    dim.set_value(value_);
  } else {
    dim.set_symbol(symbol_);
  }
  return dim;
}

BuilderAttr::BuilderAttr(absl::string_view name, const AttrValue& value) {
  message_.set_name(std::string(name));
  std::visit(AttributeWriter{message_}, value);
}
BuilderAttr::BuilderAttr(absl::string_view name, int value)
    : BuilderAttr(name, AttrValue(int64_t{value})) {}
BuilderAttr::BuilderAttr(absl::string_view name, int64_t value)
    : BuilderAttr(name, AttrValue(value)) {}
BuilderAttr::BuilderAttr(absl::string_view name, float value)
    : BuilderAttr(name, AttrValue(value)) {}
BuilderAttr::BuilderAttr(absl::string_view name, double value)
    : BuilderAttr(name, AttrValue(static_cast<float>(value))) {}
BuilderAttr::BuilderAttr(absl::string_view name, bool value)
    : BuilderAttr(name, AttrValue(value)) {}
BuilderAttr::BuilderAttr(absl::string_view name, const char* value)
    : BuilderAttr(name, AttrValue(std::string(value))) {}
BuilderAttr::BuilderAttr(absl::string_view name, const std::string& value)
    : BuilderAttr(name, AttrValue(value)) {}
BuilderAttr::BuilderAttr(absl::string_view name, DType value)
    : BuilderAttr(name, AttrValue(value)) {}
BuilderAttr::BuilderAttr(absl::string_view name, const Ints& value)
    : BuilderAttr(name, AttrValue(value)) {}
BuilderAttr::BuilderAttr(absl::string_view name, const Floats& value)
    : BuilderAttr(name, AttrValue(value)) {}
BuilderAttr::BuilderAttr(absl::string_view name, proto::Tensor value) {
  message_.set_name(std::string(name));
  *message_.mutable_tensor() = std::move(value);
}

proto::Tensor FloatTensor(const Dims& dims, const std::vector<float>& content) {
  proto::Tensor tensor = EmptyTensor(DType::kF32, dims);
  tensor.mutable_f()->Add(content.begin(), content.end());
  return tensor;
}

proto::Tensor IntTensor(DType dtype, const Dims& dims,
                        const std::vector<int64_t>& content) {
  proto::Tensor tensor = EmptyTensor(dtype, dims);
  tensor.mutable_i()->Add(content.begin(), content.end());
  return tensor;
}

proto::Initializer Init::Default() { return proto::Initializer(); }

proto::Initializer Init::Constant(float content) {
  proto::Initializer initializer;
  initializer.set_constant(content);
  return initializer;
}

proto::Initializer Init::Uniform(float low, float high) {
  proto::Initializer initializer;
  initializer.mutable_uniform()->set_low(low);
  initializer.mutable_uniform()->set_high(high);
  return initializer;
}

proto::Initializer Init::Normal(float mean, float stddev) {
  proto::Initializer initializer;
  initializer.mutable_normal()->set_mean(mean);
  initializer.mutable_normal()->set_stddev(stddev);
  return initializer;
}

proto::Initializer Init::VarianceScaling(float scale,
                                         proto::Initializer::Mode mode,
                                         bool normal) {
  proto::Initializer initializer;
  initializer.mutable_variance_scaling()->set_scale(scale);
  initializer.mutable_variance_scaling()->set_mode(mode);
  initializer.mutable_variance_scaling()->set_normal(normal);
  return initializer;
}

proto::Initializer Init::Identity() {
  proto::Initializer initializer;
  initializer.set_identity(true);
  return initializer;
}

proto::Initializer Init::Value(proto::Tensor content) {
  proto::Initializer initializer;
  *initializer.mutable_value() = std::move(content);
  return initializer;
}

proto::Policy Save::Nothing() {
  proto::Policy policy;
  policy.set_save_nothing(true);
  return policy;
}

proto::Policy Save::Everything() {
  proto::Policy policy;
  policy.set_save_everything(true);
  return policy;
}

proto::Policy Save::Matmuls() {
  proto::Policy policy;
  policy.set_save_matmuls(true);
  return policy;
}

proto::Policy Save::MatmulsWithoutBatchDims() {
  proto::Policy policy;
  policy.set_save_matmuls_without_batch_dims(true);
  return policy;
}

proto::Policy Save::Names(const std::vector<std::string>& globs) {
  proto::Policy policy;
  Assign(*policy.mutable_save_names(), globs);
  return policy;
}

proto::Policy Save::AllButNames(const std::vector<std::string>& globs) {
  proto::Policy policy;
  Assign(*policy.mutable_save_all_but_names(), globs);
  return policy;
}

proto::Policy Save::Ops(const std::vector<std::string>& ops) {
  proto::Policy policy;
  Assign(*policy.mutable_save_ops(), ops);
  return policy;
}

proto::Policy Save::AnyOf(const std::vector<proto::Policy>& policies) {
  proto::Policy policy;
  policy.mutable_any_of();
  for (const proto::Policy& part : policies) {
    *policy.mutable_any_of()->add_policy() = part;
  }
  return policy;
}

proto::Policy Save::Auto() {
  proto::Policy policy;
  policy.set_auto_(true);
  return policy;
}

GraphBuilder::Scope::Scope(Scope&& other) noexcept
    : builder_(std::exchange(other.builder_, nullptr)), depth_(other.depth_) {}

void GraphBuilder::Scope::End() {
  GraphBuilder* const builder = std::exchange(builder_, nullptr);
  if (builder == nullptr) return;
  REPRISE_CHECK(builder->open_regions_.size() == depth_);
  builder->open_regions_.pop_back();
}

GraphBuilder::GraphBuilder(absl::string_view name) {
  graph_.set_format_version(1);
  graph_.set_name(std::string(name));
}

BuilderDim GraphBuilder::Symbol(absl::string_view name, int64_t default_value) {
  proto::Symbol& symbol = *graph_.add_symbol();
  symbol.set_name(std::string(name));
  symbol.set_default_value(default_value);
  return BuilderDim::OfSymbol(symbol.name());
}

GraphBuilder::Value GraphBuilder::Input(absl::string_view name, DType dtype,
                                        const BuilderDims& dims) {
  proto::Input& input = *graph_.add_input();
  input.set_name(std::string(name));
  *input.mutable_type() = Message(dtype, dims);
  names_.insert(input.name());
  return {input.name()};
}

proto::Parameter& GraphBuilder::NewParameter(
    absl::string_view name, DType dtype, const BuilderDims& dims,
    const proto::Initializer& initializer) {
  proto::Parameter& parameter = *graph_.add_parameter();
  parameter.set_name(std::string(name));
  *parameter.mutable_type() = Message(dtype, dims);
  SetInitializer(parameter, initializer);
  names_.insert(parameter.name());
  return parameter;
}

GraphBuilder::Value GraphBuilder::Parameter(
    absl::string_view name, const BuilderDims& dims,
    const proto::Initializer& initializer) {
  return {NewParameter(name, DType::kF32, dims, initializer).name()};
}

GraphBuilder::Value GraphBuilder::Frozen(
    absl::string_view name, DType dtype, const BuilderDims& dims,
    const proto::Initializer& initializer) {
  proto::Parameter& parameter = NewParameter(name, dtype, dims, initializer);
  parameter.set_trainable(false);
  return {parameter.name()};
}

GraphBuilder::Value GraphBuilder::State(absl::string_view name, DType dtype,
                                        const BuilderDims& dims,
                                        const proto::Initializer& initializer) {
  proto::State& state = *graph_.add_state();
  state.set_name(std::string(name));
  *state.mutable_type() = Message(dtype, dims);
  SetInitializer(state, initializer);
  names_.insert(state.name());
  return {state.name()};
}

void GraphBuilder::SetNext(const Value& state, const Value& next) {
  for (proto::State& known : *graph_.mutable_state()) {
    if (known.name() == state.name) {
      known.set_next(next.name);
      return;
    }
  }
  REPRISE_CHECK(false);  // `state` comes from State()
}

std::string GraphBuilder::NewName(absl::string_view op) {
  const std::string stem = absl::AsciiStrToLower(op);
  if (names_.insert(stem).second) return stem;
  int& suffix = next_suffix_[stem];
  while (true) {
    std::string name = absl::StrCat(stem, "_", ++suffix);
    if (names_.insert(name).second) return name;
  }
}

GraphBuilder::Value GraphBuilder::Add(absl::string_view op, const Values& in,
                                      const BuilderAttrs& attrs,
                                      absl::string_view name) {
  return AddMany(op, in, attrs,
                 {name.empty() ? NewName(op) : std::string(name)})[0];
}

GraphBuilder::Values GraphBuilder::AddMany(
    absl::string_view op, const Values& in, const BuilderAttrs& attrs,
    const std::vector<std::string>& names) {
  proto::Node& node = *graph_.add_node();
  node.set_op(std::string(op));
  for (const Value& value : in) node.add_input(value.name);
  Values out;
  for (const std::string& name : names) {
    node.add_output(name);
    names_.insert(name);
    out.push_back({name});
  }
  for (const BuilderAttr& attr : attrs) *node.add_attribute() = attr.message();
  if (!open_regions_.empty()) node.set_region(open_regions_.back());
  return out;
}

GraphBuilder::Scope GraphBuilder::Region(absl::string_view name) {
  proto::Region& region = *graph_.add_region();
  region.set_name(std::string(name));
  if (!open_regions_.empty()) region.set_parent(open_regions_.back());
  open_regions_.push_back(region.name());
  return Scope(this, open_regions_.size());
}

GraphBuilder::Scope GraphBuilder::Region(absl::string_view name,
                                         const proto::Policy& policy) {
  Scope scope = Region(name);
  *graph_.mutable_region(graph_.region_size() - 1)->mutable_policy() = policy;
  return scope;
}

void GraphBuilder::Annotate(const Value& value,
                            proto::ValueAnnotation::Keep keep) {
  proto::ValueAnnotation& annotation = *graph_.add_annotation();
  annotation.set_value(value.name);
  annotation.set_keep(keep);
}

void GraphBuilder::MustSave(const Value& value) {
  Annotate(value, proto::ValueAnnotation::MUST_SAVE);
}

void GraphBuilder::MustRecompute(const Value& value) {
  Annotate(value, proto::ValueAnnotation::MUST_RECOMPUTE);
}

void GraphBuilder::Output(const Value& value) { graph_.add_output(value.name); }

void GraphBuilder::Loss(const Value& value, float weight) {
  proto::Loss& loss = *graph_.add_loss();
  loss.set_value(value.name);
  if (weight != 1) loss.set_weight(weight);
}

}  // namespace reprise
