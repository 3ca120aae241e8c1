#include "tests/testing/op_harness.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/graph_builder.h"
#include "core/load.h"
#include "core/node_appender.h"
#include "core/op.h"
#include "core/op_table.h"
#include "core/plan.h"
#include "core/status_macros.h"
#include "core/train_step.h"
#include "gtest/gtest.h"
#include "reprise.h"

namespace reprise {
namespace {

using Bytes = std::vector<char>;

// Written around and into everything that a kernel gets; as a float, NaN.
constexpr char kPoison = static_cast<char>(0xFF);

// A 64-byte aligned buffer between poisoned bytes.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t bytes)
      : bytes_(bytes),
        block_(static_cast<char*>(std::aligned_alloc(
                   kArenaAlignment, AlignUp(bytes) + 2 * kArenaAlignment)),
               std::free) {
    std::memset(block_.get(), kPoison, AlignUp(bytes) + 2 * kArenaAlignment);
  }
  explicit GuardedBuffer(const Bytes& content)
      : GuardedBuffer(static_cast<int64_t>(content.size())) {
    std::copy(content.begin(), content.end(), data());
  }

  char* data() { return block_.get() + kArenaAlignment; }
  Bytes Content() { return Bytes(data(), data() + bytes_); }

  bool GuardsAreIntact() {
    const char* const block = block_.get();
    const char* const end = block + AlignUp(bytes_) + 2 * kArenaAlignment;
    const auto poisoned = [](char c) { return c == kPoison; };
    return std::all_of(block, block + kArenaAlignment, poisoned) &&
           std::all_of(block + kArenaAlignment + bytes_, end, poisoned);
  }

