// Whatever is in a model file is answered with a Status: the examples, damaged
// at random, are loaded and planned. The last line printed names the case that
// ended the process, if one does.

#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/mutate_message.h"

namespace reprise {
namespace {

// Returns the example with one to three changes.
proto::Graph Damaged(const proto::Graph& graph, uint64_t seed) {
  proto::Graph damaged = graph;
  for (uint64_t i = 0; i <= seed % 3; ++i) MutateMessage(damaged, 4 * seed + i);
  return damaged;
}

proto::Graph Example(absl::string_view model) {
  const absl::StatusOr<proto::Graph> graph =
      ReadGraphFile(absl::StrCat("examples/", model, ".textproto"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : proto::Graph();
}

void Announce(absl::string_view what, absl::string_view model, uint64_t seed) {
  std::cout << what << ' ' << model << ", seed " << seed << std::endl;
}

TEST(MutatedModelsTest, LoadOrAreRefused) {
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  for (const absl::string_view model :
       {"lesson", "lesson_two_layers", "digits_mlp", "mnist_cnn",
        "char_transformer"}) {
    const proto::Graph graph = Example(model);
    ASSERT_TRUE(LoadGraph(graph, *ops, {}, model).ok());
    int num_good = 0;
    for (uint64_t seed = 0; seed < 1000; ++seed) {
      Announce("load", model, seed);
      const absl::StatusOr<Graph> loaded =
          LoadGraph(Damaged(graph, seed), *ops, {}, model);
      if (loaded.ok()) {
        ++num_good;
        FingerprintsOf(*loaded);
      } else {
        EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument);
      }
    }
    // Damage that nothing survives would test the first stages only.
    EXPECT_GT(num_good, 20) << model;
  }
}

TEST(MutatedModelsTest, ArePlannedOrRefused) {
  TrainerOptions options;
  options.threads = 1;
  proto::TrainConfig config;
  config.set_format_version(1);
  config.mutable_sgd();
  for (const absl::string_view model : {"lesson", "digits_mlp", "mnist_cnn"}) {
    const proto::Graph graph = Example(model);
    int num_planned = 0;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      Announce("plan", model, seed);
      const absl::Status status =
          PlanTrainer(Damaged(graph, seed), config, options).status();
      // Internal would be a mistake of ours.
      EXPECT_NE(status.code(), absl::StatusCode::kInternal) << status;
      num_planned += status.ok();
    }
    EXPECT_GT(num_planned, 5) << model;
  }
}

}  // namespace
}  // namespace reprise
