#include "tests/testing/graph_check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/graph_builder.h"
#include "core/status_macros.h"
#include "reprise.h"
#include "tests/testing/case_random.h"

namespace reprise {
namespace {

BuilderDims ToBuilderDims(const Dims& dims) {
  return BuilderDims(dims.begin(), dims.end());
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

HostTensors RandomWeights(const OpCase& c, const PreparedCase& prepared,
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

double LossOf(const OpCase& c, const PreparedCase& prepared,
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

}  // namespace

proto::Graph ModelOf(const OpCase& c, const PreparedCase& prepared,
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

std::vector<std::string> InputNames(const std::vector<int>& inputs) {
  std::vector<std::string> names;
  for (const int i : inputs) names.push_back(absl::StrCat("x", i));
  return names;
}

absl::StatusOr<GraphResults> RunGraph(const OpCase& c,
                                      const PreparedCase& prepared,
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

absl::Status CheckGraph(const OpCase& c, const PreparedCase& prepared,
                        const HostTensors& inputs, const HostTensors& want,
                        uint64_t seed) {
  const HostTensors weights = RandomWeights(c, prepared, seed);
  // Threads alternate: the kernels themselves are run with both above.
  ASSIGN_OR_RETURN(const GraphResults got,
                   RunGraph(c, prepared, inputs, weights,
                            /*threads=*/seed % 2 == 0 ? 1 : 2));
  for (int i = 0; i < c.num_outputs; ++i) {
    if (!IsChecked(c, i)) continue;
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

}  // namespace reprise
