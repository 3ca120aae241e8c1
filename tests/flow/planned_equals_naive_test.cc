// Promise 2: a plan never changes numbers. Every plan, with dead bytes
// poisoned, against the naive plan of the same lowered graph, bit for bit.

#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/check_plan.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/plan_oracle.h"
#include "tests/testing/random_graph.h"

namespace reprise {
namespace {

struct Example {
  std::string file;
  int64_t index_limit;  // of labels and tokens
  Bindings symbols;     // small, so that the test takes seconds
};

std::vector<Example> Examples() {
  return {
      {"lesson", 1, {{"batch", 3}}},
      {"lesson_layer", 1, {{"batch", 3}}},
      {"lesson_two_layers", 1, {{"batch", 3}}},
      {"digits_mlp", 10, {{"batch", 5}}},
      {"mnist_cnn", 10, {{"batch", 2}}},
      {"char_transformer", 256, {{"batch", 1}}},
      {"deep_mlp", 10, {{"batch", 2}}},
  };
}

absl::StatusOr<proto::Graph> ReadExample(const std::string& name) {
  return ReadGraphFile(absl::StrCat("examples/", name, ".textproto"));
}

// The annotations that every example is planned under.
std::map<std::string, proto::Graph> Variants(const proto::Graph& graph) {
  std::map<std::string, proto::Graph> variants;
  variants["as written"] = graph;
  proto::Graph bare = graph;
  bare.clear_region();
  bare.clear_annotation();
  for (proto::Node& node : *bare.mutable_node()) node.clear_region();
  variants["bare"] = bare;
  proto::Graph whole = bare;
  whole.add_region()->set_name("all");
  for (proto::Node& node : *whole.mutable_node()) node.set_region("all");
  variants["one region"] = whole;
  proto::Graph matmuls = graph;
  for (proto::Region& region : *matmuls.mutable_region()) {
    region.mutable_policy()->set_save_matmuls(true);
  }
  variants["save_matmuls"] = matmuls;
  proto::Graph everything = graph;
  for (proto::Region& region : *everything.mutable_region()) {
    region.mutable_policy()->set_save_everything(true);
  }
  variants["save_everything"] = everything;
  return variants;
}

TEST(PlannedEqualsNaiveTest, OnEveryExampleUnderEveryAnnotation) {
  for (const Example& example : Examples()) {
    const absl::StatusOr<proto::Graph> graph = ReadExample(example.file);
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (const auto& [name, variant] : Variants(*graph)) {
      for (const bool fusion : {true, false}) {
        TrainerOptions options;
        options.symbols = example.symbols;
        options.threads = 1;
        options.fusion = fusion;
        OracleOptions oracle;
        oracle.index_limit = example.index_limit;
        const absl::Status status = ComparePlannedWithNaive(
            variant, ConfigOf("adamw", 1e-3f), options, oracle);
        EXPECT_TRUE(status.ok())
            << example.file << ", " << name << (fusion ? "" : ", no fusion")
            << ": " << status;
      }
    }
  }
}

// Compares the graphs of seeds [begin, end); returns how many trained. Counts
// the operators of those alone.
int CompareRandomGraphs(uint64_t begin, uint64_t end,
                        std::map<std::string, int>& coverage) {
  int trained = 0;
  const std::vector<std::string> optimizers = {"sgd",   "momentum", "adam",
                                               "adamw", "adagrad",  "rmsprop"};
  for (uint64_t seed = begin; seed < end; ++seed) {
    RandomGraphOptions shape;
    shape.num_ops = 4 + static_cast<int>(seed % 20);
    const proto::Graph graph = RandomGraph(seed, shape);
    proto::TrainConfig config = ConfigOf(optimizers[seed % 6], 1e-2f);
    if (seed % 4 == 1) config.set_clip_global_norm(1);
    if (seed % 5 == 2) config.set_accumulate_steps(2);
    TrainerOptions options;
    options.threads = 1 + static_cast<int>(seed % 2);
    options.fusion = seed % 3 != 0;
    options.source = absl::StrCat("random graph of seed ", seed);
    OracleOptions oracle;
    oracle.seed = seed;
    oracle.index_limit = kIndexLimit;
    const absl::Status status =
        ComparePlannedWithNaive(graph, config, options, oracle);
    // A loss that overflows is no matter of plans.
    if (status.code() == absl::StatusCode::kFailedPrecondition &&
        absl::StrContains(status.message(), "not a finite number")) {
      continue;
    }
    EXPECT_TRUE(status.ok()) << "seed " << seed << ": " << status << "\n"
                             << graph.DebugString();
    if (!status.ok()) break;
    CountOperators(graph, coverage);
    ++trained;
  }
  return trained;
}

TEST(PlannedEqualsNaiveTest, OnFiveHundredRandomGraphs) {
  std::map<std::string, int> coverage;
  const int trained = CompareRandomGraphs(0, 500, coverage);
  std::cout << trained << " graphs trained\n";
  EXPECT_GE(trained, 495) << "a few losses may overflow, no more";
  std::cout << "operators drawn:";
  for (const auto& [op, count] : coverage) {
    std::cout << " " << op << "=" << count;
  }
  std::cout << "\n";
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  for (const auto& [name, op] : ops->ops()) {
    if (op.internal) continue;
    EXPECT_GT(coverage[name], 0) << name << " is never drawn";
  }
}

// Gives a value that is written while another one is read for the last time
// the bytes of that other one, as if its life ended one step earlier.
bool ShortenALifetime(const LoweredGraph& lowered, Plan& plan) {
  const absl::StatusOr<PlanFacts> facts = CheckPlan(lowered, plan);
  if (!facts.ok()) return false;
  for (const LiveRange& victim : facts->ranges) {
    if (victim.value < 0 || victim.offset < plan.persistent_bytes ||
        victim.end - victim.begin < 3) {
      continue;
    }
    for (const LiveRange& thief : facts->ranges) {
      const bool fits = thief.value >= 0 && thief.begin == victim.end - 1 &&
                        thief.bytes <= victim.bytes && thief.bytes > 0 &&
                        thief.offset != victim.offset &&
                        thief.end < static_cast<int32_t>(plan.steps.size());
      if (!fits) continue;
      for (int32_t s = thief.begin; s < thief.end; ++s) {
        for (std::vector<Operand>* list :
             {&plan.steps[s].in, &plan.steps[s].out}) {
          for (Operand& operand : *list) {
            if (operand.value == thief.value &&
                operand.offset == thief.offset) {
              operand.offset = victim.offset;
            }
          }
        }
      }
      return true;
    }
  }
  return false;
}

TEST(PlannedEqualsNaiveTest, ALifetimeOneStepShortIsCaught) {
  const absl::StatusOr<proto::Graph> graph = ReadExample("digits_mlp");
  ASSERT_TRUE(graph.ok()) << graph.status();
  TrainerOptions options;
  options.symbols = {{"batch", 5}};
  options.threads = 1;
  absl::StatusOr<PlannedTrainer> planned =
      PlanTrainer(*graph, ConfigOf("sgd", 0.1f), options);
  ASSERT_TRUE(planned.ok()) << planned.status();
  PlannedPass& pass = *planned->plan.passes[0];
  Plan plan = pass.plan;
  ASSERT_TRUE(ShortenALifetime(pass.lowered, plan));

  const absl::Status checked = CheckPlan(pass.lowered, plan).status();
  EXPECT_FALSE(checked.ok()) << "the checker has missed it";

  OracleOptions oracle;
  oracle.index_limit = 10;
  oracle.check_plan = false;
  oracle.sabotage = [&plan](Plan& victim) { victim = plan; };
  const absl::Status compared =
      ComparePlannedWithNaive(*graph, ConfigOf("sgd", 0.1f), options, oracle);
  EXPECT_FALSE(compared.ok()) << "the comparison has missed it";
}

}  // namespace
}  // namespace reprise