 private:
  int64_t bytes_;
  std::unique_ptr<char, void (*)(void*)> block_;
};

template <class T>
Bytes PackAs(const std::vector<double>& data) {
  Bytes bytes(data.size() * sizeof(T));
  for (size_t i = 0; i < data.size(); ++i) {
    const T element = static_cast<T>(data[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return bytes;
}

Bytes Pack(const HostTensor& tensor) {
  switch (tensor.type.dtype) {
    case DType::kF32:
      return PackAs<float>(tensor.data);
    case DType::kI32:
      return PackAs<int32_t>(tensor.data);
    case DType::kI64:
      return PackAs<int64_t>(tensor.data);
    case DType::kBool:
    case DType::kU8:
      return PackAs<uint8_t>(tensor.data);
    case DType::kNone:
    case DType::kOpaque:
      break;
  }
  return {};
}

template <class T>
std::vector<double> UnpackAs(const char* bytes, int64_t n) {
  std::vector<double> data(n);
  for (int64_t i = 0; i < n; ++i) {
    T element;
    std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
    data[i] = static_cast<double>(element);
  }
  return data;
}

HostTensor Unpack(const TensorType& type, const char* bytes) {
  const int64_t n = type.num_elements();
  switch (type.dtype) {
    case DType::kF32:
      return {type, UnpackAs<float>(bytes, n)};
    case DType::kI32:
      return {type, UnpackAs<int32_t>(bytes, n)};
    case DType::kI64:
      return {type, UnpackAs<int64_t>(bytes, n)};
    case DType::kBool:
    case DType::kU8:
      return {type, UnpackAs<uint8_t>(bytes, n)};
    case DType::kNone:
    case DType::kOpaque:
      break;
  }
  return {type, {}};
}

std::string CaseText(const OpCase& c) {
  std::vector<std::string> types;
  for (const TensorType& type : c.in) types.push_back(ToString(type));
  return absl::StrCat(c.op, "{", ToString(c.attrs), "}(",
                      absl::StrJoin(types, ", "), ")");
}

HostTensors RandomInputs(const OpCase& c, uint64_t seed) {
  CaseRandom random(seed);
  HostTensors inputs;
  for (size_t i = 0; i < c.in.size(); ++i) {
    const ContentRange range = c.ranges.empty()
                                   ? ContentRange()
                                   : c.ranges[std::min(i, c.ranges.size() - 1)];
    HostTensor tensor{c.in[i], {}};
    for (int64_t k = 0; k < tensor.type.num_elements(); ++k) {
      tensor.data.push_back(
          tensor.type.dtype == DType::kF32
              // As a float, so that the definition sees what the kernel sees.
              ? static_cast<float>(random.Real(range.low, range.high))
              : static_cast<double>(
                    random.Int(static_cast<int64_t>(range.low),
                               static_cast<int64_t>(range.high) - 1)));
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// What a case knows of its operator.
struct Prepared {
  const OpDef* op = nullptr;
  Attrs attrs;                    // complete
  std::vector<TensorType> types;  // of all results that the node can have
};

absl::StatusOr<Prepared> Prepare(const OpCase& c, const OpTable& table) {
  Prepared prepared;
  prepared.op = table.Find(c.op);
  if (prepared.op == nullptr) {
    return absl::NotFoundError(absl::StrCat("no operator ", c.op));
  }
  ASSIGN_OR_RETURN(prepared.attrs, CompleteAttrs(*prepared.op, c.attrs));
  ASSIGN_OR_RETURN(prepared.types,
                   InferTypes("n", *prepared.op, prepared.attrs, c.in));
  if (static_cast<int>(prepared.types.size()) < c.num_outputs) {
    return absl::InvalidArgumentError(
        absl::StrCat(c.op, " has ", prepared.types.size(), " results"));
  }
  prepared.types.resize(c.num_outputs);
  return prepared;
}

// One way of running a kernel.
struct RunMode {
  int threads = 1;
  bool channels_last = false;
  // Runs with this pair sharing bytes, if they are equally many.
  const Overwrite* in_place = nullptr;
};

Layout ChannelsLast(const TensorType& type) {
  if (type.rank() < 3) return Layout();
  std::string format = "a";
  for (int i = 2; i < type.rank(); ++i) format.push_back('a' + i);
  return Layout{absl::StrCat(format, "b")};
}

// A kernel with what describes it.
struct Built {
  Signature signature;
  Description description;
  Kernel kernel;
};

absl::StatusOr<Built> BuildKernel(Signature offered, const OpEnv& env) {
  Built built;
  ASSIGN_OR_RETURN(built.description, offered.op->describe(offered, env));
  built.signature = std::move(offered);
  built.signature.in_layouts = built.description.in_layouts;
  built.signature.out_layouts = built.description.out_layouts;
  ASSIGN_OR_RETURN(built.kernel,
                   built.signature.op->build(built.signature, env));
  return built;
}

class KernelRunner {
 public:
  KernelRunner(const OpCase& c, const Prepared& prepared, const OpTable& table)
      : c_(c), prepared_(prepared), reorder_(table.Get("Reorder")) {}

  absl::StatusOr<Built> Build(const RunMode& mode) const {
    Signature offered;
    offered.op = prepared_.op;
    offered.attrs = prepared_.attrs;
    offered.in = c_.in;
    offered.out = prepared_.types;
    for (const TensorType& type : c_.in) {
      offered.in_layouts.push_back(mode.channels_last ? ChannelsLast(type)
                                                      : Layout());
    }
    return BuildKernel(std::move(offered), OpEnv{mode.threads});
  }

  // Returns the bytes of each result, row-major (a workspace's as they are).
  absl::StatusOr<std::vector<Bytes>> Run(const Built& built,
                                         const HostTensors& inputs,
                                         const Overwrite* in_place) const {
    const Signature& s = built.signature;
    const Description& d = built.description;
    std::vector<GuardedBuffer> in;
    for (size_t i = 0; i < inputs.size(); ++i) {
      ASSIGN_OR_RETURN(const Bytes bytes, Reordered(Pack(inputs[i]), s.in[i],
                                                    Layout(), s.in_layouts[i]));
      in.emplace_back(bytes);
    }
    std::vector<Bytes> before;
    for (GuardedBuffer& buffer : in) before.push_back(buffer.Content());
    std::vector<GuardedBuffer> out;
    for (const int64_t bytes : d.out_bytes) out.emplace_back(bytes);
    GuardedBuffer scratchpad(d.scratchpad_bytes);
    std::vector<void*> in_addresses;
    std::vector<void*> out_addresses;
    for (size_t i = 0; i < in.size(); ++i) {
      in_addresses.push_back(before[i].empty() ? nullptr : in[i].data());
    }
    for (size_t i = 0; i < out.size(); ++i) {
      out_addresses.push_back(d.out_bytes[i] == 0 ? nullptr : out[i].data());
    }
    if (in_place != nullptr) {
      out_addresses[in_place->out] = in_addresses[in_place->in];
    }
    Buffers buffers;
    buffers.in = in_addresses.data();
    buffers.out = out_addresses.data();
    buffers.scratchpad = d.scratchpad_bytes > 0 ? scratchpad.data() : nullptr;
    built.kernel.run(buffers);

    EXPECT_TRUE(scratchpad.GuardsAreIntact()) << "scratchpad overrun";
    for (size_t i = 0; i < in.size(); ++i) {
      EXPECT_TRUE(in[i].GuardsAreIntact()) << "overrun at input " << i;
      if (in_place == nullptr || in_place->in != static_cast<int>(i)) {
        EXPECT_TRUE(in[i].Content() == before[i]) << "wrote to input " << i;
      }
    }
    std::vector<Bytes> results;
    for (size_t i = 0; i < out.size(); ++i) {
      EXPECT_TRUE(out[i].GuardsAreIntact()) << "overrun at output " << i;
      const bool shared =
          in_place != nullptr && in_place->out == static_cast<int>(i);
      Bytes bytes = shared ? in[in_place->in].Content() : out[i].Content();
      ASSIGN_OR_RETURN(bytes, Reordered(std::move(bytes), s.out[i],
                                        s.out_layouts[i], Layout()));
      results.push_back(std::move(bytes));
    }
    return results;
  }

 private:
  absl::StatusOr<Bytes> Reordered(Bytes bytes, const TensorType& type,
                                  const Layout& from, const Layout& to) const {
    if (from == to || !type.present()) return bytes;
    Signature s;
    s.op = &reorder_;
    s.attrs.Set("__to", to.format);
    s.in = {type};
    s.out = {type};
    s.in_layouts = {from};
    ASSIGN_OR_RETURN(const Built built, BuildKernel(std::move(s), OpEnv{1}));
    GuardedBuffer in(bytes);
    GuardedBuffer out(built.description.out_bytes[0]);
    GuardedBuffer scratchpad(built.description.scratchpad_bytes);
    void* in_address = in.data();
    void* out_address = out.data();
    Buffers buffers;
    buffers.in = &in_address;
    buffers.out = &out_address;
    buffers.scratchpad = scratchpad.data();
    built.kernel.run(buffers);
    EXPECT_TRUE(out.GuardsAreIntact()) << "reorder overrun";
    return out.Content();
  }

  const OpCase& c_;
  const Prepared& prepared_;
  const OpDef& reorder_;
};

// One message for the first element that is off.
void ExpectNear(const HostTensor& got, const HostTensor& want, double tolerance,
                absl::string_view what) {
  ASSERT_EQ(ToString(got.type), ToString(want.type)) << what;
  ASSERT_EQ(got.data.size(), want.data.size()) << what;
  for (size_t i = 0; i < want.data.size(); ++i) {
    const double w = want.type.dtype == DType::kF32
                         ? static_cast<double>(static_cast<float>(want.data[i]))
                         : want.data[i];
    const double g = got.data[i];
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    const double allowed = tolerance * std::max(1.0, std::abs(w));
    if (std::abs(g - w) <= allowed) continue;
    FAIL() << what << ", element " << i << " of " << ToString(want.type)
           << ": got " << g << ", want " << w << ", allowed " << allowed;
  }
}

bool Contains(const std::vector<int>& list, int x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

absl::Status CheckKernel(const OpCase& c, const Prepared& prepared,
                         const OpTable& table, const HostTensors& inputs,
                         const HostTensors& want) {
  const KernelRunner runner(c, prepared, table);
  for (const int threads : {1, 2}) {
    for (const bool channels_last : {false, true}) {
      RunMode mode;
      mode.threads = threads;
      mode.channels_last = channels_last;
      ASSIGN_OR_RETURN(const Built built, runner.Build(mode));
      const Description& d = built.description;
      SCOPED_TRACE(absl::StrCat("kernel ", d.implementation, ", ", threads,
                                " threads",
                                channels_last ? ", channels last" : ""));
      EXPECT_FALSE(absl::StrContains(d.implementation, "ref"));
      EXPECT_EQ(d.library_heap_bytes, 0);
      EXPECT_GE(d.flops, 0);
      EXPECT_GE(d.bytes_moved, 0);
      ASSIGN_OR_RETURN(const std::vector<Bytes> bits,
                       runner.Run(built, inputs, /*in_place=*/nullptr));
      for (int i = 0; i < c.num_outputs; ++i) {
        if (Contains(c.unchecked_outputs, i)) continue;
        EXPECT_GE(d.out_bytes[i], prepared.types[i].bytes());
        ExpectNear(Unpack(prepared.types[i], bits[i].data()), want[i],
                   c.tolerance, absl::StrCat("output ", i));
      }
      ASSIGN_OR_RETURN(const std::vector<Bytes> again,
                       runner.Run(built, inputs, /*in_place=*/nullptr));
      EXPECT_TRUE(again == bits) << "a second run gives other bits";
      for (const Overwrite& pair : d.may_overwrite) {
        const bool same_bytes =
            c.in[pair.in].present() && d.out_bytes[pair.out] > 0 &&
            d.in_layouts[pair.in] == d.out_layouts[pair.out] &&
            c.in[pair.in].dims == prepared.types[pair.out].dims &&
            c.in[pair.in].dtype == prepared.types[pair.out].dtype;
        if (!same_bytes) continue;
        ASSIGN_OR_RETURN(const std::vector<Bytes> in_place,
                         runner.Run(built, inputs, &pair));
        EXPECT_TRUE(in_place == bits) << "other bits where output " << pair.out
                                      << " overwrites input " << pair.in;
      }
    }
  }
  return absl::OkStatus();
}

BuilderDims ToBuilderDims(const Dims& dims) {
  return BuilderDims(dims.begin(), dims.end());
}

// The case as a model: inputs x0, ..., results y0, ..., and a loss
// sum_k sum(w_k y_k).
proto::Graph ModelOf(const OpCase& c, const Prepared& prepared,
                     const std::vector<int>& loss_outputs) {
  GraphBuilder b("case");
  GraphBuilder::Values in;
  for (size_t i = 0; i < c.in.size(); ++i) {
    const TensorType& type = c.in[i];
    in.push_back(type.present() ? b.Input(absl::StrCat("x", i), type.dtype,
                                          ToBuilderDims(type.dims))
                                : BuilderValue{});
  }
  BuilderAttrs attrs;
  for (const auto& [name, value] : c.attrs.values()) {
    attrs.emplace_back(name, value);
  }
  std::vector<std::string> names;
  for (int i = 0; i < c.num_outputs; ++i) {
    // A workspace has no name in a file.
    const bool hidden = prepared.types[i].dtype == DType::kOpaque;
    names.push_back(hidden ? "" : absl::StrCat("y", i));
  }
  const GraphBuilder::Values out = b.AddMany(c.op, in, attrs, names);
  for (int i = 0; i < c.num_outputs; ++i) {
    if (!names[i].empty()) b.Output(out[i]);
  }
  for (const int k : loss_outputs) {
    const BuilderValue w = b.Input(absl::StrCat("w", k), DType::kF32,
                                   ToBuilderDims(prepared.types[k].dims));
    b.Loss(b.Add("ReduceSum", {b.Add("Mul", {out[k], w})}, {{"keepdims", 0}}));
  }
  return b.graph();
}

std::vector<int> LossOutputs(const OpCase& c, const Prepared& prepared) {
  if (!c.loss_outputs.empty()) return c.loss_outputs;
  std::vector<int> outputs;
  for (int i = 0; i < c.num_outputs; ++i) {
    if (prepared.types[i].dtype == DType::kF32 &&
        !Contains(c.unchecked_outputs, i)) {
      outputs.push_back(i);
    }
  }
  return outputs;
}

// The f32 operands that have a gradient.
std::vector<int> DifferentiableInputs(const OpCase& c,
                                      const Prepared& prepared) {
  std::vector<int> inputs;
  for (size_t i = 0; i < c.in.size(); ++i) {
    const int index = static_cast<int>(i);
    if (c.in[i].dtype == DType::kF32 &&
        !Contains(prepared.op->no_grad_inputs, index)) {
      inputs.push_back(index);
    }
  }
  return inputs;
}

std::vector<std::string> InputNames(const std::vector<int>& inputs) {
  std::vector<std::string> names;
  for (const int i : inputs) names.push_back(absl::StrCat("x", i));
  return names;
}

template <class T>
absl::Status WriteAs(Pass& pass, const std::string& name,
                     const std::vector<double>& data) {
  ASSIGN_OR_RETURN(const absl::Span<T> span, pass.Input<T>(name));
  for (size_t i = 0; i < span.size(); ++i) span[i] = static_cast<T>(data[i]);
  return absl::OkStatus();
}

absl::Status WriteInput(Pass& pass, const std::string& name,
                        const HostTensor& tensor) {
  switch (tensor.type.dtype) {
    case DType::kF32:
      return WriteAs<float>(pass, name, tensor.data);
    case DType::kI32:
      return WriteAs<int32_t>(pass, name, tensor.data);
    case DType::kI64:
      return WriteAs<int64_t>(pass, name, tensor.data);
    case DType::kBool:
      return WriteAs<bool>(pass, name, tensor.data);
    case DType::kU8:
      return WriteAs<uint8_t>(pass, name, tensor.data);
    case DType::kNone:
    case DType::kOpaque:
      break;
  }
  return absl::OkStatus();
}

template <class T>
absl::StatusOr<HostTensor> ReadAs(Pass& pass, const std::string& name,
                                  const TensorType& type) {
  ASSIGN_OR_RETURN(const absl::Span<const T> span, pass.Output<T>(name));
  return HostTensor{type, std::vector<double>(span.begin(), span.end())};
}

absl::StatusOr<HostTensor> ReadOutput(Pass& pass, const std::string& name,
                                      const TensorType& type) {
  switch (type.dtype) {
    case DType::kI32:
      return ReadAs<int32_t>(pass, name, type);
    case DType::kI64:
      return ReadAs<int64_t>(pass, name, type);
    case DType::kBool:
      return ReadAs<bool>(pass, name, type);
    case DType::kU8:
      return ReadAs<uint8_t>(pass, name, type);
    default:
      return ReadAs<float>(pass, name, type);
  }
}

struct GraphResults {
  HostTensors out;        // by output; without data where unchecked
  HostTensors gradients;  // by differentiable input
};

absl::StatusOr<GraphResults> RunGraph(const OpCase& c, const Prepared& prepared,
                                      const HostTensors& inputs,
                                      const HostTensors& weights, int threads) {
  const std::vector<int> loss_outputs =
      c.gradient ? LossOutputs(c, prepared) : std::vector<int>();
  const std::vector<int> wanted =
      c.gradient ? DifferentiableInputs(c, prepared) : std::vector<int>();
  TrainerOptions options;
  options.threads = threads;
  options.source = "case";
  const bool differentiate = !wanted.empty() && !loss_outputs.empty();
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Trainer> runner,
      MakeRunner(ModelOf(c, prepared, loss_outputs),
                 differentiate ? PlanMode::kGradients : PlanMode::kForward,
                 InputNames(wanted), options));
  Pass& pass = runner->next();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].type.present()) continue;
    RETURN_IF_ERROR(WriteInput(pass, absl::StrCat("x", i), inputs[i]));
  }
  for (size_t k = 0; k < loss_outputs.size(); ++k) {
    RETURN_IF_ERROR(
        WriteInput(pass, absl::StrCat("w", loss_outputs[k]), weights[k]));
  }
  RETURN_IF_ERROR(runner->Run(pass));
  GraphResults results;
  for (int i = 0; i < c.num_outputs; ++i) {
    if (prepared.types[i].dtype == DType::kOpaque) {
      results.out.push_back({prepared.types[i], {}});
      continue;
    }
    ASSIGN_OR_RETURN(HostTensor tensor,
                     ReadOutput(pass, absl::StrCat("y", i), prepared.types[i]));
    results.out.push_back(std::move(tensor));
  }
  if (!differentiate) return results;
  for (const int i : wanted) {
    ASSIGN_OR_RETURN(const absl::Span<const float> span,
                     pass.Gradient(absl::StrCat("x", i)));
    results.gradients.push_back(
        {c.in[i], std::vector<double>(span.begin(), span.end())});
  }
  return results;
}

HostTensors RandomWeights(const OpCase& c, const Prepared& prepared,
                          uint64_t seed) {
  CaseRandom random(seed + 1000003);
  HostTensors weights;
  for (const int k : LossOutputs(c, prepared)) {
    HostTensor w{prepared.types[k], {}};
    for (int64_t i = 0; i < w.type.num_elements(); ++i) {
      w.data.push_back(static_cast<float>(random.Real(-1, 1)));
    }
    weights.push_back(std::move(w));
  }
  return weights;
}

double LossOf(const OpCase& c, const Prepared& prepared,
              const HostTensors& inputs, const HostTensors& weights) {
  const HostTensors out = c.definition(inputs, prepared.attrs);
  const std::vector<int> loss_outputs = LossOutputs(c, prepared);
  double loss = 0;
  for (size_t k = 0; k < loss_outputs.size(); ++k) {
    const std::vector<double>& y = out[loss_outputs[k]].data;
    for (size_t i = 0; i < y.size(); ++i) loss += weights[k].data[i] * y[i];
  }
  return loss;
}

absl::Status CheckGraph(const OpCase& c, const Prepared& prepared,
                        const HostTensors& inputs, const HostTensors& weights,
                        const HostTensors& want, uint64_t seed) {
  // Threads alternate: the kernels themselves are run with both above.
  ASSIGN_OR_RETURN(const GraphResults got,
                   RunGraph(c, prepared, inputs, weights,
                            /*threads=*/seed % 2 == 0 ? 1 : 2));
  for (int i = 0; i < c.num_outputs; ++i) {
    if (Contains(c.unchecked_outputs, i)) continue;
    ExpectNear(got.out[i], want[i], c.tolerance,
               absl::StrCat("output ", i, " of the graph"));
  }
  if (got.gradients.empty()) return absl::OkStatus();
  const std::vector<int> wanted = DifferentiableInputs(c, prepared);
  HostTensors moved = inputs;
  for (size_t k = 0; k < wanted.size(); ++k) {
    std::vector<double>& x = moved[wanted[k]].data;
    HostTensor difference{c.in[wanted[k]], {}};
    for (double& element : x) {
      const double kept = element;
      const double h = 1e-5 * std::max(1.0, std::abs(kept));
      element = kept + h;
      const double above = LossOf(c, prepared, moved, weights);
      element = kept - h;
      const double below = LossOf(c, prepared, moved, weights);
      element = kept;
      difference.data.push_back((above - below) / (2 * h));
    }
    ExpectNear(got.gradients[k], difference, c.gradient_tolerance,
               absl::StrCat("gradient of input ", wanted[k]));
  }
  return absl::OkStatus();
}

enum class Part { kForward, kGradient, kBoth };

void CheckParts(const OpCase& c, uint64_t seed, Part part) {
  SCOPED_TRACE(absl::StrCat(CaseText(c), ", seed ", seed));
  const std::unique_ptr<OpTable> table = MakeOpTable();
  const absl::StatusOr<Prepared> prepared = Prepare(c, *table);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const HostTensors inputs = RandomInputs(c, seed);
  const HostTensors want = c.definition(inputs, prepared->attrs);
  ASSERT_GE(static_cast<int>(want.size()), c.num_outputs);
  if (part != Part::kGradient && prepared->op->build != nullptr) {
    const absl::Status status = CheckKernel(c, *prepared, *table, inputs, want);
    ASSERT_TRUE(status.ok()) << status;
  }
  if (part != Part::kForward) {
    const absl::Status status = CheckGraph(
        c, *prepared, inputs, RandomWeights(c, *prepared, seed), want, seed);
    ASSERT_TRUE(status.ok()) << status;
  }
}

}  // namespace

TensorType F32(Dims dims) { return {DType::kF32, std::move(dims)}; }
TensorType I32(Dims dims) { return {DType::kI32, std::move(dims)}; }
TensorType I64(Dims dims) { return {DType::kI64, std::move(dims)}; }

// Not a std distribution: those differ between standard libraries.
int64_t CaseRandom::Int(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(engine_() %
                                    static_cast<uint64_t>(high - low + 1));
}

double CaseRandom::Real(double low, double high) {
  return low + (high - low) * static_cast<double>(engine_() >> 11) /
                   9007199254740992.0;  // 2^53
}

int64_t CaseRandom::Dim() {
  switch (Int(0, 19)) {
    case 0:
      return 0;
    case 1:
      return 67;  // four vectors of 16 floats and a remainder
    case 2:
      return 16;
    case 3:
    case 4:
    case 5:
      return 1;
    default:
      return Int(2, 7);
  }
}

Dims CaseRandom::DimsOfRank(int rank) {
  while (true) {
    Dims dims;
    int64_t product = 1;
    for (int i = 0; i < rank; ++i) {
      dims.push_back(Dim());
      product *= dims.back();
    }
    if (product <= 1000) return dims;
  }
}

Dims CaseRandom::AnyDims(int min_rank, int max_rank) {
  return DimsOfRank(static_cast<int>(Int(min_rank, max_rank)));
}

Dims CaseRandom::Narrowed(const Dims& dims) {
  Dims narrowed(dims.begin() + Int(0, static_cast<int64_t>(dims.size())),
                dims.end());
  for (int64_t& dim : narrowed) {
    if (Int(0, 2) == 0) dim = 1;
  }
  return narrowed;
}

void CheckCase(const OpCase& c, uint64_t seed) {
  CheckParts(c, seed, Part::kBoth);
}
void CheckForward(const OpCase& c, uint64_t seed) {
  CheckParts(c, seed, Part::kForward);
}
void CheckGradient(const OpCase& c, uint64_t seed) {
  CheckParts(c, seed, Part::kGradient);
}

HostTensors RunOp(const OpCase& c, const HostTensors& inputs) {
  const std::unique_ptr<OpTable> table = MakeOpTable();
  const absl::StatusOr<Prepared> prepared = Prepare(c, *table);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  if (!prepared.ok()) return {};
  const KernelRunner runner(c, *prepared, *table);
  const absl::StatusOr<Built> built = runner.Build(RunMode());
  EXPECT_TRUE(built.ok()) << built.status();
  if (!built.ok()) return {};
  const absl::StatusOr<std::vector<Bytes>> bits =
      runner.Run(*built, inputs, /*in_place=*/nullptr);
  EXPECT_TRUE(bits.ok()) << bits.status();
  if (!bits.ok()) return {};
  HostTensors out;
  for (int i = 0; i < c.num_outputs; ++i) {
    out.push_back(Unpack(prepared->types[i], (*bits)[i].data()));
  }
  return out;
}

HostTensors GradientsThroughGraph(const OpCase& c, const HostTensors& inputs,
                                  const HostTensors& weights) {
  const std::unique_ptr<OpTable> table = MakeOpTable();
  const absl::StatusOr<Prepared> prepared = Prepare(c, *table);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  if (!prepared.ok()) return {};
  const absl::StatusOr<GraphResults> results =
      RunGraph(c, *prepared, inputs, weights, /*threads=*/1);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? results->gradients : HostTensors();
}

std::string KeptValues(const OpCase& c, std::vector<int> wanted) {
  const std::unique_ptr<OpTable> table = MakeOpTable();
  const auto kept = [&]() -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const Prepared prepared, Prepare(c, *table));
    if (wanted.empty()) wanted = DifferentiableInputs(c, prepared);
    const proto::Graph model = ModelOf(c, prepared, LossOutputs(c, prepared));
    ASSIGN_OR_RETURN(const Graph graph,
                     LoadGraph(model, *table, Bindings(), "case"));
    StepOptions options;
    options.mode = PlanMode::kGradients;
    options.gradients = InputNames(wanted);
    ASSIGN_OR_RETURN(const StepGraph step,
                     BuildStepGraph(graph, *table, options));
    std::set<std::string> names;
    for (const Node& node : step.graph.nodes) {
      if (node.role != Role::kBackward) continue;
      for (const ValueId v : node.in) {
        if (v == kNoValue) continue;
        const Value& value = step.graph.values[v];
        const bool forward =
            value.producer == kNoNode ||
            step.graph.nodes[value.producer].role == Role::kForward;
        // Weights and losses are the harness's own.
        if (forward && !absl::StartsWith(value.name, "w") &&
            value.kind != ValueKind::kScalar) {
          names.insert(value.name);
        }
      }
    }
    return absl::StrJoin(names, " ");
  }();
  EXPECT_TRUE(kept.ok()) << kept.status();
  return kept.ok() ? *kept : "";
}

void ExpectRefused(absl::string_view op, const std::vector<TensorType>& in,
                   const Attrs& attrs, absl::string_view text) {
  const std::unique_ptr<OpTable> table = MakeOpTable();
  const OpDef* def = table->Find(op);
  ASSERT_NE(def, nullptr) << "no operator " << op;
  absl::StatusOr<Attrs> complete = CompleteAttrs(*def, attrs);
  ASSERT_TRUE(complete.ok()) << complete.status();
  const absl::Status status = InferTypes("n", *def, *complete, in).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "node 'n'")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), op)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), text))
      << status << "\ndoes not contain: " << text;
}

