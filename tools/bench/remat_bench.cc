// `planner_bench remat`: plans what to compute again in instance files.

#include <algorithm>
#include <chrono>
#include <cmath>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "core/file.h"
#include "core/status_macros.h"
#include "nlohmann/json.hpp"
#include "planner/remat/remat.h"
#include "planner/remat/remat_model.h"
#include "tools/bench/bench.h"
#include "tools/bench/remat_file.h"
#include "tools/commands/flags.h"
#include "tools/commands/output_file.h"
#include "tools/commands/text_table.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

// More than planning spends: here the search is what is measured. Graphs of
// some hundred nodes are worth a long search; for larger ones it grows with
// them.
int64_t DefaultWork(int64_t num_nodes) {
  if (num_nodes < 1000) return 1'500'000'000;
  return std::max<int64_t>(150'000'000, 20'000 * num_nodes);
}

struct Row {
  std::string file;
  int64_t num_nodes = 0;
  int64_t base_cost = 0;
  int64_t kept_bytes = 0;   // peak of the given order, everything kept
  int64_t bound_bytes = 0;  // the largest working set of one node
  int64_t budget_bytes = 0;
  RematResult result;
  double seconds = 0;
};

double Percent(int64_t part, int64_t whole) {
  return whole == 0
             ? 0
             : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

class RematBench : public Command {
 public:
  std::string name() const override { return "remat"; }
  std::string help() const override {
    return "Find the least recomputation with which a graph fits a budget";
  }

  void AddOptions(CLI::App& app) override {
    app.add_option("FILE", files_,
                   "Text: a line 'n m', the nodes' costs, their bytes, then m "
                   "lines 'u v': v reads u; the last node is the goal")
        ->required();
    CLI::Option* const budget =
        app.add_option("--budget", budget_bytes_, "Bytes")
            ->transform(Integer(0, INT64_MAX));
    app.add_option("--budget-fraction", budget_fraction_,
                   "Of the peak of the given order with everything kept")
        ->check(PositiveNumber(1e6))
        ->excludes(budget);
    app.add_flag("--in-place", in_place_,
                 "An operand that dies may be overwritten by a result of as "
                 "many bytes");
    app.add_flag("--fixed-order", fixed_order_,
                 "First runs keep the order of the file");
    app.add_option("--work-limit", work_limit_,
                   "Operands to look at before the search ends")
        ->transform(Integer(1, INT64_MAX));
    app.add_flag("--no-equal-blocks", no_equal_blocks_,
                 "Do not recognise equal blocks, to measure what it gains");
    app.add_option(
        "--out", out_,
        "Write a node a line in execution order here, and '-n' where "
        "the value of node n is dropped, for one FILE");
    format_.Add(app);
    app.callback([this] {
      if (out_.empty() || files_.size() == 1) return;
      throw CLI::ValidationError(
          "--out", absl::StrCat("takes one FILE, got ", files_.size()));
    });
  }

  absl::Status Run(const Console& console) override {
    RETURN_IF_ERROR(CheckWritable(out_));
    std::vector<Row> rows;
    absl::Status status;
    for (const std::string& path : files_) {
      const absl::StatusOr<std::string> content = ReadFile(path, kMaxFileBytes);
      if (!content.ok()) return content.status();
      ASSIGN_OR_RETURN(const RematFile file,
                       ParseRemat(*content, path, in_place_));
      absl::StatusOr<Row> row = Measure(path, file);
      if (!row.ok()) {
        status.Update(row.status());
        continue;
      }
      if (!out_.empty()) {
        const std::string text = ToText(file, row->result.schedule.runs);
        RETURN_IF_ERROR(ReplaceFile(out_, {text}));
      }
      rows.push_back(*std::move(row));
    }
    if (!rows.empty()) {
      console.out << (format_.json() ? ToJson(rows) : AsTable(rows));
    }
    return status;
  }

 private:
  int64_t Budget(int64_t kept_bytes) const {
    if (budget_bytes_) return *budget_bytes_;
    if (!budget_fraction_) return kept_bytes;
    const double bytes =
        std::floor(*budget_fraction_ * static_cast<double>(kept_bytes));
    return bytes < 0x1p62 ? static_cast<int64_t>(bytes) : INT64_MAX;
  }

  absl::StatusOr<Row> Measure(const std::string& path,
                              const RematFile& file) const {
    const Clock::time_point start = Clock::now();
    const RematModel model(file.graph);
    Row row;
    row.file = path;
    row.num_nodes = model.num_nodes;
    row.base_cost = model.base_cost;
    row.bound_bytes = model.working_set_bytes;
    row.kept_bytes = RunEvaluator(model).PeakBytes(FirstRunsOnly(model));
    row.budget_bytes = Budget(row.kept_bytes);
    if (row.budget_bytes < row.bound_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          path, ": no plan fits in ", row.budget_bytes,
          " bytes: the largest working set of one node is ", row.bound_bytes));
    }
    RematOptions options;
    options.budget_bytes = row.budget_bytes;
    options.work_limit = work_limit_.value_or(DefaultWork(row.num_nodes));
    options.fixed_order = fixed_order_;
    options.recognise_equal_blocks = !no_equal_blocks_;
    absl::optional<RematResult> result = Rematerialize(file.graph, options);
    row.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (!result.has_value()) {
      return absl::ResourceExhaustedError(absl::StrCat(
          path, ": no plan in ", row.budget_bytes,
          " bytes was found; the largest working set of one node is ",
          row.bound_bytes, ", keeping everything needs ", row.kept_bytes));
    }
    row.result = *std::move(result);
    return row;
  }

  static std::string AsTable(const std::vector<Row>& rows) {
    TextTable table({"file", ">nodes", ">base cost", ">cost", ">added %",
                     ">peak", ">budget", ">bound", ">all kept", "proven",
                     "method", ">seconds"});
    for (const Row& row : rows) {
      const RematSchedule& s = row.result.schedule;
      table.AddRow(
          {row.file, absl::StrCat(row.num_nodes), absl::StrCat(row.base_cost),
           absl::StrCat(row.base_cost + s.added_cost),
           absl::StrFormat("%.4f", Percent(s.added_cost, row.base_cost)),
           absl::StrCat(s.peak_bytes), absl::StrCat(row.budget_bytes),
           absl::StrCat(row.bound_bytes), absl::StrCat(row.kept_bytes),
           row.result.proven ? "yes" : "no", row.result.method,
           absl::StrFormat("%.3f", row.seconds)});
    }
    return table.ToString();
  }

  static std::string ToJson(const std::vector<Row>& rows) {
    nlohmann::json instances = nlohmann::json::array();
    for (const Row& row : rows) {
      const RematSchedule& s = row.result.schedule;
      instances.push_back(
          {{"file", row.file},
           {"nodes", row.num_nodes},
           {"base_cost", row.base_cost},
           {"cost", row.base_cost + s.added_cost},
           {"added_percent", Percent(s.added_cost, row.base_cost)},
           {"runs", s.runs.size()},
           {"peak_bytes", s.peak_bytes},
           {"budget_bytes", row.budget_bytes},
           {"bound_bytes", row.bound_bytes},
           {"all_kept_bytes", row.kept_bytes},
           {"proven", row.result.proven},
           {"method", row.result.method},
           {"seconds", row.seconds}});
    }
    const nlohmann::json report = {{"instances", instances}};
    // A path may be no UTF-8.
    return report.dump(2, ' ', /*ensure_ascii=*/false,
                       nlohmann::json::error_handler_t::replace) +
           "\n";
  }

  std::vector<std::string> files_;
  absl::optional<int64_t> budget_bytes_;
  absl::optional<double> budget_fraction_;
  bool in_place_ = false;
  bool fixed_order_ = false;
  bool no_equal_blocks_ = false;
  absl::optional<int64_t> work_limit_;
  std::string out_;
  FormatFlag format_;
};

}  // namespace

std::unique_ptr<Command> MakeRematBench() {
  return std::make_unique<RematBench>();
}

}  // namespace reprise
