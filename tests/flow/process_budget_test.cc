// The promise for the whole process: training in one whose address space is
// limited to the budget it was told, so that a byte too many is an allocation
// that fails.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/process_memory.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/instances.h"
#include "tests/testing/plan_oracle.h"

namespace reprise {
namespace {

constexpr int64_t kUnlimited = int64_t{1} << 40;

void LimitAddressSpace(int64_t bytes) {
  struct rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
  limit.rlim_cur = static_cast<rlim_t>(bytes);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

// What a process says with its exit code.
enum Outcome { kTrained = 0, kRefused = 10, kFailed = 11 };

// Trains a few steps of an example without its regions, in this process, within
// `arena_share` of the way from the smallest arena to the unbudgeted one, plus
// what everything else takes. Never returns.
[[noreturn]] void TrainWithin(const std::string& example, int64_t batch,
                              int64_t index_limit, double arena_share) {
  const auto fail = [](const absl::Status& status) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    _exit(absl::IsResourceExhausted(status) ? kRefused : kFailed);
  };
  // A finite limit makes the address space what counts.
  LimitAddressSpace(kUnlimited);
  absl::StatusOr<proto::Graph> graph =
      ReadGraphFile(absl::StrCat("examples/", example, ".textproto"));
  if (!graph.ok()) fail(graph.status());
  graph->clear_region();
  for (proto::Node& node : *graph->mutable_node()) node.clear_region();
  const proto::TrainConfig config = ConfigOf("adam", 1e-3f);
  TrainerOptions options;
  options.symbols = {{"batch", batch}};
  options.threads = 2;
  options.plan.work_limit = 20'000;  // a quick search: budgets are what counts
  int64_t engine_bytes = 0;
  int64_t arena = 0;
  {
    absl::StatusOr<PlannedTrainer> planned =
        PlanTrainer(*graph, config, options);
    if (!planned.ok()) fail(planned.status());
    const absl::StatusOr<int64_t> engine = MeasureEngineBytes(planned->plan);
    if (!engine.ok()) fail(engine.status());
    engine_bytes = *engine;
    const std::string message(planned->plan.plan_within(0).status().message());
    const std::string before = "the smallest arena found has ";
    const size_t at = message.find(before);
    if (at == std::string::npos) fail(absl::InternalError(message));
    const int64_t smallest = std::stoll(message.substr(at + before.size()));
    arena = smallest +
            static_cast<int64_t>(
                arena_share *
                static_cast<double>(planned->plan.arena_bytes - smallest));
    planned->plan.process_budget_bytes = 0;
    const int64_t others = -ArenaBytesLeft(planned->plan, engine_bytes);
    options.process_budget_bytes = others + arena;
  }
  // Where a refusal is expected, searching for a plan may take more.
  if (arena_share >= 0) LimitAddressSpace(options.process_budget_bytes);
  absl::StatusOr<std::unique_ptr<Trainer>> trainer =
      MakeTrainer(*graph, config, options);
  if (!trainer.ok()) fail(trainer.status());
  for (int i = 0; i < 3; ++i) {
    FillInputs((*trainer)->next(), i, index_limit);
    const absl::Status stepped = (*trainer)->Step();
    if (!stepped.ok()) fail(stepped);
  }
  std::fprintf(stderr,
               "%s: process budget %lld, arena %lld (aimed at %lld), engine "
               "%lld, address space %lld\n",
               example.c_str(),
               static_cast<long long>(options.process_budget_bytes),
               static_cast<long long>((*trainer)->arena_bytes()),
               static_cast<long long>(arena),
               static_cast<long long>((*trainer)->engine_bytes()),
               static_cast<long long>(ProcessBytes()));
  _exit(ProcessBytes() <= options.process_budget_bytes ? kTrained : kFailed);
}

int OutcomeOf(const std::string& example, int64_t batch, int64_t index_limit,
              double arena_share) {
  const pid_t child = fork();
  if (child == 0) TrainWithin(example, batch, index_limit, arena_share);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProcessBudgetTest, TwoExamplesTrainInALimitedAddressSpace) {
#ifdef REPRISE_SANITIZED
  GTEST_SKIP() << "a sanitizer's address space cannot be limited";
#endif
  EXPECT_EQ(OutcomeOf("char_transformer", 2, 256, 0.5), kTrained);
  EXPECT_EQ(OutcomeOf("deep_mlp", 256, 10, 0.5), kTrained);
}

// As far below the smallest arena as the unbudgeted one is above it.
TEST(ProcessBudgetTest, ABudgetThatLeavesTooLittleIsRefused) {
#ifdef REPRISE_SANITIZED
  GTEST_SKIP() << "a sanitizer's address space cannot be limited";
#endif
  EXPECT_EQ(OutcomeOf("deep_mlp", 256, 10, -1), kRefused);
}

}  // namespace
}  // namespace reprise
