// `reprise bench`: steps per second, and where the time goes.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/random.h"
#include "core/status_macros.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/commands/report.h"
#include "tools/commands/size.h"
#include "tools/commands/text_table.h"
#include "tools/measure/machine_rates.h"
#include "tools/measure/step_profile.h"
#include "tools/training/batches.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

int64_t NanosecondsSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() -
                                                              start)
      .count();
}

// Draws content that the model allows: floats in [0, 1), integers in range.
absl::Status FillRandomly(const ModelInput& input, Pass& pass) {
  ASSIGN_OR_RETURN(const absl::Span<char> bytes, InputBytes(input, pass));
  const uint64_t key = RandomKey(/*seed=*/0, NameHash(input.name));
  const int64_t elements = input.type.num_elements();
  const int64_t low = std::max<int64_t>(0, input.low);
  // As far as a byte reaches, where nothing is asked for.
  const int64_t high = std::min<int64_t>(input.high, low + 256);
  const auto write = [&](auto make) {
    for (int64_t i = 0; i < elements; ++i) {
      const auto element = make(RandomBits(key, static_cast<uint64_t>(i)));
      std::memcpy(bytes.data() + i * sizeof(element), &element,
                  sizeof(element));
    }
  };
  const auto integer = [low, high](uint64_t bits) {
    return low +
           static_cast<int64_t>(
               bits % static_cast<uint64_t>(std::max<int64_t>(1, high - low)));
  };
  switch (input.type.dtype) {
    case DType::kF32:
      write([](uint64_t bits) { return UnitFloat(bits); });
      break;
    case DType::kI32:
      write([&](uint64_t bits) { return static_cast<int32_t>(integer(bits)); });
      break;
    case DType::kI64:
      write(integer);
      break;
    case DType::kBool:
      write([](uint64_t bits) { return static_cast<uint8_t>(bits & 1); });
      break;
    default:
      write([&](uint64_t bits) { return static_cast<uint8_t>(integer(bits)); });
      break;
  }
  return absl::OkStatus();
}

struct Measured {
  std::vector<int64_t> step_nanoseconds;
  int64_t total_nanoseconds = 0;

  int64_t steps() const {
    return static_cast<int64_t>(step_nanoseconds.size());
  }
  int64_t Median() const {
    std::vector<int64_t> sorted = step_nanoseconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  int64_t Least() const {
    return *std::min_element(step_nanoseconds.begin(), step_nanoseconds.end());
  }
};

// A billion of them a second, as text; "" for none.
std::string Giga(double count, double nanoseconds) {
  return count == 0 || nanoseconds == 0
             ? ""
             : absl::StrFormat("%.1f", count / nanoseconds);
}

std::string Percent(double fraction) {
  return absl::StrFormat("%.1f %%", 100 * fraction);
}

class BenchCommand : public Command {
 public:
  std::string name() const override { return "bench"; }
  std::string help() const override {
    return "Time training steps on random data: steps per second, time and "
           "speed of each kernel, and of what is no kernel";
  }
  void AddOptions(CLI::App& app) override {
    model_.Add(app);
    config_.Add(app);
    budget_.Add(app);
    app.add_option("--seconds", seconds_, "How long to measure, at least")
        ->check(PositiveNumber(/*high=*/1e6));
    app.add_option("--warm-up", warm_up_, "Steps before measuring")
        ->transform(Integer(0, kMostSteps));
    format_.Add(app);
  }

  absl::Status Run(const Console& console) override {
    ASSIGN_OR_RETURN(const ModelSource source, model_.Read(console));
    const proto::Graph& graph = source.graph;
    ASSIGN_OR_RETURN(const proto::TrainConfig config, config_.Read());
    const std::unique_ptr<OpTable> ops = MakeOpTable();
    ASSIGN_OR_RETURN(const Graph model,
                     LoadGraph(graph, *ops, model_.symbols(), model_.model));
    ASSIGN_OR_RETURN(const std::vector<ModelInput> inputs, ModelInputs(model));
    RETURN_IF_ERROR(CheckHasRows(graph, inputs));
    ASSIGN_OR_RETURN(TrainerOptions options, model_.trainer_options());
    options.evaluate = false;
    budget_.Apply(options);
    ASSIGN_OR_RETURN(PlannedTrainer planned,
                     PlanTrainer(graph, config, options));
    const PlanReport report = planned.reports.front();
    ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                     Trainer::Create(std::move(planned.plan)));
    RETURN_IF_ERROR(source.SetWeights(*trainer));
    ASSIGN_OR_RETURN(Pass* const pass, trainer->Find(PlanMode::kTrain));

