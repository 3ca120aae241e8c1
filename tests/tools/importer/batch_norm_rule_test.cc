// Batch normalizations of inference mode that are to be trained.

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/tools/importer/onnx_builder.h"
#include "tools/conformance/compare.h"
#include "tools/data/pass_arrays.h"

namespace reprise {
namespace {

// y = batch norm of x [2, 1], scale 1, bias 0, running mean 4, variance 9,
// momentum 0.5, epsilon 0, as exporters write inference.
OnnxBuilder Norm() {
  OnnxBuilder builder;
  builder.Input("x", {"2", "1"})
      .Floats("scale", {1}, {1})
      .Floats("bias", {1}, {0})
      .Floats("mean", {1}, {4})
      .Floats("var", {1}, {9})
      .Output("y");
  onnx::NodeProto& node = builder.Node(
      "BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"});
  OnnxBuilder::Float(node, "momentum", 0.5f);
  OnnxBuilder::Float(node, "epsilon", 0.0f);
  return builder;
}

Array Floats(const Dims& dims, const std::vector<float>& elements) {
  Array array;
  array.type = {DType::kF32, dims};
  array.data.assign(reinterpret_cast<const char*>(elements.data()),
                    elements.size() * sizeof(float));
  return array;
}

// Of x = (1, 3): the batch's mean is 2 and its deviation 1, so (-1, 1); by the
// running statistics it is ((1 - 4) / 3, (3 - 4) / 3).
void ExpectGives(PlanMode mode, bool train_batch_norm,
                 const std::vector<float>& y) {
  OnnxBuilder builder = Norm();
  ImportOptions options;
  options.train_batch_norm = train_batch_norm;
  options.loss = "mse";
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  TrainerOptions trainer;
  trainer.threads = 1;
  const absl::StatusOr<std::unique_ptr<Trainer>> runner =
      MakeRunner(imported->graph, mode, {}, trainer);
  ASSERT_TRUE(runner.ok()) << runner.status();
  ASSERT_TRUE(SetWeights(*imported, **runner).ok());
  const absl::StatusOr<Pass*> pass = (*runner)->Find(mode);
  ASSERT_TRUE(pass.ok()) << pass.status();
  const Array label = Floats({2, 1}, {0, 0});
  ASSERT_TRUE(
      WriteInputs(*imported, {Floats({2, 1}, {1, 3}), label}, **pass).ok());
  ASSERT_TRUE((*runner)->Run(**pass).ok());
  const absl::StatusOr<std::vector<PassResult>> results = ReadResults(**pass);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(Difference((*results)[0].array, Floats({2, 1}, y), 1e-5, 1e-6), "");
}

TEST(BatchNormRuleTest, EvaluationReadsTheRunningStatistics) {
  for (const bool train : {false, true}) {
    ExpectGives(PlanMode::kEvaluate, train, {-1.0f, -1.0f / 3});
  }
}

TEST(BatchNormRuleTest, TrainingReadsTheBatchIfItIsToBeTrained) {
  ExpectGives(PlanMode::kGradients, true, {-1, 1});
  ExpectGives(PlanMode::kGradients, false, {-1.0f, -1.0f / 3});
}

// The next mean is 0.5 * 4 + 0.5 * 2, the next variance 0.5 * 9 + 0.5 * 1.
TEST(BatchNormRuleTest, StatisticsBecomeStatesThatMove) {
  OnnxBuilder builder = Norm();
  ImportOptions options;
  options.train_batch_norm = true;
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->graph.state_size(), 2);
  EXPECT_EQ(imported->graph.state(0).name(), "mean");
  EXPECT_FALSE(imported->graph.state(0).next().empty());
  // Scale and bias, and for each statistic its momentum and the rest of 1.
  EXPECT_EQ(imported->graph.parameter_size(), 6);
  EXPECT_TRUE(imported->notes.empty());
}

TEST(BatchNormRuleTest, WithoutTheWishStatisticsAreConstants) {
  OnnxBuilder builder = Norm();
  const absl::StatusOr<ImportedModel> imported = builder.Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.state_size(), 0);
}

TEST(BatchNormRuleTest, AModelWithoutOneGetsANote) {
  OnnxBuilder builder;
  builder.Input("x", {"2"}).Output("y");
  builder.Node("Relu", {"x"}, {"y"});
  ImportOptions options;
  options.train_batch_norm = true;
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->notes.size(), 1u);
}

}  // namespace
}  // namespace reprise
