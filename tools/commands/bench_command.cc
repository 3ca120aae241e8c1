// `reprise bench`: steps per second, and where the time goes.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/random.h"
#include "core/status_macros.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/commands/report.h"
#include "tools/commands/size.h"
#include "tools/commands/text_table.h"
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

// Time of one operator, summed over its steps and all runs.
struct OpTime {
  std::string op;
  int64_t steps = 0;  // in one run
  int64_t nanoseconds = 0;
};

// Returns the operators of a pass, the most expensive first.
std::vector<OpTime> TimeByOp(Pass& pass) {
  const PlannedPass& planned = pass.planned();
  const std::vector<int64_t>& times = pass.executor().step_nanoseconds();
  std::map<std::string, OpTime> by_op;
  for (size_t i = 0; i < planned.plan.steps.size(); ++i) {
    const std::string& op = planned.lowered.op(planned.plan.steps[i].node).name;
    OpTime& entry = by_op[op];
    entry.op = op;
    ++entry.steps;
    entry.nanoseconds += times[i];
  }
  std::vector<OpTime> ops;
  for (auto& [name, entry] : by_op) ops.push_back(std::move(entry));
  std::stable_sort(ops.begin(), ops.end(),
                   [](const OpTime& a, const OpTime& b) {
                     return a.nanoseconds > b.nanoseconds;
                   });
  return ops;
}

struct Measured {
  int64_t steps = 0;
  int64_t nanoseconds = 0;
};

class BenchCommand : public Command {
 public:
  std::string name() const override { return "bench"; }
  std::string help() const override {
    return "Time training steps on random data: steps per second, share of "
           "each operator, overhead of what is no kernel";
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
    ASSIGN_OR_RETURN(const proto::Graph graph, ReadGraphFile(model_.model));
    ASSIGN_OR_RETURN(const proto::TrainConfig config, config_.Read());
    const std::unique_ptr<OpTable> ops = MakeOpTable();
    ASSIGN_OR_RETURN(const Graph model,
                     LoadGraph(graph, *ops, model_.symbols(), model_.model));
    ASSIGN_OR_RETURN(const std::vector<ModelInput> inputs, ModelInputs(model));
    TrainerOptions options = model_.trainer_options();
    options.evaluate = false;
    budget_.Apply(options);
    ASSIGN_OR_RETURN(PlannedTrainer planned,
                     PlanTrainer(graph, config, options));
    const PlanReport report = planned.reports.front();
    ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                     Trainer::Create(std::move(planned.plan)));
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
      while (measured.nanoseconds < nanoseconds) {
        ASSIGN_OR_RETURN(const int64_t taken, step());
        measured.nanoseconds += taken;
        ++measured.steps;
      }
      return measured;
    };
    for (int64_t i = 0; i < warm_up_; ++i) RETURN_IF_ERROR(step().status());
    const int64_t half = static_cast<int64_t>(seconds_ * 1e9 / 2);
    // First without a clock around each kernel: that is the speed.
    ASSIGN_OR_RETURN(const Measured plain, measure(half));
    const double per_second =
        1e9 * static_cast<double>(plain.steps) / plain.nanoseconds;
    // Then with it: that tells the shares.
    pass->executor().EnableTiming();
    pass_nanoseconds = 0;
    ASSIGN_OR_RETURN(const Measured timed, measure(half));

    const std::vector<OpTime> times = TimeByOp(*pass);
    int64_t kernels = 0;
    for (const OpTime& time : times) kernels += time.nanoseconds;
    const double overhead =
        static_cast<double>(pass_nanoseconds - kernels) / pass_nanoseconds;
    if (format_.json()) {
      Json json = {{"model", model_.model},
                   {"threads", trainer->plan().env.threads},
                   {"measured_steps", plain.steps},
                   {"steps_per_second", per_second},
                   {"arena_bytes", trainer->arena_bytes()},
                   {"lower_bound_bytes", pass->plan().peak_live_bytes},
                   {"engine_bytes", trainer->engine_bytes()},
                   {"library_heap_bytes", report.library_heap_bytes},
                   {"steps", pass->plan().steps.size()},
                   {"recomputed_steps", report.recomputed_steps},
                   {"overhead_fraction", overhead},
                   {"ops", Json::array()}};
      for (const OpTime& time : times) {
        json["ops"].push_back(
            {{"op", time.op},
             {"steps", time.steps},
             {"nanoseconds", time.nanoseconds / timed.steps},
             {"fraction", static_cast<double>(time.nanoseconds) /
                              static_cast<double>(pass_nanoseconds)}});
      }
      console.out << Dump(json);
      return absl::OkStatus();
    }
    console.out << absl::StrFormat(
        "%.4g steps/s (%s a step), %d %s\narena %s (%s bytes), engine "
        "%s, library heap %s\n\n",
        per_second, FormatNanoseconds(static_cast<int64_t>(1e9 / per_second)),
        trainer->plan().env.threads,
        trainer->plan().env.threads == 1 ? "thread" : "threads",
        FormatSize(trainer->arena_bytes()), FormatCount(trainer->arena_bytes()),
        FormatSize(trainer->engine_bytes()),
        FormatSize(report.library_heap_bytes));
    TextTable table({"op", ">steps", ">time a step", ">share"});
    for (const OpTime& time : times) {
      table.AddRow({time.op, absl::StrCat(time.steps),
                    FormatNanoseconds(time.nanoseconds / timed.steps),
                    absl::StrFormat("%.1f %%", 100.0 * time.nanoseconds /
                                                   pass_nanoseconds)});
    }
    table.AddRow({"no kernel", "",
                  FormatNanoseconds((pass_nanoseconds - kernels) / timed.steps),
                  absl::StrFormat("%.1f %%", 100 * overhead)});
    console.out << table.ToString();
    return absl::OkStatus();
  }

 private:
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
