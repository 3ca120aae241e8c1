// `reprise check`: loads, infers and differentiates a model.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status_macros.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/commands/report.h"
#include "tools/commands/size.h"
#include "tools/commands/text_table.h"

namespace reprise {
namespace {

std::string NameOf(const Graph& graph, ValueId value) {
  return value == kNoValue ? "" : graph.values[value].name;
}

std::vector<std::string> Names(const Graph& graph,
                               const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  for (const ValueId value : values) names.push_back(NameOf(graph, value));
  return names;
}

// Trained elements, each counted once.
int64_t NumTrainable(const Graph& graph) {
  int64_t elements = 0;
  for (const Parameter& parameter : graph.parameters) {
    if (!parameter.trainable) continue;
    elements += graph.values[parameter.value].type.num_elements();
  }
  return elements;
}

Json TypedJson(const Graph& graph, ValueId value) {
  return {{"name", graph.values[value].name},
          {"type", ToString(graph.values[value].type)}};
}

Json ToJson(const Graph& graph, int64_t backward_nodes) {
  Json json = {{"name", graph.name}, {"symbols", Json::object()}};
  for (const auto& [name, value] : graph.symbols) json["symbols"][name] = value;
  json["inputs"] = Json::array();
  for (const ValueId input : graph.inputs) {
    json["inputs"].push_back(TypedJson(graph, input));
  }
  json["parameters"] = Json::array();
  for (const Parameter& parameter : graph.parameters) {
    Json entry = TypedJson(graph, parameter.value);
    entry["trainable"] = parameter.trainable;
    json["parameters"].push_back(std::move(entry));
  }
  json["states"] = Json::array();
  for (const State& state : graph.states) {
    Json entry = TypedJson(graph, state.value);
    entry["next"] = NameOf(graph, state.next);
    json["states"].push_back(std::move(entry));
  }
  json["nodes"] = Json::array();
  for (const Node& node : graph.nodes) {
    Json outputs = Json::array();
    for (const ValueId out : node.out) {
      if (out != kNoValue) outputs.push_back(TypedJson(graph, out));
    }
    json["nodes"].push_back(
        {{"name", node.name},
         {"op", node.op->name},
         {"inputs", Names(graph, node.in)},
         {"outputs", std::move(outputs)},
         {"region",
          node.region == kNoRegion ? "" : graph.regions[node.region].name}});
  }
  json["outputs"] = Names(graph, graph.outputs);
  json["losses"] = Json::array();
  for (const Loss& loss : graph.losses) {
    json["losses"].push_back(
        {{"value", NameOf(graph, loss.value)}, {"weight", loss.weight}});
  }
  json["trainable_elements"] = NumTrainable(graph);
  json["backward_nodes"] = backward_nodes;
  return json;
}

std::string ToText(const Graph& graph, int64_t backward_nodes) {
  std::string text = absl::StrCat("model ", graph.name, "\n");
  for (const auto& [name, value] : graph.symbols) {
    absl::StrAppend(&text, "symbol ", name, " = ", value, "\n");
  }
  TextTable sources({"", "value", "type", ""});
  for (const ValueId input : graph.inputs) {
    sources.AddRow({"input", NameOf(graph, input),
                    ToString(graph.values[input].type), ""});
  }
  for (const Parameter& parameter : graph.parameters) {
    sources.AddRow({"parameter", NameOf(graph, parameter.value),
                    ToString(graph.values[parameter.value].type),
                    parameter.trainable ? "" : "not trained"});
  }
  for (const State& state : graph.states) {
    sources.AddRow({"state", NameOf(graph, state.value),
                    ToString(graph.values[state.value].type),
                    absl::StrCat("next: ", NameOf(graph, state.next))});
  }
  if (!sources.empty()) absl::StrAppend(&text, sources.ToString());
  TextTable nodes({"node", "op", "reads", "gives", "region"});
  for (const Node& node : graph.nodes) {
    std::vector<std::string> gives;
    for (const ValueId out : node.out) {
      if (out == kNoValue) continue;
      gives.push_back(absl::StrCat(NameOf(graph, out), " ",
                                   ToString(graph.values[out].type)));
    }
    nodes.AddRow(
        {node.name, node.op->name, absl::StrJoin(Names(graph, node.in), ", "),
         absl::StrJoin(gives, ", "),
         node.region == kNoRegion ? "" : graph.regions[node.region].name});
  }
  if (!nodes.empty()) absl::StrAppend(&text, nodes.ToString());
  for (const ValueId output : graph.outputs) {
    absl::StrAppend(&text, "output ", NameOf(graph, output), "\n");
  }
  for (const Loss& loss : graph.losses) {
    absl::StrAppend(&text, "loss ", NameOf(graph, loss.value), ", weight ",
                    loss.weight, "\n");
  }
  absl::StrAppend(&text, FormatCount(static_cast<int64_t>(graph.nodes.size())),
                  " nodes, ", FormatCount(NumTrainable(graph)),
                  " trained numbers");
  if (!graph.losses.empty()) {
    absl::StrAppend(&text, ", ", FormatCount(backward_nodes),
                    " nodes in the backward pass");
  }
  return text + "\n";
}

class CheckCommand : public Command {
 public:
  std::string name() const override { return "check"; }
  std::string help() const override {
    return "Load, infer and differentiate a model; print the typed graph";
  }
  void AddOptions(CLI::App& app) override {
    model_.Add(app);
    format_.Add(app);
  }

  absl::Status Run(const Console& console) override {
    ASSIGN_OR_RETURN(const ModelSource source, model_.Read(console));
    const proto::Graph& proto = source.graph;
    const std::unique_ptr<OpTable> ops = MakeOpTable();
    ASSIGN_OR_RETURN(const Graph graph,
                     LoadGraph(proto, *ops, model_.symbols(), model_.model));
    int64_t backward_nodes = 0;
    if (!graph.losses.empty()) {
      StepOptions options;
      options.mode = PlanMode::kGradients;
      const absl::StatusOr<StepGraph> step =
          BuildStepGraph(graph, *ops, options);
      if (!step.ok()) {
        return absl::Status(
            step.status().code(),
            absl::StrCat(model_.model, ": ", step.status().message()));
      }
      for (const Node& node : step->graph.nodes) {
        if (node.role == Role::kBackward) ++backward_nodes;
      }
    }
    console.out << (format_.json() ? Dump(ToJson(graph, backward_nodes))
                                   : ToText(graph, backward_nodes));
    return absl::OkStatus();
  }

 private:
  ModelFlags model_;
  FormatFlag format_;
};

}  // namespace

std::unique_ptr<Command> MakeCheckCommand() {
  return std::make_unique<CheckCommand>();
}

}  // namespace reprise
