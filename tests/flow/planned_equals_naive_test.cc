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
#include "tests/testing/instances.h"
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

// Gives every region a policy.
proto::Graph WithPolicy(proto::Graph graph, const proto::Policy& policy) {
  for (proto::Region& region : *graph.mutable_region()) {
    *region.mutable_policy() = policy;
  }
  return graph;
}

// Asks the same of the first result of every `stride`-th node.
proto::Graph WithAnnotations(proto::Graph graph, int stride,
                             proto::ValueAnnotation::Keep keep) {
  graph.clear_annotation();
  for (int i = 0; i < graph.node_size(); i += stride) {
    proto::ValueAnnotation& annotation = *graph.add_annotation();
    annotation.set_value(graph.node(i).output(0));
    annotation.set_keep(keep);
  }
  return graph;
}

// Three regions within each other, each around a stretch of nodes in the order
// of the file, which in the examples is one in which they can run.
proto::Graph WithNestedRegions(const proto::Graph& bare) {
  proto::Graph graph = bare;
  for (const char* name : {"outer", "middle", "inner"}) {
    proto::Region& region = *graph.add_region();
    region.set_name(name);
    if (graph.region_size() > 1) {
      region.set_parent(graph.region(graph.region_size() - 2).name());
    }
  }
  graph.mutable_region(1)->mutable_policy()->set_save_matmuls(true);
  // outer 0..n, middle n/4..3n/4, inner n/3..n/2.
  const int n = graph.node_size();
  for (int i = 0; i < n; ++i) {
    const bool middle = i >= n / 4 && i < 3 * n / 4;
    const bool inner = i >= n / 3 && i < n / 2;
    graph.mutable_node(i)->set_region(inner    ? "inner"
                                      : middle ? "middle"
                                               : "outer");
  }
  return graph;
}

// The rarer annotations.
std::map<std::string, proto::Graph> MoreVariants(const proto::Graph& graph,
                                                 const proto::Graph& bare) {
  std::map<std::string, proto::Graph> variants;
  proto::Policy ops;
  for (const char* op : {"Relu", "Gelu", "LayerNormalization", "MaxPool"}) {
    ops.mutable_save_ops()->add_v(op);
  }
  variants["save_ops"] = WithPolicy(graph, ops);
  proto::Policy names;
  for (int i = 0; i < graph.node_size(); i += 3) {
    names.mutable_save_names()->add_v(graph.node(i).output(0));
  }
  variants["save_names"] = WithPolicy(graph, names);
  proto::Policy any;
  *any.mutable_any_of()->add_policy() = ops;
  any.mutable_any_of()->add_policy()->set_save_matmuls_without_batch_dims(true);
  variants["any_of"] = WithPolicy(graph, any);
  variants["nested regions"] = WithNestedRegions(bare);
  variants["must_save"] =
      WithAnnotations(graph, 4, proto::ValueAnnotation::MUST_SAVE);
  variants["must_recompute"] =
      WithAnnotations(bare, 4, proto::ValueAnnotation::MUST_RECOMPUTE);
  return variants;
}

// Compares one example under one annotation.
void CompareExample(const Example& example, const std::string& name,
                    const proto::Graph& graph, int threads, bool fusion) {
  TrainerOptions options;
  options.symbols = example.symbols;
  options.threads = threads;
  options.fusion = fusion;
  OracleOptions oracle;
  oracle.index_limit = example.index_limit;
  const absl::Status status =
      ComparePlannedWithNaive(graph, ConfigOf("adamw", 1e-3f), options, oracle);
  EXPECT_TRUE(status.ok()) << example.file << ", " << name << ", " << threads
                           << " threads" << (fusion ? "" : ", no fusion")
                           << ": " << status;
}

TEST(PlannedEqualsNaiveTest, OnEveryExampleUnderEveryAnnotation) {
  for (const Example& example : Examples()) {
    const absl::StatusOr<proto::Graph> graph = ReadExample(example.file);
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (const auto& [name, variant] : Variants(*graph)) {
      for (const bool fusion : {true, false}) {
        CompareExample(example, name, variant, /*threads=*/1, fusion);
      }
    }
  }
}

