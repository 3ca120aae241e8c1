// `reprise calibrate`: measures this machine for the planner's cost model.

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/proto_file.h"
#include "core/status_macros.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/commands/output_file.h"
#include "tools/commands/report.h"
#include "tools/commands/size.h"
#include "tools/commands/text_table.h"
#include "tools/measure/machine_rates.h"

namespace reprise {
namespace {

class CalibrateCommand : public Command {
 public:
  std::string name() const override { return "calibrate"; }
  std::string help() const override {
    return "Measure this machine's speeds, and write them for --machine";
  }
  void AddOptions(CLI::App& app) override {
    app.add_option("--threads", threads_,
                   "Measure on 1, 2, .. so many threads; 0: one for each core")
        ->transform(Integer(0, 1024));
    app.add_option("--name", name_, "Name of the machine");
    app.add_option("--out", out_,
                   "File to write: .textproto, or binary; none: only print");
    format_.Add(app);
  }

  absl::Status Run(const Console& console) override {
    RETURN_IF_ERROR(CheckWritable(out_));
    const int threads =
        threads_ > 0
            ? threads_
            : std::max(1,
                       static_cast<int>(std::thread::hardware_concurrency()));
    ASSIGN_OR_RETURN(const proto::Machine machine,
                     MeasureMachine(name_, threads));
    if (!out_.empty()) RETURN_IF_ERROR(WriteProtoFile(machine, out_));
    if (format_.json()) {
      Json json = {{"name", machine.name()},
                   {"rates", Json::array()},
                   {"kernel_overhead_nanoseconds",
                    machine.kernel_overhead_nanoseconds()}};
      for (int t = 0; t < threads; ++t) {
        json["rates"].push_back(
            {{"threads", t + 1},
             {"matmul_flops_per_second", machine.matmul_flops_per_second(t)},
             {"conv_flops_per_second", machine.conv_flops_per_second(t)},
             {"vector_flops_per_second", machine.vector_flops_per_second(t)},
             {"bytes_per_second", machine.bytes_per_second(t)}});
      }
      console.out << Dump(json);
      return absl::OkStatus();
    }
    const auto giga = [](double rate) {
      return absl::StrFormat("%.1f", rate * 1e-9);
    };
    TextTable table({">threads", ">matmul GFLOP/s", ">conv GFLOP/s",
                     ">pointwise GFLOP/s", ">memory GB/s"});
    for (int t = 0; t < threads; ++t) {
      table.AddRow({absl::StrCat(t + 1),
                    giga(machine.matmul_flops_per_second(t)),
                    giga(machine.conv_flops_per_second(t)),
                    giga(machine.vector_flops_per_second(t)),
                    giga(machine.bytes_per_second(t))});
    }
    console.out << table.ToString() << "a kernel takes "
                << FormatNanoseconds(machine.kernel_overhead_nanoseconds())
                << " at least\n";
    return absl::OkStatus();
  }

 private:
  int threads_ = 0;
  std::string name_ = "measured";
  std::string out_;
  FormatFlag format_;
};

}  // namespace

std::unique_ptr<Command> MakeCalibrateCommand() {
  return std::make_unique<CalibrateCommand>();
}

}  // namespace reprise
