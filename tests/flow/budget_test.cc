// Promise 3: a budget is a bound. Plans of one trainer under many budgets: none
// exceeds its own, a smaller one never gets a larger arena, below the smallest
// arena the error says so, and every plan gives the bits of the naive one.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/check_plan.h"
#include "core/proto_file.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/instances.h"
#include "tests/testing/plan_oracle.h"
#include "tests/testing/random_graph.h"

namespace reprise {
namespace {

constexpr int kBudgets = 20;

// A hundredth of the default: what is tested holds for every search.
constexpr int64_t kWorkLimit = 10'000;

struct Case {
  std::string name;
  proto::Graph graph;
  Bindings symbols;
  int64_t index_limit = kIndexLimit;
};

// The example without its regions: nothing is bound but what a test adds.
proto::Graph Bare(proto::Graph graph) {
  graph.clear_region();
  graph.clear_annotation();
  for (proto::Node& node : *graph.mutable_node()) node.clear_region();
  return graph;
}

// Examples at sizes that train in milliseconds, as written and without regions.
std::vector<Case> Examples() {
  struct Example {
    const char* name;
    int64_t batch;
    int64_t index_limit;
  };
  std::vector<Case> cases;
  for (const Example& example : {Example{"lesson", 3, 1},
                                 {"lesson_layer", 3, 1},
                                 {"lesson_two_layers", 3, 1},
                                 {"digits_mlp", 5, 10},
                                 {"mnist_cnn", 2, 10},
                                 {"char_transformer", 1, 256},
                                 {"deep_mlp", 16, 10}}) {
    const absl::StatusOr<proto::Graph> graph =
        ReadGraphFile(absl::StrCat("examples/", example.name, ".textproto"));
    EXPECT_TRUE(graph.ok()) << graph.status();
    if (!graph.ok()) continue;
    const Bindings symbols = {{"batch", example.batch}};
    cases.push_back({example.name, *graph, symbols, example.index_limit});
    cases.push_back({absl::StrCat(example.name, " bare"), Bare(*graph), symbols,
                     example.index_limit});
  }
  return cases;
}

TrainerOptions OptionsOf(const Case& c) {
  TrainerOptions options;
  options.symbols = c.symbols;
  options.threads = 1;
  options.source = c.name;
  options.plan.work_limit = kWorkLimit;
  return options;
}

int64_t ArenaBytes(const std::vector<Plan>& plans) {
  int64_t bytes = 0;
  for (const Plan& plan : plans) bytes = std::max(bytes, plan.end_bytes);
  return bytes;
}

// Returns the smallest arena found, asked by its error.
int64_t SmallestArena(const PlannedTrainer& planned) {
  const absl::Status status = planned.plan.plan_within(0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  const std::string message(status.message());
  const std::string before = "the smallest arena found has ";
  const size_t at = message.find(before);
  EXPECT_NE(at, std::string::npos) << message;
  if (at == std::string::npos) return 0;
  EXPECT_TRUE(absl::StrContains(message, "working set of ")) << message;
  return std::stoll(message.substr(at + before.size()));
}

// Budgets from one arena to another, both included, the largest first.
std::vector<int64_t> Sweep(int64_t smallest, int64_t largest) {
  std::vector<int64_t> budgets;
  for (int i = 0; i <= kBudgets; ++i) {
    budgets.push_back(largest - (largest - smallest) * i / kBudgets);
  }
  return budgets;
}

// Checks everything about a budget that can be seen without running a step.
void ExpectBudgetsAreBounds(const Case& c, const proto::TrainConfig& config) {
  const absl::StatusOr<PlannedTrainer> planned =
      PlanTrainer(c.graph, config, OptionsOf(c));
  ASSERT_TRUE(planned.ok()) << c.name << ": " << planned.status();
  const int64_t largest = planned->plan.arena_bytes;
  const int64_t smallest = SmallestArena(*planned);
  EXPECT_LE(smallest, largest) << c.name;
  int64_t last = INT64_MAX;
  int64_t last_steps = 0;
  for (const int64_t budget : Sweep(smallest, largest)) {
    const absl::StatusOr<std::vector<Plan>> plans =
        planned->plan.plan_within(budget);
    ASSERT_TRUE(plans.ok()) << c.name << ": " << plans.status();
    const int64_t arena = ArenaBytes(*plans);
    EXPECT_LE(arena, budget) << c.name;
    EXPECT_LE(arena, last) << c.name
                           << ": the arena rose as the budget fell to "
                           << budget;
    last = arena;
    for (size_t i = 0; i < plans->size(); ++i) {
      const absl::Status checked =
          CheckPlan(planned->plan.passes[i]->lowered, (*plans)[i]).status();
      EXPECT_TRUE(checked.ok()) << c.name << ": " << checked;
    }
    last_steps += static_cast<int64_t>((*plans)[0].steps.size());
  }
  EXPECT_GT(last_steps, 0);
  EXPECT_FALSE(planned->plan.plan_within(smallest - 1).ok()) << c.name;
  // What is found does not depend on what was asked for before.
  TrainerOptions tight = OptionsOf(c);
  tight.plan.budget_bytes = smallest;
  const absl::StatusOr<PlannedTrainer> again =
      PlanTrainer(c.graph, config, tight);
  ASSERT_TRUE(again.ok()) << c.name << ": " << again.status();
  EXPECT_EQ(again->plan.arena_bytes, smallest) << c.name;
  tight.plan.budget_bytes = smallest - 1;
  EXPECT_EQ(PlanTrainer(c.graph, config, tight).status().code(),
            absl::StatusCode::kResourceExhausted)
      << c.name;
}

TEST(BudgetTest, BoundsTheArenaOfEveryExample) {
  for (const Case& c : Examples()) {
    ExpectBudgetsAreBounds(c, ConfigOf("adamw", 1e-3f));
  }
}

TEST(BudgetTest, BoundsTheArenaOfRandomGraphs) {
  for (uint64_t seed = 0; seed < Instances(60u); ++seed) {
    RandomGraphOptions shape;
    shape.num_ops = 4 + static_cast<int>(seed % 20);
    shape.regions = seed % 2 == 1;
    Case c;
    c.name = absl::StrCat("random graph of seed ", seed);
    c.graph = RandomGraph(seed, shape);
    proto::TrainConfig config = ConfigOf("sgd", 1e-2f);
    if (seed % 4 == 1) config.set_clip_global_norm(1);
    if (seed % 5 == 2) config.set_accumulate_steps(2);
    ExpectBudgetsAreBounds(c, config);
  }
}

TEST(BudgetTest, GivesTheBitsOfTheNaivePlanOnEveryExample) {
  for (const Case& c : Examples()) {
    const absl::StatusOr<PlannedTrainer> planned =
        PlanTrainer(c.graph, ConfigOf("adamw", 1e-3f), OptionsOf(c));
    ASSERT_TRUE(planned.ok()) << c.name << ": " << planned.status();
    const int64_t smallest = SmallestArena(*planned);
    std::set<int64_t> arenas;  // a budget that changes nothing is not run again
    for (const int64_t budget : Sweep(smallest, planned->plan.arena_bytes)) {
      const absl::StatusOr<std::vector<Plan>> plans =
          planned->plan.plan_within(budget);
      ASSERT_TRUE(plans.ok()) << c.name << ": " << plans.status();
      if (!arenas.insert(ArenaBytes(*plans)).second) continue;
      TrainerOptions options = OptionsOf(c);
      options.plan.budget_bytes = budget;
      OracleOptions oracle;
      oracle.index_limit = c.index_limit;
      const absl::Status status = ComparePlannedWithNaive(
          c.graph, ConfigOf("adamw", 1e-3f), options, oracle);
      EXPECT_TRUE(status.ok()) << c.name << " at " << budget << ": " << status;
    }
    std::cout << c.name << ": " << planned->plan.arena_bytes << " to "
              << smallest << " bytes, " << arenas.size() << " arenas\n";
  }
}

TEST(BudgetTest, GivesTheBitsOfTheNaivePlanOnRandomGraphs) {
  int recomputed = 0;
  for (uint64_t seed = 100; seed < 100 + Instances(100u); ++seed) {
    RandomGraphOptions shape;
    shape.num_ops = 6 + static_cast<int>(seed % 24);
    shape.regions = seed % 2 == 1;
    Case c;
    c.name = absl::StrCat("random graph of seed ", seed);
    c.graph = RandomGraph(seed, shape);
    const proto::TrainConfig config = ConfigOf("adam", 1e-2f);
    const absl::StatusOr<PlannedTrainer> planned =
        PlanTrainer(c.graph, config, OptionsOf(c));
    ASSERT_TRUE(planned.ok()) << planned.status();
    TrainerOptions options = OptionsOf(c);
    const int64_t smallest = SmallestArena(*planned);
    options.plan.budget_bytes =
        seed % 3 == 0 ? smallest : (smallest + planned->plan.arena_bytes) / 2;
    const absl::StatusOr<PlannedTrainer> tight =
        PlanTrainer(c.graph, config, options);
    ASSERT_TRUE(tight.ok()) << tight.status();
    recomputed += tight->reports[0].recomputed_steps > 0 ? 1 : 0;
    OracleOptions oracle;
    oracle.seed = seed;
    oracle.index_limit = c.index_limit;
    const absl::Status status =
        ComparePlannedWithNaive(c.graph, config, options, oracle);
    // A loss that overflows is no matter of plans.
    if (absl::StrContains(status.message(), "not a finite number")) continue;
    EXPECT_TRUE(status.ok()) << c.name << ": " << status;
  }
  std::cout << recomputed << " of " << Instances(100) << " plans recompute\n";
  EXPECT_GT(recomputed, Instances(30))
      << "budgets must bind for the test to mean anything";
}

// Dropout, batch norm with running state, a block with shared weights used
// twice.
constexpr char kModel[] = R"(
  format_version: 1
  name: "switched"
  symbol { name: "batch" default_value: 32 }
  input { name: "x" type { dtype: FLOAT32 dim { symbol: "batch" } dim { value: 16 } } }
  input { name: "label" type { dtype: INT64 dim { symbol: "batch" } } }
  parameter { name: "w1" type { dtype: FLOAT32 dim { value: 16 } dim { value: 16 } } }
  parameter { name: "scale" type { dtype: FLOAT32 dim { value: 16 } } initializer { constant: 1 } }
  parameter { name: "shift" type { dtype: FLOAT32 dim { value: 16 } } }
  parameter { name: "w2" type { dtype: FLOAT32 dim { value: 16 } dim { value: 5 } } }
  state { name: "mean" type { dtype: FLOAT32 dim { value: 16 } } next: "mean_next" }
  state { name: "var" type { dtype: FLOAT32 dim { value: 16 } } initializer { constant: 1 } next: "var_next" }
  node { name: "fc1" op: "MatMul" input: "x" input: "w1" output: "a" }
  node { name: "bn" op: "BatchNormalization"
         input: "a" input: "scale" input: "shift" input: "mean" input: "var"
         output: "b" output: "mean_next" output: "var_next"
         attribute { name: "training_mode" i: 1 } }
  node { name: "gelu1" op: "Gelu" input: "b" output: "h" }
  node { name: "drop" op: "Dropout" input: "h" output: "d" }
  node { name: "fc2" op: "MatMul" input: "d" input: "w1" output: "e" }
  node { name: "gelu2" op: "Gelu" input: "e" output: "f" }
  node { name: "square" op: "Mul" input: "f" input: "f" output: "g" }
  node { name: "tanh" op: "Tanh" input: "g" output: "k" }
  node { name: "fc3" op: "MatMul" input: "k" input: "w2" output: "scores" }
  node { name: "loss" op: "SoftmaxCrossEntropyLoss" input: "scores" input: "label" output: "l" }
  output: "scores"
  loss { value: "l" }
)";

Case Switched() {
  Case c;
  c.name = "switched";
  const absl::Status parsed = ParseText(kModel, c.name, c.graph);
  EXPECT_TRUE(parsed.ok()) << parsed;
  return c;
}

// Trains; before step i the budget becomes budget(i), if that is not negative.
template <typename Budget>
std::vector<std::vector<char>> Train(const Case& c, int steps,
                                     const Budget& budget) {
  proto::TrainConfig config = ConfigOf("adamw", 1e-2f);
  config.set_accumulate_steps(2);
  absl::StatusOr<std::unique_ptr<Trainer>> trainer =
      MakeTrainer(c.graph, config, OptionsOf(c));
  EXPECT_TRUE(trainer.ok()) << trainer.status();
  std::vector<std::vector<char>> losses;
  for (int i = 0; i < steps; ++i) {
    const int64_t bytes = budget(i);
    if (bytes >= 0) {
      const absl::Status set = (*trainer)->SetBudget(bytes);
      EXPECT_TRUE(set.ok()) << set;
      EXPECT_LE((*trainer)->arena_bytes(), bytes);
    }
    Pass& pass = (*trainer)->next();
    FillInputs(pass, i, c.index_limit);
    const absl::Status stepped = (*trainer)->Step();
    EXPECT_TRUE(stepped.ok()) << stepped;
    const float loss = pass.loss();
    const char* const bits = reinterpret_cast<const char*>(&loss);
    losses.emplace_back(bits, bits + sizeof(loss));
  }
  for (const char* name : {"w1", "w2", "scale", "mean", "var"}) {
    const absl::StatusOr<absl::Span<float>> value =
        (*trainer)->Persistent(name);
    EXPECT_TRUE(value.ok()) << value.status();
    const char* const bits = reinterpret_cast<const char*>(value->data());
    losses.emplace_back(bits, bits + value->size() * sizeof(float));
  }
  return losses;
}

TEST(BudgetTest, TwoHundredSwitchesDuringTrainingChangeNoBit) {
  const Case c = Switched();
  proto::TrainConfig config = ConfigOf("adamw", 1e-2f);
  config.set_accumulate_steps(2);
  const absl::StatusOr<PlannedTrainer> planned =
      PlanTrainer(c.graph, config, OptionsOf(c));
  ASSERT_TRUE(planned.ok()) << planned.status();
  const int64_t smallest = SmallestArena(*planned);
  const int64_t largest = planned->plan.arena_bytes;
  ASSERT_LT(smallest, largest) << "nothing to switch";
  std::mt19937_64 random(7);
  std::uniform_int_distribution<int64_t> draw(smallest, largest);
  const auto undisturbed = Train(c, 200, [](int) { return -1; });
  const auto switched = Train(c, 200, [&](int) { return draw(random); });
  EXPECT_EQ(undisturbed, switched);
}

TEST(BudgetTest, ARefusedSwitchChangesNothing) {
  const Case c = Switched();
  absl::StatusOr<std::unique_ptr<Trainer>> trainer =
      MakeTrainer(c.graph, ConfigOf("sgd", 0.1f), OptionsOf(c));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const int64_t before = (*trainer)->arena_bytes();
  EXPECT_EQ((*trainer)->SetBudget(1000).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ((*trainer)->arena_bytes(), before);
  FillInputs((*trainer)->next(), 1, c.index_limit);
  EXPECT_TRUE((*trainer)->Step().ok());
}

// A must_save value, and what a region with a policy of its own keeps, are kept
// at every budget.
TEST(BudgetTest, ARefusalSaysThatAnnotationsBind) {
  Case c = Switched();
  TrainerOptions options = OptionsOf(c);
  options.plan.budget_bytes = 1;
  const proto::TrainConfig config = ConfigOf("sgd", 1e-2f);
  const absl::Status free = PlanTrainer(c.graph, config, options).status();
  EXPECT_FALSE(absl::StrContains(free.message(), "annotations")) << free;
  proto::Region& region = *c.graph.add_region();
  region.set_name("block");
  region.mutable_policy()->set_save_nothing(true);
  for (proto::Node& node : *c.graph.mutable_node()) {
    if (node.name() == "gelu1" || node.name() == "drop") {
      node.set_region(region.name());
    }
  }
  const absl::Status bound = PlanTrainer(c.graph, config, options).status();
  EXPECT_TRUE(absl::StrContains(bound.message(),
                                "the graph's annotations bind the runs of 2 "
                                "nodes"))
      << bound;
}

TEST(BudgetTest, KeepsWhatAnnotationsBind) {
  Case c = Switched();
  proto::ValueAnnotation* const keep = c.graph.add_annotation();
  keep->set_value("h");
  keep->set_keep(proto::ValueAnnotation::MUST_SAVE);
  proto::Region* const region = c.graph.add_region();
  region->set_name("whole");
  region->mutable_policy()->set_save_everything(true);
  for (proto::Node& node : *c.graph.mutable_node()) {
    if (node.name() == "fc2" || node.name() == "gelu2") {
      node.set_region("whole");
    }
  }
  const absl::StatusOr<PlannedTrainer> planned =
      PlanTrainer(c.graph, ConfigOf("sgd", 0.1f), OptionsOf(c));
  ASSERT_TRUE(planned.ok()) << planned.status();
  TrainerOptions tight = OptionsOf(c);
  tight.plan.budget_bytes = SmallestArena(*planned);
  const absl::StatusOr<PlannedTrainer> smallest =
      PlanTrainer(c.graph, ConfigOf("sgd", 0.1f), tight);
  ASSERT_TRUE(smallest.ok()) << smallest.status();
  EXPECT_LT(smallest->plan.arena_bytes, planned->plan.arena_bytes);
  const PlannedPass& pass = *smallest->plan.passes[0];
  for (const Step& step : pass.plan.steps) {
    const std::string& name = pass.lowered.nodes[step.node].name;
    if (name == "gelu1" || name == "fc2" || name == "gelu2") {
      EXPECT_EQ(step.run, 0) << name << " is bound by an annotation";
    }
  }
}

}  // namespace
}  // namespace reprise