HostTensor MapElements(const HostTensor& x, double (*f)(double)) {
  HostTensor y = x;
  for (double& element : y.data) element = f(element);
  return y;
}

void ForEachIndex(const Dims& dims, const std::function<void(const Dims&)>& f) {
  if (Product(dims) == 0) return;
  Dims index(dims.size(), 0);
  while (true) {
    f(index);
    size_t i = dims.size();
    while (i > 0 && ++index[i - 1] == dims[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

double At(const HostTensor& x, const Dims& index) {
  int64_t at = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    at = at * x.type.dims[i] + index[i];
  }
  return x.data[at];
}

HostTensor FromIndex(TensorType type,
                     const std::function<double(const Dims& index)>& f) {
  HostTensor y{std::move(type), {}};
  ForEachIndex(y.type.dims,
               [&](const Dims& index) { y.data.push_back(f(index)); });
  return y;
}

HostTensor BroadcastElements(const HostTensor& a, const HostTensor& b,
                             const std::function<double(double, double)>& f) {
  const absl::StatusOr<Dims> dims =
      BroadcastDims(a.type.dims, b.type.dims, "test");
  EXPECT_TRUE(dims.ok()) << dims.status();
  const auto at = [](const HostTensor& x, const Dims& index) {
    const size_t skip = index.size() - x.type.dims.size();
    Dims own;
    for (size_t i = 0; i < x.type.dims.size(); ++i) {
      own.push_back(x.type.dims[i] == 1 ? 0 : index[skip + i]);
    }
    return At(x, own);
  };
  return FromIndex({a.type.dtype, *dims}, [&](const Dims& index) {
    return f(at(a, index), at(b, index));
  });
}

}  // namespace reprise
