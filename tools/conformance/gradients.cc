// The weighted sum is taken here, in double, of the outputs as they come out:
// only the rounding of single elements disturbs the differences.

#include "tools/conformance/gradients.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/random.h"
#include "core/status_macros.h"
#include "reprise.h"
#include "tools/conformance/compare.h"
#include "tools/data/pass_arrays.h"

namespace reprise {
namespace {

// Elements of an input that are moved, evenly spread.
constexpr int64_t kMostMoved = 48;

// How far an element moves. Rounding of outputs near 1 is 1e-7, so slopes are
// good to about 1e-4; where outputs are large, and the sum is flat or straight,
// a wider step tells more. A wrong gradient agrees with none. Large elements
// move by some of float32's steps there.
constexpr double kSteps[] = {2e-3, 2e-2, 2e-1};
constexpr double kFewest = 8;
constexpr double kTolerance = 5e-3;

// A jump: the sum changes as much over a step as over one ten times as wide.
constexpr double kSame = 1e-2;

// What moving an element down and up does to the sum, for each unit of it.
struct Slopes {
  double below = 0;
  double above = 0;
};

// Returns whether a derivative can be `claimed`. At a kink, which `may_bend`
// allows, it may be anything between the slopes of both sides.
bool Agrees(double claimed, const Slopes& slopes, bool may_bend) {
  const double low = std::min(slopes.below, slopes.above);
  const double high = std::max(slopes.below, slopes.above);
  // Where both sides agree this is their mean, to second order.
  const double middle = (low + high) / 2;
  const double tolerance =
      kTolerance * (1 + std::max(std::fabs(low), std::fabs(high)));
  if (high - low <= 4 * tolerance) {
    return std::fabs(claimed - middle) <= tolerance;
  }
  // Not a number on both sides, as of a loss over nothing.
  if (std::isnan(middle)) return std::isnan(claimed);
  return may_bend && claimed >= low - tolerance && claimed <= high + tolerance;
}

// Returns whether the sum has no derivative at the element, whatever is
// claimed: the element itself or what is a step beside it is outside of where
// the sum is a number, or the sum jumps there.
bool HasNoDerivative(double x, const Slopes& slopes, const Slopes& wide) {
  if (!std::isfinite(x)) return true;
  if (std::isnan(slopes.below) != std::isnan(slopes.above)) return true;
  const auto jumps = [](double slope, double wide_slope) {
    const double change = std::fabs(slope) * kSteps[0];
    return change > kSame && std::fabs(std::fabs(wide_slope) * kSteps[1] -
                                       change) <= kSame * change;
  };
  return jumps(slopes.below, wide.below) || jumps(slopes.above, wide.above);
}

// Weight of element i of an output: nothing that symmetry could cancel.
float WeightOf(int64_t i) {
  return static_cast<float>(
      0.25 + std::fmod(0.618033988749895 * static_cast<double>(i + 1), 1.0));
}

// Returns whether every node that reads an input does so as an operand without
// a gradient by definition (labels, weights of classes), or none does.
bool IsConstant(const Graph& graph, const std::string& input) {
  const ValueId id = graph.FindValue(input);
  for (const Node& node : graph.nodes) {
    const std::vector<int>& none = node.op->no_grad_inputs;
    for (size_t i = 0; i < node.in.size(); ++i) {
      if (node.in[i] == id && std::find(none.begin(), none.end(),
                                        static_cast<int>(i)) == none.end()) {
        return false;
      }
    }
  }
  return true;
}

// The model with a loss: the weighted sum of its outputs.
struct Differentiable {
  proto::Graph graph;
  std::vector<NamedArray> weights;  // of the model and of the outputs
  std::set<std::string> outputs;    // that are summed
};

absl::StatusOr<Differentiable> AddWeightedSum(const ImportedModel& imported,
                                              const OpTable& ops) {
  Differentiable result;
  result.graph = imported.graph;
  result.weights = imported.weights;
  result.graph.clear_loss();
  ASSIGN_OR_RETURN(const Graph typed, LoadGraph(imported.graph, ops, {}, ""));
  for (const std::string& output : imported.outputs) {
    const ValueId id = typed.FindValue(output);
    if (id == kNoValue) continue;
    const Value& value = typed.values[id];
    const int64_t n = value.type.num_elements();
    if (value.type.dtype != DType::kF32 || n == 0 ||
        value.kind != ValueKind::kComputed) {
      continue;
    }
    result.outputs.insert(output);
    NamedArray weight;
    weight.name = absl::StrCat("conformance/weight.", result.outputs.size());
    weight.array.type = value.type;
    weight.array.data.resize(value.type.bytes());
    for (int64_t i = 0; i < n; ++i) {
      const float w = WeightOf(i);
      std::memcpy(&weight.array.data[i * sizeof(w)], &w, sizeof(w));
    }
    proto::Parameter& parameter = *result.graph.add_parameter();
    parameter.set_name(weight.name);
    parameter.set_trainable(false);
    parameter.mutable_type()->set_dtype(proto::FLOAT32);
    for (const int64_t dim : value.type.dims) {
      parameter.mutable_type()->add_dim()->set_value(dim);
    }
    const std::string product = absl::StrCat(weight.name, ".product");
    proto::Node& mul = *result.graph.add_node();
    mul.set_op("Mul");
    mul.add_input(output);
    mul.add_input(weight.name);
    mul.add_output(product);
    const std::string sum = absl::StrCat(weight.name, ".sum");
    proto::Node& reduce = *result.graph.add_node();
    reduce.set_op("ReduceSum");
    reduce.add_input(product);
    reduce.add_output(sum);
    proto::Attribute& keepdims = *reduce.add_attribute();
    keepdims.set_name("keepdims");
    keepdims.set_i(0);
    result.graph.add_loss()->set_value(sum);
    result.weights.push_back(std::move(weight));
  }
  return result;
}

double WeightedSum(const std::vector<PassResult>& results,
                   const std::set<std::string>& outputs) {
  double sum = 0;
  for (const PassResult& result : results) {
    if (result.gradient || outputs.count(result.name) == 0) continue;
    for (int64_t i = 0; i < result.array.type.num_elements(); ++i) {
      sum +=
          static_cast<double>(WeightOf(i)) * ElementAsDouble(result.array, i);
    }
  }
  return sum;
}

}  // namespace

absl::StatusOr<std::string> CompareGradients(const ImportedModel& imported,
                                             const std::vector<Array>& inputs,
                                             const OpTable& ops) {
  ASSIGN_OR_RETURN(const Differentiable model, AddWeightedSum(imported, ops));
  if (model.outputs.empty()) {
    return absl::UnimplementedError("no output to differentiate");
  }
  ASSIGN_OR_RETURN(const Graph typed, LoadGraph(imported.graph, ops, {}, ""));
  std::vector<size_t> moved;
  std::vector<std::string> names;
  for (size_t i = 0; i < imported.inputs.size(); ++i) {
    if (imported.inputs[i].empty() || inputs[i].type.dtype != DType::kF32 ||
        inputs[i].type.num_elements() == 0 ||
        IsConstant(typed, imported.inputs[i])) {
      continue;
    }
    moved.push_back(i);
    names.push_back(imported.inputs[i]);
  }
  if (names.empty()) return absl::UnimplementedError("no input to move");
  TrainerOptions options;
  options.threads = 1;
  absl::StatusOr<std::unique_ptr<Trainer>> made =
      MakeRunner(model.graph, PlanMode::kGradients, names, options);
  if (!made.ok()) return absl::UnimplementedError(made.status().message());
  Trainer& runner = **made;
  ImportedModel weights;
  weights.weights = model.weights;
  RETURN_IF_ERROR(SetWeights(weights, runner));
  ASSIGN_OR_RETURN(Pass* const pass, runner.Find(PlanMode::kGradients));
  std::vector<Array> content = inputs;
  const auto run = [&]() -> absl::StatusOr<std::vector<PassResult>> {
    RETURN_IF_ERROR(WriteInputs(imported, content, *pass));
    RETURN_IF_ERROR(runner.Run(*pass));
    return ReadResults(*pass);
  };
  ASSIGN_OR_RETURN(const std::vector<PassResult> at_point, run());
  const double here = WeightedSum(at_point, model.outputs);
  // NaN is one: a loss over nothing has a gradient that is NaN too.
  if (std::isinf(here)) return absl::UnimplementedError("outputs are infinite");
  for (const size_t input : moved) {
    const Array* gradient = nullptr;
    for (const PassResult& result : at_point) {
      if (result.gradient && result.name == imported.inputs[input]) {
        gradient = &result.array;
      }
    }
    REPRISE_CHECK(gradient != nullptr);
    const int64_t n = inputs[input].type.num_elements();
    const int64_t stride = std::max<int64_t>(1, n / kMostMoved);
    for (int64_t i = 0; i < n; i += stride) {
      const double x = ElementAsDouble(inputs[input], i);
      const double spacing =
          std::nextafter(std::fabs(static_cast<float>(x)), INFINITY) -
          std::fabs(static_cast<float>(x));
      const auto slope = [&](double to) -> absl::StatusOr<double> {
        const float moved_to = static_cast<float>(to);
        std::memcpy(&content[input].data[i * sizeof(float)], &moved_to,
                    sizeof(float));
        ASSIGN_OR_RETURN(const std::vector<PassResult> there, run());
        content[input].data = inputs[input].data;
        return (WeightedSum(there, model.outputs) - here) /
               (static_cast<double>(moved_to) - x);
      };
      const double claimed = ElementAsDouble(*gradient, i);
      Slopes slopes;
      std::vector<Slopes> tried;
      bool agrees = false;
      for (const double step : kSteps) {
        const double distance = std::max(step, kFewest * spacing);
        ASSIGN_OR_RETURN(slopes.above, slope(x + distance));
        ASSIGN_OR_RETURN(slopes.below, slope(x - distance));
        // Over a wide step much bends that has a derivative.
        agrees = Agrees(claimed, slopes, /*may_bend=*/step == kSteps[0]);
        if (agrees) break;
        tried.push_back(slopes);
      }
      if (agrees || HasNoDerivative(x, tried[0], tried[1])) continue;
      return absl::StrFormat(
          "gradient of input %d at %d is %.6g, slopes are %.6g and %.6g", input,
          i, claimed, slopes.below, slopes.above);
    }
  }
  return std::string();
}

}  // namespace reprise