    // Runs one step of the optimizer; returns its nanoseconds, and adds those
    // of `pass` to its own.
    int64_t pass_nanoseconds = 0;
    const auto step = [&]() -> absl::StatusOr<int64_t> {
      int64_t nanoseconds = 0;
      for (const int64_t before = trainer->step(); trainer->step() == before;) {
        Pass& next = trainer->next();
        for (const ModelInput& input : inputs) {
          RETURN_IF_ERROR(FillRandomly(input, next));
        }
        const Clock::time_point start = Clock::now();
        RETURN_IF_ERROR(trainer->Step());
        const int64_t taken = NanosecondsSince(start);
        nanoseconds += taken;
        if (&next == pass) pass_nanoseconds += taken;
      }
      return nanoseconds;
    };
    const auto measure = [&](int64_t nanoseconds) -> absl::StatusOr<Measured> {
      Measured measured;
      while (measured.total_nanoseconds < nanoseconds) {
        ASSIGN_OR_RETURN(const int64_t taken, step());
        measured.step_nanoseconds.push_back(taken);
        measured.total_nanoseconds += taken;
      }
      return measured;
    };
    for (int64_t i = 0; i < warm_up_; ++i) RETURN_IF_ERROR(step().status());
    const int64_t half = static_cast<int64_t>(seconds_ * 1e9 / 2);
    // First without a clock around each kernel: that is the speed.
    ASSIGN_OR_RETURN(const Measured plain, measure(half));
    // Then with it: that tells the shares.
    pass->executor().EnableTiming();
    pass_nanoseconds = 0;
    ASSIGN_OR_RETURN(const Measured timed, measure(half));
    Profile profile;
    profile.plain = plain;
    profile.pass_nanoseconds =
        static_cast<double>(pass_nanoseconds) / timed.steps();
    profile.ops = ProfilePass(*pass, timed.steps(), kBareRuns);
    for (const OpTime& op : profile.ops) {
      const KernelTime sum = op.Sum();
      profile.kernels.steps += sum.steps;
      profile.kernels.nanoseconds += sum.nanoseconds;
      profile.kernels.bare_nanoseconds += sum.bare_nanoseconds;
      profile.kernels.flops += sum.flops;
      profile.kernels.bytes_moved += sum.bytes_moved;
    }
    ASSIGN_OR_RETURN(profile.machine,
                     MeasureRates(trainer->plan().env.threads));
    if (format_.json()) {
      console.out << Dump(JsonOf(profile, report, *trainer, *pass));
    } else {
      console.out << TextOf(profile, report, *trainer);
    }
    return absl::OkStatus();
  }

 private:
  // Of each kernel alone.
  static constexpr int kBareRuns = 3;

  struct Profile {
    Measured plain;               // without a clock around each kernel
    double pass_nanoseconds = 0;  // of a step, with it
    std::vector<OpTime> ops;
    KernelTime kernels;  // the sum of all
    MachineRates machine;

    double NoKernelFraction() const {
      return (pass_nanoseconds - kernels.nanoseconds) / pass_nanoseconds;
    }
    double FlopsPerSecond() const {
      return 1e9 * static_cast<double>(kernels.flops) / plain.Median();
    }
  };

