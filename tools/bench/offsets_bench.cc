// `planner_bench offsets`: places the buffers of instance files.

#include <chrono>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "core/file.h"
#include "core/status_macros.h"
#include "nlohmann/json.hpp"
#include "planner/offsets/offsets.h"
#include "tools/bench/bench.h"
#include "tools/bench/offsets_file.h"
#include "tools/commands/flags.h"
#include "tools/commands/output_file.h"
#include "tools/commands/text_table.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

// More than planning spends: here the search is what is measured.
constexpr int64_t kMaxPairs = 50'000'000;
constexpr int64_t kMaxSearchWork = 4'000'000'000;

// With a limit in seconds nothing else ends the search.
constexpr int64_t kUnlimited = int64_t{1} << 60;

struct Row {
  std::string file;
  int64_t num_buffers = 0;
  Placement placement;
  double seconds = 0;  // of placing, without reading and writing
};

double Ratio(const Placement& placement) {
  if (placement.lower_bound == 0) return 1;
  return static_cast<double>(placement.height) /
         static_cast<double>(placement.lower_bound);
}

// "bound": nothing can be lower; "search": nothing lower exists, if the search
// is right; "no": something lower may exist.
std::string Proven(const Placement& placement) {
  if (!placement.proven) return "no";
  return placement.height == placement.lower_bound ? "bound" : "search";
}

class OffsetsBench : public Command {
 public:
  std::string name() const override { return "offsets"; }
  std::string help() const override {
    return "Place buffers of known lifetimes as low as possible";
  }

  void AddOptions(CLI::App& app) override {
    app.add_option("FILE", files_,
                   "CSV with the columns id, lower, upper and size; a buffer "
                   "lives in [lower, upper)")
        ->required();
    app.add_option("--capacity", capacity_bytes_,
                   "Bytes; a placement that fits ends the search, and none is "
                   "an error")
        ->check(CLI::Range(int64_t{1}, kUnlimited));
    app.add_option("--time-limit", time_limit_seconds_,
                   "Seconds for each file, in place of the limits of work")
        ->check(FiniteNumber())
        ->check(CLI::Range(0.0, 1e9));
    app.add_option("--out", out_,
                   "Write the input's columns and `offset` here, for one FILE");
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
      ASSIGN_OR_RETURN(const OffsetsFile file, ParseOffsets(*content, path));
      rows.push_back(Measure(path, file));
      const Placement& placement = rows.back().placement;
      if (capacity_bytes_ && placement.height > *capacity_bytes_) {
        status.Update(DoesNotFit(path, placement));
      }
      if (!out_.empty()) {
        const std::string text = WithOffsets(file, placement.offsets);
        RETURN_IF_ERROR(ReplaceFile(out_, {text}));
      }
    }
    console.out << (format_.json() ? ToJson(rows) : ToText(rows));
    return status;
  }

 private:
  Row Measure(const std::string& path, const OffsetsFile& file) const {
    PlacementOptions options;
    options.max_pairs = kMaxPairs;
    options.max_search_work = kMaxSearchWork;
    options.capacity_bytes = capacity_bytes_.value_or(0);
    Row row;
    row.file = path;
    row.num_buffers = static_cast<int64_t>(file.rows.size());
    const Clock::time_point start = Clock::now();
    const auto seconds = [start] {
      return std::chrono::duration<double>(Clock::now() - start).count();
    };
    if (time_limit_seconds_) {
      options.max_pairs = kUnlimited;
      options.max_search_work = kUnlimited;
      options.should_stop = [&] { return seconds() >= *time_limit_seconds_; };
    }
    row.placement = PlaceBuffers(file.buffers, options);
    row.seconds = seconds();
    return row;
  }

  absl::Status DoesNotFit(const std::string& path,
                          const Placement& placement) const {
    if (placement.proven_bound > *capacity_bytes_) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, ": no placement fits in ", *capacity_bytes_,
                       " bytes: none is lower than ", placement.proven_bound,
                       placement.proven_bound > placement.lower_bound
                           ? ", as the search found"
                           : ", which live at once"));
    }
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": no placement in ", *capacity_bytes_,
                     " bytes was found: the lowest has ", placement.height,
                     ", the lower bound is ", placement.proven_bound));
  }

  static std::string ToText(const std::vector<Row>& rows) {
    TextTable table({"file", ">buffers", ">lower bound", ">arena", ">ratio",
                     ">seconds", "proven", "method"});
    double seconds = 0;
    for (const Row& row : rows) {
      table.AddRow({row.file, absl::StrCat(row.num_buffers),
                    absl::StrCat(row.placement.lower_bound),
                    absl::StrCat(row.placement.height),
                    absl::StrFormat("%.4f", Ratio(row.placement)),
                    absl::StrFormat("%.4f", row.seconds), Proven(row.placement),
                    row.placement.name});
      seconds += row.seconds;
    }
    if (rows.size() > 1) {
      table.AddRow(
          {"sum", "", "", "", "", absl::StrFormat("%.4f", seconds), "", ""});
    }
    return table.ToString();
  }

  static std::string ToJson(const std::vector<Row>& rows) {
    nlohmann::json instances = nlohmann::json::array();
    double seconds = 0;
    for (const Row& row : rows) {
      instances.push_back({{"file", row.file},
                           {"buffers", row.num_buffers},
                           {"lower_bound_bytes", row.placement.lower_bound},
                           {"proven_bound_bytes", row.placement.proven_bound},
                           {"arena_bytes", row.placement.height},
                           {"ratio", Ratio(row.placement)},
                           {"seconds", row.seconds},
                           {"proven", Proven(row.placement)},
                           {"method", row.placement.name}});
      seconds += row.seconds;
    }
    const nlohmann::json report = {{"instances", instances},
                                   {"seconds", seconds}};
    // A path may be no UTF-8.
    return report.dump(2, ' ', /*ensure_ascii=*/false,
                       nlohmann::json::error_handler_t::replace) +
           "\n";
  }

  std::vector<std::string> files_;
  absl::optional<int64_t> capacity_bytes_;
  absl::optional<double> time_limit_seconds_;
  std::string out_;
  FormatFlag format_;
};

}  // namespace

std::unique_ptr<Command> MakeOffsetsBench() {
  return std::make_unique<OffsetsBench>();
}

}  // namespace reprise
