#include "tools/commands/report.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/commands/size.h"
#include "tools/commands/text_table.h"

namespace reprise {
namespace {

std::vector<std::pair<const char*, int64_t>> Classes(
    const BytesByClass& bytes) {
  return {{"parameters", bytes.parameters},
          {"gradients", bytes.gradients},
          {"optimizer_state", bytes.optimizer_state},
          {"state", bytes.state},
          {"inputs", bytes.inputs},
          {"residuals", bytes.residuals},
          {"temporaries", bytes.temporaries},
          {"workspaces", bytes.workspaces},
          {"scratchpads", bytes.scratchpads}};
}

std::string ReplayedText(const RegionReport& region) {
  return absl::StrJoin(region.replayed, ", ",
                       [](std::string* out, const auto& entry) {
                         absl::StrAppend(out, entry.second, " ", entry.first);
                       });
}

}  // namespace

Json ResidualsJson(const PlanReport& report) {
  Json residuals = Json::array();
  for (const Residual& residual : report.residuals) {
    residuals.push_back({{"value", residual.value},
                         {"type", ToString(residual.type)},
                         {"bytes", residual.bytes},
                         {"producer", residual.producer},
                         {"producer_op", residual.producer_op},
                         {"readers", residual.readers},
                         {"region", residual.region},
                         {"reason", residual.reason},
                         {"workspace", residual.workspace}});
  }
  return residuals;
}

Json RegionsJson(const PlanReport& report) {
  Json regions = Json::array();
  for (const RegionReport& region : report.regions) {
    Json replayed = Json::object();
    for (const auto& [op, times] : region.replayed) replayed[op] = times;
    regions.push_back(
        {{"name", region.name},
         {"policy", region.policy},
         {"bytes_avoided", region.bytes_avoided},
         {"peak_bytes_avoided", region.peak_bytes_avoided},
         {"steps_replayed", region.steps_replayed},
         {"replay_cost_nanoseconds", region.replay_cost_nanoseconds},
         {"replayed", std::move(replayed)},
         {"verdict", ToString(region.verdict)}});
  }
  return regions;
}

Json BytesByClassJson(const BytesByClass& bytes) {
  Json json = Json::object();
  for (const auto& [name, count] : Classes(bytes)) json[name] = count;
  return json;
}

std::string ResidualsText(const PlanReport& report) {
  TextTable table({"residual", "type", ">bytes", "producer",
                   "read by the "
                   "gradient of",
                   "region", "why"});
  for (const Residual& residual : report.residuals) {
    table.AddRow(
        {residual.value, ToString(residual.type), FormatCount(residual.bytes),
         residual.producer.empty()
             ? "-"
             : absl::StrCat(residual.producer, " (", residual.producer_op, ")"),
         absl::StrJoin(residual.readers, ", "),
         residual.region.empty() ? "-" : residual.region, residual.reason});
  }
  if (table.empty()) return "No residuals.\n";
  return absl::StrCat(table.ToString(), report.residuals.size(), " residuals, ",
                      FormatSize(ResidualBytes(report)), " (",
                      FormatCount(ResidualBytes(report)), " bytes)\n");
}

std::string RegionsText(const PlanReport& report) {
  TextTable table({"region", "policy", ">residual bytes", ">peak bytes",
                   ">steps", "replayed", ">cost", "verdict"});
  for (const RegionReport& region : report.regions) {
    table.AddRow({region.name, region.policy,
                  FormatCount(-region.bytes_avoided),
                  FormatCount(-region.peak_bytes_avoided),
                  absl::StrCat(region.steps_replayed),
                  region.replayed.empty() ? "-" : ReplayedText(region),
                  FormatNanoseconds(region.replay_cost_nanoseconds),
                  ToString(region.verdict)});
  }
  if (table.empty()) return "No regions.\n";
  return table.ToString();
}

std::string BytesByClassText(const BytesByClass& bytes) {
  int64_t total = 0;
  for (const auto& [name, count] : Classes(bytes)) total += count;
  TextTable table({"at the peak", ">size", ">bytes", ">share"});
  for (const auto& [name, count] : Classes(bytes)) {
    if (count == 0) continue;
    table.AddRow({name, FormatSize(count), FormatCount(count),
                  absl::StrFormat("%.1f %%", 100.0 * count / total)});
  }
  return table.ToString();
}

int64_t ResidualBytes(const PlanReport& report) {
  int64_t bytes = 0;
  for (const Residual& residual : report.residuals) bytes += residual.bytes;
  return bytes;
}

double RecomputeCostFraction(const PlanReport& report) {
  if (report.cost_nanoseconds == 0) return 0;
  return static_cast<double>(report.recompute_cost_nanoseconds) /
         static_cast<double>(report.cost_nanoseconds);
}

std::string ModeName(PlanMode mode) {
  switch (mode) {
    case PlanMode::kTrain:
      return "train";
    case PlanMode::kTrainAccumulate:
      return "train_accumulate";
    case PlanMode::kEvaluate:
      return "evaluate";
    case PlanMode::kForward:
      return "forward";
    case PlanMode::kGradients:
      return "gradients";
  }
  return "";
}

std::string Dump(const Json& json) {
  return json.dump(/*indent=*/2, /*indent_char=*/' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace) +
         "\n";
}

}  // namespace reprise
