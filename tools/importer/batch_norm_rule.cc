#include "tools/importer/batch_norm_rule.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "tools/importer/fold.h"

namespace reprise {
namespace {

bool Trains(const Attrs& attrs) {
  const auto mode = attrs.values().find("training_mode");
  return mode != attrs.values().end() && mode->second == AttrValue(int64_t{1});
}

// Adds what a running statistic becomes: momentum times what it was, plus the
// rest of the batch's. Without a name in the model, `output` is a new value.
absl::Status AddRunning(GraphImporter& graph, const ImportNode& node,
                        ImportId batch, ImportId running, float momentum,
                        ImportId output) {
  const ImportId old_part = graph.AddConstant(node, ScalarOfFloat(momentum));
  const ImportId new_part =
      graph.AddConstant(node, ScalarOfFloat(1.0f - momentum));
  ASSIGN_OR_RETURN(const ImportId kept,
                   graph.AddNode(node, "Mul", {running, old_part}, {}));
  ASSIGN_OR_RETURN(const ImportId added,
                   graph.AddNode(node, "Mul", {batch, new_part}, {}));
  if (output == kAbsent) {
    ASSIGN_OR_RETURN(output, graph.AddNode(node, "Add", {kept, added}, {}));
  } else {
    RETURN_IF_ERROR(graph.AddNamed(node, "Add", {kept, added}, {}, output));
  }
  graph.SetNext(running, output);
  return absl::OkStatus();
}

// Running statistics are results like others, computed from the batch. `all`:
// both, whether the model names them or not.
absl::Status AddRunningStatistics(GraphImporter& graph, bool all,
                                  ImportNode& node) {
  node.out.resize(3, kAbsent);
  const ImportId mean_out = node.out[1];
  const ImportId variance_out = node.out[2];
  node.out.resize(1);
  if (!all && mean_out == kAbsent && variance_out == kAbsent) {
    return absl::OkStatus();
  }
  if (node.in.size() != 5 ||
      std::find(node.in.begin(), node.in.end(), kAbsent) != node.in.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("takes 5 inputs, got ", node.in.size()));
  }
  Ints axes(std::max(graph.value(node.in[0]).type.rank(), 1));
  std::iota(axes.begin(), axes.end(), 0);
  if (axes.size() > 1) axes.erase(axes.begin() + 1);
  const Attrs keep = {{"axes", axes}, {"keepdims", int64_t{1}}};
  const Attrs drop = {{"axes", axes}, {"keepdims", int64_t{0}}};
  const ImportId x = node.in[0];
  ASSIGN_OR_RETURN(const ImportId mean,
                   graph.AddNode(node, "ReduceMean", {x}, drop));
  ASSIGN_OR_RETURN(const ImportId centre,
                   graph.AddNode(node, "ReduceMean", {x}, keep));
  ASSIGN_OR_RETURN(const ImportId distance,
                   graph.AddNode(node, "Sub", {x, centre}, {}));
  ASSIGN_OR_RETURN(const ImportId square,
                   graph.AddNode(node, "Mul", {distance, distance}, {}));
  ASSIGN_OR_RETURN(const ImportId variance,
                   graph.AddNode(node, "ReduceMean", {square}, drop));
  const float momentum =
      node.attrs.Has("momentum") ? node.attrs.Float("momentum") : 0.9f;
  if (all || mean_out != kAbsent) {
    RETURN_IF_ERROR(
        AddRunning(graph, node, mean, node.in[3], momentum, mean_out));
  }
  if (!all && variance_out == kAbsent) return absl::OkStatus();
  return AddRunning(graph, node, variance, node.in[4], momentum, variance_out);
}

}  // namespace

absl::Status RuleBatchNormalization(GraphImporter& graph, ImportNode& node) {
  for (size_t i = 3; i < node.out.size(); ++i) {
    if (node.out[i] != kAbsent) {
      return absl::InvalidArgumentError(absl::StrCat(
          "unsupported result ", i, ": the batch's own statistics"));
    }
  }
  if (graph.version() < 14) {
    const bool trains = node.out.size() > 1 && node.out[1] != kAbsent;
    node.attrs.Set("training_mode", int64_t{trains});
  }
  for (size_t i = 3; i < node.in.size(); ++i) graph.Freeze(node.in[i]);
  if (Trains(node.attrs)) {
    graph.SetTrainingMode();
    return AddRunningStatistics(graph, /*all=*/false, node);
  }
  if (graph.options().train_batch_norm) {
    node.attrs.Set("training_mode", int64_t{1});
    return AddRunningStatistics(graph, /*all=*/true, node);
  }
  while (node.out.size() > 1 && node.out.back() == kAbsent) {
    node.out.pop_back();
  }
  return absl::OkStatus();
}

}  // namespace reprise