TEST(PlannedEqualsNaiveTest, OnEveryExampleUnderTheRarerAnnotations) {
  for (const Example& example : Examples()) {
    const absl::StatusOr<proto::Graph> graph = ReadExample(example.file);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const proto::Graph bare = Variants(*graph).at("bare");
    for (const auto& [name, variant] : MoreVariants(*graph, bare)) {
      // must_save may be refused where a fusion would swallow the value.
      CompareExample(example, name, variant, /*threads=*/1,
                     /*fusion=*/name != "must_save");
    }
  }
}

TEST(PlannedEqualsNaiveTest, OnEveryExampleOnTwoThreads) {
  for (const Example& example : Examples()) {
    const absl::StatusOr<proto::Graph> graph = ReadExample(example.file);
    ASSERT_TRUE(graph.ok()) << graph.status();
    CompareExample(example, "as written", *graph, /*threads=*/2,
                   /*fusion=*/true);
  }
}

// Counts policies by name, those of any_of too.
void CountPolicy(const proto::Policy& policy,
                 std::map<std::string, int>& coverage) {
  const google::protobuf::FieldDescriptor* const field =
      policy.GetReflection()->GetOneofFieldDescriptor(
          policy, policy.GetDescriptor()->oneof_decl(0));
  if (field == nullptr) return;
  ++coverage[std::string(field->name())];
  for (const proto::Policy& one : policy.any_of().policy()) {
    CountPolicy(one, coverage);
  }
}

// Compares the graphs of seeds [begin, end); returns how many trained. Counts
// the operators and policies of those alone.
int CompareRandomGraphs(uint64_t begin, uint64_t end,
                        std::map<std::string, int>& coverage) {
  int trained = 0;
  const std::vector<std::string> optimizers = {
      "sgd",     "momentum",  "adam",         "adamw",        "adagrad",
      "rmsprop", "onnx_adam", "onnx_adagrad", "onnx_momentum"};
  for (uint64_t seed = begin; seed < end; ++seed) {
    RandomGraphOptions shape;
    shape.num_ops = 4 + static_cast<int>(seed % 20);
    const proto::Graph graph = RandomGraph(seed, shape);
    proto::TrainConfig config =
        ConfigOf(optimizers[seed % optimizers.size()], 1e-2f);
    if (seed % 4 == 1) config.set_clip_global_norm(1);
    if (seed % 5 == 2) config.set_accumulate_steps(2);
    TrainerOptions options;
    // Two threads of a kernel that wait for one core take long: a seventh of
    // the graphs must do.
    options.threads = seed % 7 == 0 ? 2 : 1;
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
    for (const proto::Region& region : graph.region()) {
      CountPolicy(region.policy(), coverage);
    }
    ++trained;
  }
  return trained;
}

TEST(PlannedEqualsNaiveTest, OnFiveHundredRandomGraphs) {
  std::map<std::string, int> coverage;
  const int trained = CompareRandomGraphs(0, Instances(500), coverage);
  std::cout << trained << " graphs trained\n";
  EXPECT_GE(trained, Instances(500) - 5)
      << "a few losses may overflow, no more";
  std::cout << "operators and policies drawn:";
  for (const auto& [op, count] : coverage) {
    std::cout << " " << op << "=" << count;
  }
  std::cout << "\n";
  if (kSanitized) return;  // too few to draw each
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  for (const auto& [name, op] : ops->ops()) {
    if (op.internal) continue;
    EXPECT_GT(coverage[name], 0) << name << " is never drawn";
  }
  const google::protobuf::OneofDescriptor& policies =
      *proto::Policy::descriptor()->oneof_decl(0);
  for (int i = 0; i < policies.field_count(); ++i) {
    const std::string name(policies.field(i)->name());
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
