// A chain of 100,000 nodes goes through every stage up to a checked plan, on a
// small stack (nothing recurses over depth) and in bounded memory. The time is
// bounded by the timeout of the target.

#include <pthread.h>
#include <sys/resource.h>

#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/check_plan.h"
#include "core/proto_file.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/instances.h"
#include "tests/testing/plan_oracle.h"

namespace reprise {
namespace {

// Sanitizers slow everything down, and take memory and stack of their own:
// there a tenth of the nodes must do.
#ifdef REPRISE_SANITIZED
constexpr int kNodes = 10'000;
constexpr size_t kStackBytes = size_t{4} << 20;
#else
constexpr int kNodes = 100'000;
// A frame for each node would need some ten bytes to fit.
constexpr size_t kStackBytes = size_t{1} << 20;
#endif
constexpr int kRegionNodes = 200;
constexpr int64_t kMostKibibytes = int64_t{4} << 20;  // 4 GiB

// x -> MatMul -> Tanh -> Relu -> Add -> MatMul -> ..., then a loss. The weights
// are few, and each is read by many nodes. Every kRegionNodes nodes are a
// region.
std::string SerializedChain() {
  proto::Graph graph;
  graph.set_format_version(1);
  graph.set_name("chain");
  const auto matrix = [](proto::TensorType& type, int64_t rows) {
    type.set_dtype(proto::FLOAT32);
    type.add_dim()->set_value(rows);
    type.add_dim()->set_value(4);
  };
  proto::Input& x = *graph.add_input();
  x.set_name("x");
  matrix(*x.mutable_type(), 2);
  for (int i = 0; i < 10; ++i) {
    proto::Parameter& w = *graph.add_parameter();
    w.set_name(absl::StrCat("w", i));
    matrix(*w.mutable_type(), 4);
    w.mutable_initializer()->set_identity(true);
  }
  proto::Parameter& bias = *graph.add_parameter();
  bias.set_name("bias");
  matrix(*bias.mutable_type(), 1);
  std::string last = "x";
  for (int i = 0; i < kNodes; ++i) {
    if (i % kRegionNodes == 0) {
      graph.add_region()->set_name(absl::StrCat("r", i / kRegionNodes));
    }
    proto::Node& node = *graph.add_node();
    node.set_region(absl::StrCat("r", i / kRegionNodes));
    node.add_input(last);
    switch (i % 4) {
      case 0:
        node.set_op("MatMul");
        node.add_input(absl::StrCat("w", i / 4 % 10));
        break;
      case 1:
        node.set_op("Tanh");
        break;
      case 2:
        node.set_op("Relu");
        break;
      default:
        node.set_op("Add");
        node.add_input("bias");
    }
    last = absl::StrCat("v", i);
    node.add_output(last);
  }
  proto::Node& sum = *graph.add_node();
  sum.set_op("ReduceSum");
  sum.add_input(last);
  sum.add_output("loss");
  proto::Attribute& keepdims = *sum.add_attribute();
  keepdims.set_name("keepdims");
  keepdims.set_i(0);
  graph.add_loss()->set_value("loss");
  return graph.SerializeAsString();
}

// From the bytes of a file to a checked plan.
void LoadPlanAndCheck() {
  proto::Graph graph;
  const absl::Status parsed = ParseBinary(SerializedChain(), "chain.pb", graph);
  ASSERT_TRUE(parsed.ok()) << parsed;
  TrainerOptions options;
  options.threads = 1;
  options.evaluate = false;
  const absl::StatusOr<PlannedTrainer> planned =
      PlanTrainer(graph, ConfigOf("sgd", 0.1f), options);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const PlannedPass& pass = *planned->plan.passes[0];
  EXPECT_GT(pass.plan.steps.size(), static_cast<size_t>(kNodes));
  // Each region but the last replays something.
  EXPECT_GT(planned->reports[0].recomputed_steps, kNodes / kRegionNodes);
  const absl::StatusOr<PlanFacts> facts = CheckPlan(pass.lowered, pass.plan);
  EXPECT_TRUE(facts.ok()) << facts.status();
  std::cout << pass.plan.steps.size() << " steps, arena "
            << planned->plan.arena_bytes << " bytes\n";
}

TEST(LargeGraphTest, AHundredThousandNodesArePlannedOnASmallStack) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  pthread_t thread;
  const auto run = [](void*) -> void* {
    LoadPlanAndCheck();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, nullptr), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);

  rusage usage;
  ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  std::cout << usage.ru_maxrss / 1024 << " MiB at most\n";
  EXPECT_LT(usage.ru_maxrss, kMostKibibytes);
}

}  // namespace
}  // namespace reprise
