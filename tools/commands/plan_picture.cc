#include "tools/commands/plan_picture.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/check_plan.h"
#include "core/status_macros.h"
#include "tools/commands/html.h"
#include "tools/commands/plan_picture_script.h"
#include "tools/commands/size.h"

namespace reprise {
namespace {

// The classes of BytesByClass, in its order.
enum Class : int {
  kParameters,
  kGradients,
  kOptimizerState,
  kState,
  kInputs,
  kResiduals,
  kTemporaries,
  kWorkspaces,
  kScratchpads,
};

struct ClassLook {
  const char* name;
  const char* color;
};

// Told apart by people who see fewer colours, too: neighbours differ in
// lightness.
constexpr ClassLook kClasses[] = {
    {"parameters", "#8795a4"},      {"gradients", "#e8743b"},
    {"optimizer_state", "#bcc6d0"}, {"state", "#5d6b7a"},
    {"inputs", "#2f9e6e"},          {"residuals", "#2f6fbf"},
    {"temporaries", "#9fcdf2"},     {"workspaces", "#8e5bb5"},
    {"scratchpads", "#e9c341"},
};

int PersistentClass(ValueKind kind) {
  switch (kind) {
    case ValueKind::kParameter:
      return kParameters;
    case ValueKind::kSlot:
      return kOptimizerState;
    case ValueKind::kAccumulator:
      return kGradients;
    default:
      return kState;
  }
}

// Finds the class of each content of a pass: a value, and the step that writes
// it. Agrees with what the planner says of the peak step.
class ContentClasses {
 public:
  explicit ContentClasses(const PlannedPass& pass)
      : graph_(pass.lowered), latest_(graph_.values.size(), -1) {
    for (size_t s = 0; s < pass.plan.steps.size(); ++s) Read(pass.plan, s);
    for (const Operand& result : pass.plan.results) {
      if (result.value >= 0) NoteGradient(result.value);
    }
  }

  // begin: the step that writes it.
  int Of(LoweredValueId v, int32_t begin) const {
    const LoweredValue& value = graph_.values[v];
    if (IsPersistent(value.kind)) return PersistentClass(value.kind);
    if (value.kind == ValueKind::kInput) return kInputs;
    if (value.workspace) return kWorkspaces;
    const auto it = class_of_.find({v, begin});
    return it == class_of_.end() ? kTemporaries : it->second;
  }

 private:
  void Read(const Plan& plan, size_t s) {
    const Step& step = plan.steps[s];
    const LoweredNode& node = graph_.nodes[step.node];
    const bool is_late = node.role == Role::kBackward || step.run > 0;
    for (const Operand& in : step.in) {
      if (in.value < 0) continue;
      if (node.role == Role::kUpdate) NoteGradient(in.value);
      if (is_late) NoteResidual(plan, in.value);
    }
    for (const Operand& out : step.out) {
      if (out.value >= 0) latest_[out.value] = static_cast<int32_t>(s);
    }
  }

  void NoteGradient(LoweredValueId v) {
    if (latest_[v] < 0) return;
    const LoweredNodeId producer = graph_.values[v].producer;
    if (graph_.nodes[producer].role == Role::kBackward) {
      class_of_[{v, latest_[v]}] = kGradients;
    }
  }

  // A residual is what a forward node's first run leaves.
  void NoteResidual(const Plan& plan, LoweredValueId v) {
    if (latest_[v] < 0) return;
    const Step& writer = plan.steps[latest_[v]];
    if (writer.run > 0 || graph_.nodes[writer.node].role != Role::kForward) {
      return;
    }
    class_of_[{v, latest_[v]}] = kResiduals;
  }

