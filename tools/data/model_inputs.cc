#include "tools/data/model_inputs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

// Returns, for each value, the input that it is a view of, or itself.
std::vector<ValueId> ViewRoots(const Graph& graph) {
  std::vector<ValueId> roots(graph.values.size());
  for (size_t i = 0; i < roots.size(); ++i) {
    roots[i] = static_cast<ValueId>(i);
  }
  for (const Node& node : graph.nodes) {
    if (node.op->is_view) roots[node.out[0]] = roots[node.in[0]];
  }
  return roots;
}

bool IsClassLoss(const Node& node) {
  return node.op->name == "SoftmaxCrossEntropyLoss";
}

// Intersects the input's range with [low, high).
void Narrow(int64_t low, int64_t high, ModelInput& input) {
  input.low = std::max(input.low, low);
  input.high = std::min(input.high, high);
}

}  // namespace

absl::StatusOr<std::vector<ModelInput>> ModelInputs(const Graph& graph) {
  std::vector<ModelInput> inputs;
  std::vector<int> index_of(graph.values.size(), -1);
  for (const ValueId value : graph.inputs) {
    ModelInput input;
    input.name = graph.values[value].name;
    input.type = graph.values[value].type;
    if (input.type.rank() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", input.name,
          "': dim 0 must count the rows of a batch, got a scalar"));
    }
    if (!inputs.empty() && inputs[0].type.dims[0] != input.type.dims[0]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "inputs '", inputs[0].name, "' and '", input.name,
          "': dim 0 must count the rows of a batch, got ",
          ToString(inputs[0].type), " and ", ToString(input.type)));
    }
    index_of[value] = static_cast<int>(inputs.size());
    inputs.push_back(std::move(input));
  }

  const std::vector<ValueId> roots = ViewRoots(graph);
  for (const Node& node : graph.nodes) {
    if (node.in.size() < 2 || node.in[1] == kNoValue) continue;
    const int index = index_of[roots[node.in[1]]];
    if (index < 0) continue;
    ModelInput& input = inputs[index];
    const Dims& dims = graph.values[node.in[0]].type.dims;
    if (IsClassLoss(node)) {
      input.is_label = true;
      Narrow(0, dims[1], input);
      if (node.attrs.Has("ignore_index")) {
        input.has_ignored = true;
        input.ignored = node.attrs.Int("ignore_index");
      }
    } else if (node.op->name == "Gather") {
      const int64_t axis = node.attrs.Int("axis");
      const int64_t size =
          dims[axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis];
      Narrow(-size, size, input);
    }
  }
  return inputs;
}

ScoresAndLabels FindScoresAndLabels(const Graph& graph) {
  const std::vector<ValueId> roots = ViewRoots(graph);
  ScoresAndLabels found;
  int losses = 0;
  for (const Node& node : graph.nodes) {
    if (!IsClassLoss(node)) continue;
    ++losses;
    const auto output =
        std::find(graph.outputs.begin(), graph.outputs.end(), node.in[0]);
    const auto input =
        std::find(graph.inputs.begin(), graph.inputs.end(), roots[node.in[1]]);
    if (output == graph.outputs.end() || input == graph.inputs.end() ||
        graph.values[node.in[0]].type.rank() != 2) {
      continue;
    }
    found.output = static_cast<int>(output - graph.outputs.begin());
    found.input = static_cast<int>(input - graph.inputs.begin());
    if (node.attrs.Has("ignore_index")) {
      found.has_ignored = true;
      found.ignored = node.attrs.Int("ignore_index");
    }
  }
  return losses == 1 ? found : ScoresAndLabels();
}

}  // namespace reprise