  Json JsonOf(const Profile& profile, const PlanReport& report,
              const Trainer& trainer, const Pass& pass) const {
    const auto kernel_json = [&profile](const KernelTime& kernel) {
      return Json{
          {"steps", kernel.steps},
          {"nanoseconds", static_cast<int64_t>(kernel.nanoseconds)},
          {"bare_nanoseconds", static_cast<int64_t>(kernel.bare_nanoseconds)},
          {"fraction", kernel.nanoseconds / profile.pass_nanoseconds},
          {"flops", kernel.flops},
          {"bytes_moved", kernel.bytes_moved}};
    };
    Json json = {
        {"model", model_.model},
        {"threads", trainer.plan().env.threads},
        {"library", trainer.plan().library},
        {"measured_steps", profile.plain.steps()},
        {"steps_per_second", 1e9 / profile.plain.Median()},
        {"step_nanoseconds",
         {{"median", profile.plain.Median()}, {"min", profile.plain.Least()}}},
        {"arena_bytes", trainer.arena_bytes()},
        {"lower_bound_bytes", pass.plan().peak_live_bytes},
        {"engine_bytes", trainer.engine_bytes()},
        {"library_heap_bytes", report.library_heap_bytes},
        {"steps", pass.plan().steps.size()},
        {"recomputed_steps", report.recomputed_steps},
        {"overhead_fraction", profile.NoKernelFraction()},
        {"kernel_nanoseconds",
         static_cast<int64_t>(profile.kernels.nanoseconds)},
        {"bare_nanoseconds",
         static_cast<int64_t>(profile.kernels.bare_nanoseconds)},
        {"flops", profile.kernels.flops},
        {"bytes_moved", profile.kernels.bytes_moved},
        {"flops_per_second", profile.FlopsPerSecond()},
        {"peak_flops_per_second", profile.machine.peak_flops_per_second()},
        {"peak_bytes_per_second", profile.machine.bytes_per_second},
        {"ops", Json::array()}};
    for (const OpTime& time : profile.ops) {
      Json op = {{"op", time.op}};
      op.update(kernel_json(time.Sum()));
      op["kernels"] = Json::array();
      for (const KernelTime& kernel : time.kernels) {
        Json entry = {{"implementation", kernel.implementation}};
        entry.update(kernel_json(kernel));
        op["kernels"].push_back(std::move(entry));
      }
      json["ops"].push_back(std::move(op));
    }
    return json;
  }

  std::string TextOf(const Profile& profile, const PlanReport& report,
                     const Trainer& trainer) const {
    const int threads = trainer.plan().env.threads;
    const double peak = profile.machine.peak_flops_per_second();
    std::string text = absl::StrFormat(
        "%.4g steps/s: %s a step (median of %d, least %s), %d %s\n"
        "%.4g GFLOP a step, %.1f GFLOP/s: %s of this machine's %.1f; %s "
        "moved\n"
        "kernels one by one, each the best of %d runs: %s, %s of the least "
        "step\n"
        "arena %s (%s bytes), engine %s, library heap %s\n\n",
        1e9 / profile.plain.Median(), FormatNanoseconds(profile.plain.Median()),
        profile.plain.steps(), FormatNanoseconds(profile.plain.Least()),
        threads, threads == 1 ? "thread" : "threads",
        static_cast<double>(profile.kernels.flops) * 1e-9,
        profile.FlopsPerSecond() * 1e-9,
        Percent(profile.FlopsPerSecond() / peak), peak * 1e-9,
        FormatSize(profile.kernels.bytes_moved), kBareRuns,
        FormatNanoseconds(
            static_cast<int64_t>(profile.kernels.bare_nanoseconds)),
        Percent(profile.kernels.bare_nanoseconds /
                static_cast<double>(profile.plain.Least())),
        FormatSize(trainer.arena_bytes()), FormatCount(trainer.arena_bytes()),
        FormatSize(trainer.engine_bytes()),
        FormatSize(report.library_heap_bytes));
    TextTable table({"op", "kernel", ">runs", ">time", ">share", ">alone",
                     ">GFLOP/s", ">GB/s"});
    for (const OpTime& time : profile.ops) {
      for (const KernelTime& kernel : time.kernels) {
        table.AddRow(
            {time.op, kernel.implementation, absl::StrCat(kernel.steps),
             FormatNanoseconds(static_cast<int64_t>(kernel.nanoseconds)),
             Percent(kernel.nanoseconds / profile.pass_nanoseconds),
             FormatNanoseconds(static_cast<int64_t>(kernel.bare_nanoseconds)),
             Giga(static_cast<double>(kernel.flops), kernel.nanoseconds),
             Giga(static_cast<double>(kernel.bytes_moved),
                  kernel.nanoseconds)});
      }
    }
    table.AddRow({"no kernel", "", "",
                  FormatNanoseconds(static_cast<int64_t>(
                      profile.pass_nanoseconds - profile.kernels.nanoseconds)),
                  Percent(profile.NoKernelFraction()), "", "", ""});
    return text + table.ToString();
  }

  ModelFlags model_;
  ConfigFlags config_;
  BudgetFlags budget_;
  FormatFlag format_;
  double seconds_ = 2;
  int64_t warm_up_ = 3;
};

}  // namespace

std::unique_ptr<Command> MakeBenchCommand() {
  return std::make_unique<BenchCommand>();
}

}  // namespace reprise