  const LoweredGraph& graph_;
  std::vector<int32_t> latest_;  // by value: the step that wrote it last
  std::map<std::pair<LoweredValueId, int32_t>, int> class_of_;
};

std::string NameOf(const PlannedPass& pass, const LiveRange& range) {
  if (range.value < 0) {
    const Step& step = pass.plan.steps[range.begin];
    return absl::StrCat("scratchpad of ", pass.lowered.nodes[step.node].name);
  }
  const LoweredValue& value = pass.lowered.values[range.value];
  const LoweredValue& root = pass.lowered.values[value.copy_of];
  if (root.logical.empty()) {
    return root.producer < 0
               ? absl::StrCat("value ", range.value)
               : absl::StrCat(value.workspace ? "workspace of " : "value of ",
                              pass.lowered.nodes[root.producer].name);
  }
  const std::string& name = pass.step.graph.values[root.logical[0]].name;
  return value.copy_of == range.value ? name
                                      : absl::StrCat(name, ", reordered");
}

std::string Fact(const std::string& what, const std::string& number,
                 const std::string& remark = "") {
  return absl::StrCat("<div><span>", EscapeHtml(what), "</span><b>",
                      EscapeHtml(number), "</b><span>", EscapeHtml(remark),
                      "</span></div>\n");
}

std::string LegendLine(const char* color, const char* style,
                       const std::string& text) {
  return absl::StrCat("<span><i class=\"line\" style=\"border-top:2px ", style,
                      " ", color, "\"></i>", text, "</span>\n");
}

}  // namespace

absl::StatusOr<Json> PlanPictureData(const TrainerPlan& plan,
                                     const PlannedPass& pass) {
  ASSIGN_OR_RETURN(const PlanFacts facts, CheckPlan(pass.lowered, pass.plan));
  const ContentClasses classes(pass);
  const size_t num_steps = pass.plan.steps.size();
  Json json = {{"classes", Json::array()},
               {"persistent_bytes", pass.plan.persistent_bytes},
               {"arena_bytes", plan.arena_bytes},
               {"end_bytes", pass.plan.end_bytes},
               {"peak_live_bytes", pass.plan.peak_live_bytes},
               {"peak_step", pass.plan.peak_step},
               {"nodes", Json::array()},
               {"roles", Json::array()},
               {"steps", Json::array()},
               {"live", Json::array()},
               {"names", Json::array()},
               {"buffers", Json::array()}};
  for (const ClassLook& look : kClasses) {
    json["classes"].push_back({{"name", look.name}, {"color", look.color}});
  }
  for (const int c : {kState, kResiduals, kWorkspaces, kInputs}) {
    json["classes"][c]["dark"] = true;
  }
  for (const LoweredNode& node : pass.lowered.nodes) {
    json["nodes"].push_back(node.name);
    json["roles"].push_back(static_cast<int>(node.role));
  }
  for (const Step& step : pass.plan.steps) {
    json["steps"].push_back({step.node, step.run});
  }
  std::vector<int64_t> change(num_steps + 1, 0);
  std::map<std::string, size_t> index_of;
  for (const LiveRange& range : facts.ranges) {
    if (range.bytes == 0) continue;
    const int64_t bytes = AlignUp(range.bytes);
    change[range.begin] += bytes;
    change[range.end] -= bytes;
    const std::string name = NameOf(pass, range);
    const auto [it, is_new] = index_of.emplace(name, index_of.size());
    if (is_new) json["names"].push_back(name);
    const int what =
        range.value < 0 ? kScratchpads : classes.Of(range.value, range.begin);
    json["buffers"].push_back(
        {it->second, what, range.offset, bytes, range.begin, range.end});
  }
  int64_t live = 0;
  for (size_t s = 0; s < num_steps; ++s) {
    live += change[s];
    json["live"].push_back(live);
  }
  return json;
}

absl::StatusOr<std::string> PlanPicture(const std::string& model,
                                        const PlannedTrainer& planned) {
  const PlannedPass& pass = *planned.plan.passes.front();
  const PlanReport& report = planned.reports.front();
  ASSIGN_OR_RETURN(const Json data, PlanPictureData(planned.plan, pass));
  std::string body = absl::StrCat("<h1>Plan of ", EscapeHtml(model),
                                  "</h1>\n<p class=\"dim\">");
  for (const auto& [name, value] : pass.model.symbols) {
    absl::StrAppend(&body, EscapeHtml(name), " = ", value, ", ");
  }
  const int64_t gap = pass.plan.end_bytes - pass.plan.peak_live_bytes;
  absl::StrAppend(
      &body, "pass: ", ModeName(pass.mode), "</p>\n<div class=\"facts\">\n",
      Fact("arena", FormatSize(planned.plan.arena_bytes),
           absl::StrCat(FormatCount(planned.plan.arena_bytes), " bytes")),
      Fact("lower bound", FormatSize(pass.plan.peak_live_bytes),
           gap == 0 ? "no placement needs less"
                    : absl::StrFormat("this pass has %s, %.2f %% more",
                                      FormatSize(gap),
                                      100.0 * gap / pass.plan.peak_live_bytes)),
      Fact("working set", FormatSize(pass.plan.working_set_bytes),
           "no schedule needs less"),
      Fact("persistent", FormatSize(planned.plan.persistent_bytes),
           "parameters, optimizer, state"),
      Fact(
          "steps", FormatCount(static_cast<int64_t>(pass.plan.steps.size())),
          absl::StrCat(FormatCount(report.recomputed_steps), " of them again")),
      Fact("added cost",
           absl::StrFormat("%.1f %%", 100 * RecomputeCostFraction(report)),
           FormatNanoseconds(report.recompute_cost_nanoseconds)),
      Fact("buffers", FormatCount(static_cast<int64_t>(data["buffers"].size())),
           "rectangles"),
      "</div>\n<div class=\"legend\">\n");
  const Json at_peak = BytesByClassJson(report.bytes_by_class);
  for (const ClassLook& look : kClasses) {
    absl::StrAppend(&body, "<span><i style=\"background:", look.color,
                    "\"></i>", EscapeHtml(look.name), " <span class=\"dim\">",
                    FormatSize(at_peak[look.name].get<int64_t>()),
                    " at the peak</span></span>\n");
  }
  absl::StrAppend(
      &body, "</div>\n<div class=\"legend\">\n",
      LegendLine("#111", "solid", "bytes alive"),
      LegendLine("#c4221f", "dashed", "lower bound, and the peak step"),
      LegendLine("#1d2733", "solid", "end of this pass"),
      planned.plan.arena_bytes > pass.plan.end_bytes
          ? LegendLine("#8795a4", "dotted", "arena: another pass needs more")
          : "",
      "<span><i style=\"background:#c9d3dc\"></i>forward</span>\n"
      "<span><i style=\"background:#7b8a99\"></i>backward</span>\n"
      "<span><i style=\"background:#3f4c59\"></i>update</span>\n"
      "<span><i style=\"background:#d6216b\"></i>step that runs again</span>\n"
      "</div>\n<div id=\"frame\"><canvas id=\"picture\"></canvas><div "
      "id=\"tip\"></div>"
      "</div>\n<div class=\"tools\"><button id=\"whole\">whole step</button>"
      "<label><input type=\"checkbox\" id=\"to-scale\"> persistent segment to "
      "scale"
      "</label><span id=\"range\"></span><span class=\"dim\">drag a box "
      "or turn the wheel to "
      "look closer, double-click for all</span></div>\n"
      "<noscript><p>The picture is drawn by a script.</p></noscript>\n"
      "<script type=\"application/json\" id=\"plan\">",
      JsonInScript(data), "</script>\n<script>", kPlanPictureScript,
      "</script>\n");
  return HtmlPage(absl::StrCat("Plan of ", model), kPlanPictureStyle, body);
}

}  // namespace reprise
