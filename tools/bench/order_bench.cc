// `planner_bench order`: how much a better order saves.

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status_macros.h"
#include "nlohmann/json.hpp"
#include "planner/order/order.h"
#include "planner/regions.h"
#include "tools/bench/bench.h"
#include "tools/commands/flags.h"
#include "tools/commands/size.h"
#include "tools/commands/text_table.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

struct Row {
  std::string model;
  size_t steps = 0;
  int64_t persistent_bytes = 0;
  Order file;
  Order candidate;  // the best one, without a search
  Order best;
  double candidate_seconds = 0;
  double seconds = 0;
};

// Of the whole peak, what persists included.
int64_t PeakBytes(const Row& row, const Order& order) {
  return row.persistent_bytes + order.peak.bytes;
}

double PercentBelowFile(const Row& row, const Order& order) {
  const double file = static_cast<double>(PeakBytes(row, row.file));
  const double peak = static_cast<double>(PeakBytes(row, order));
  return file == 0 ? 0 : 100 * (file - peak) / file;
}

class OrderBench : public Command {
 public:
  std::string name() const override { return "order"; }
  std::string help() const override {
    return "Compare the peak of a train step in file order with the lowest "
           "found";
  }

  void AddOptions(CLI::App& app) override {
    app.add_option("MODEL", models_, "Graph files: .textproto or .pb")
        ->required();
    app.add_option("--threads", threads_, "Threads; 0: one for each core")
        ->transform(Integer(0, 1024));
    app.add_option("--work-limit", work_limit_,
                   "Operands to look at before each search ends; 0: none")
        ->transform(Integer(0, INT64_MAX));
    config_.Add(app);
    format_.Add(app);
  }

  absl::Status Run(const Console& console) override {
    ASSIGN_OR_RETURN(const proto::TrainConfig config, config_.Read());
    std::vector<Row> rows;
    for (const std::string& model : models_) {
      ASSIGN_OR_RETURN(Row row, Measure(model, config));
      rows.push_back(std::move(row));
    }
    console.out << (format_.json() ? ToJson(rows) : AsTable(rows));
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Row> Measure(const std::string& model,
                              const proto::TrainConfig& config) const {
    ASSIGN_OR_RETURN(const proto::Graph graph, ReadGraphFile(model));
    TrainerOptions options;
    options.threads = threads_;
    options.evaluate = false;
    options.source = model;
    ASSIGN_OR_RETURN(const PlannedTrainer planned,
                     PlanTrainer(graph, config, options));
    const PlannedPass& pass = *planned.plan.passes.front();
    ASSIGN_OR_RETURN(const Regions regions,
                     Regions::Create(pass.step.graph, pass.lowered));
    const TaskGraph tasks = regions.Resolve().tasks;
    OrderOptions order_options;
    Row row;
    row.model = model;
    row.steps = tasks.tasks.size();
    row.persistent_bytes = planned.plan.persistent_bytes;
    ASSIGN_OR_RETURN(row.file,
                     FileOrder(pass.lowered, tasks, order_options.liveness));
    order_options.search_work = 0;
    Clock::time_point start = Clock::now();
    ASSIGN_OR_RETURN(row.candidate,
                     LeastPeakOrder(pass.lowered, tasks, order_options));
    row.candidate_seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    order_options.search_work = work_limit_;
    start = Clock::now();
    ASSIGN_OR_RETURN(row.best,
                     LeastPeakOrder(pass.lowered, tasks, order_options));
    row.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return row;
  }

  static std::string AsTable(const std::vector<Row>& rows) {
    TextTable table({"model", ">steps", ">file order", ">candidates",
                     ">lowest found", ">below file %", ">bound", "proven",
                     "method", ">seconds", ">without search"});
    for (const Row& row : rows) {
      table.AddRow({row.model, absl::StrCat(row.steps),
                    FormatCount(PeakBytes(row, row.file)),
                    FormatCount(PeakBytes(row, row.candidate)),
                    FormatCount(PeakBytes(row, row.best)),
                    absl::StrFormat("%.2f", PercentBelowFile(row, row.best)),
                    FormatCount(row.persistent_bytes + row.best.bound_bytes),
                    row.best.proven ? "yes" : "no", row.best.name,
                    absl::StrFormat("%.3f", row.seconds),
                    absl::StrFormat("%.3f", row.candidate_seconds)});
    }
    return table.ToString();
  }

  static std::string ToJson(const std::vector<Row>& rows) {
    nlohmann::json models = nlohmann::json::array();
    for (const Row& row : rows) {
      models.push_back(
          {{"model", row.model},
           {"steps", row.steps},
           {"persistent_bytes", row.persistent_bytes},
           {"file_peak_bytes", PeakBytes(row, row.file)},
           {"candidate_peak_bytes", PeakBytes(row, row.candidate)},
           {"peak_bytes", PeakBytes(row, row.best)},
           {"percent_below_file", PercentBelowFile(row, row.best)},
           {"bound_bytes", row.persistent_bytes + row.best.bound_bytes},
           {"proven", row.best.proven},
           {"method", row.best.name},
           {"seconds", row.seconds},
           {"seconds_without_search", row.candidate_seconds}});
    }
    const nlohmann::json report = {{"models", models}};
    // A path may be no UTF-8.
    return report.dump(2, ' ', /*ensure_ascii=*/false,
                       nlohmann::json::error_handler_t::replace) +
           "\n";
  }

  std::vector<std::string> models_;
  int threads_ = 0;
  int64_t work_limit_ = OrderOptions().search_work;
  ConfigFlags config_;
  FormatFlag format_;
};

}  // namespace

std::unique_ptr<Command> MakeOrderBench() {
  return std::make_unique<OrderBench>();
}

}  // namespace reprise
