// The step graph: gradients that are asked for, updates, schedules, errors.

#include "core/train_step.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "core/graph_builder.h"
#include "core/train_config.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/plan_oracle.h"

namespace reprise {
namespace {

proto::Graph Net() {
  GraphBuilder b("net");
  const auto batch = b.Symbol("batch", 6);
  const auto x = b.Input("x", DType::kF32, {batch, 5});
  const auto w1 = b.Parameter("w1", {5, 7});
  const auto w2 = b.Parameter("w2", {7, 3});
  const auto h = b.Add("Tanh", {b.Add("MatMul", {x, w1})}, {}, "h");
  const auto y = b.Add("MatMul", {h, w2}, {}, "y");
  b.Output(y);
  b.Loss(
      b.Add("ReduceMean", {b.Add("Square", {y})}, {{"keepdims", 0}}, "loss"));
  return b.graph();
}

class TrainStepTest : public ::testing::Test {
 protected:
  absl::StatusOr<StepGraph> Build(const proto::Graph& graph,
                                  const proto::TrainConfig& config,
                                  PlanMode mode = PlanMode::kTrain) {
    absl::StatusOr<Graph> model = LoadGraph(graph, *ops_, {}, "test");
    EXPECT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    StepOptions options;
    options.mode = mode;
    options.config = config;
    return BuildStepGraph(model_, *ops_, options);
  }

  static int Count(const StepGraph& step, const std::string& op) {
    return static_cast<int>(
        std::count_if(step.graph.nodes.begin(), step.graph.nodes.end(),
                      [&](const Node& node) { return node.op->name == op; }));
  }

  std::unique_ptr<OpTable> ops_ = MakeOpTable();
  Graph model_;
};

// Returns a trained parameter's content.
std::vector<float> TrainedWeights(const proto::Graph& graph,
                                  const proto::TrainConfig& config, int steps,
                                  const std::string& name,
                                  const Bindings& symbols = {}) {
  TrainerOptions options;
  options.threads = 1;
  options.symbols = symbols;
  absl::StatusOr<std::unique_ptr<Trainer>> trainer =
      MakeTrainer(graph, config, options);
  EXPECT_TRUE(trainer.ok()) << trainer.status();
  for (int step = 0; step < steps; ++step) {
    FillInputs((*trainer)->next(), step, 3);
    const absl::Status status = (*trainer)->Step();
    EXPECT_TRUE(status.ok()) << status;
  }
  const absl::Span<const float> w = *(*trainer)->Persistent(name);
  return {w.begin(), w.end()};
}

TEST_F(TrainStepTest, FrozenParametersCostNoGradient) {
  proto::Graph graph = Net();
  graph.mutable_parameter(0)->set_trainable(false);
  const absl::StatusOr<StepGraph> step = Build(graph, ConfigOf("sgd", 0.1f));
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(Count(*step, "SgdUpdate"), 1);
  EXPECT_EQ(Count(*step, "TanhGrad"), 0) << "nothing below h is trained";
}

TEST_F(TrainStepTest, OverridesFreezeAndSlowParametersByPattern) {
  proto::TrainConfig config = ConfigOf("sgd", 0.1f);
  proto::Override& first = *config.add_override();
  first.set_pattern("w1");
  first.set_trainable(false);
  proto::Override& rest = *config.add_override();
  rest.set_pattern("w*");
  rest.set_lr_factor(0);
  const std::vector<float> initial = TrainedWeights(Net(), config, 0, "w2");
  EXPECT_EQ(TrainedWeights(Net(), config, 3, "w2"), initial);
  config.mutable_override(1)->set_lr_factor(1);
  EXPECT_NE(TrainedWeights(Net(), config, 3, "w2"), initial);
  EXPECT_EQ(TrainedWeights(Net(), config, 3, "w1"),
            TrainedWeights(Net(), config, 0, "w1"));
}

TEST_F(TrainStepTest, ClippingKeepsOneScalarNotScaledGradients) {
  proto::TrainConfig config = ConfigOf("sgd", 0.1f);
  config.set_clip_global_norm(0.5f);
  const absl::StatusOr<StepGraph> step = Build(Net(), config);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(Count(*step, "SquaredNorm"), 2);
  EXPECT_EQ(Count(*step, "ClipCoefficient"), 1);
  const absl::StatusOr<StepGraph> plain = Build(Net(), ConfigOf("sgd", 0.1f));
  ASSERT_TRUE(plain.ok()) << plain.status();
  // One norm a gradient, one coefficient, and nothing else of their size.
  EXPECT_EQ(step->graph.nodes.size(), plain->graph.nodes.size() + 3);
}

// SGD without momentum moves the weights by lr times the clipped gradient, so
// after one step of lr 1 the change has the norm of the clip.
TEST_F(TrainStepTest, ClippedGradientsHaveTheNormAskedFor) {
  proto::TrainConfig config = ConfigOf("sgd", 1.0f);
  config.set_clip_global_norm(1e-3f);
  double squares = 0;
  for (const std::string name : {"w1", "w2"}) {
    const std::vector<float> before = TrainedWeights(Net(), config, 0, name);
    const std::vector<float> after = TrainedWeights(Net(), config, 1, name);
    for (size_t i = 0; i < before.size(); ++i) {
      squares += std::pow(static_cast<double>(after[i]) - before[i], 2);
    }
  }
  // The weights are of order one, so their differences have 1e-7 of noise.
  EXPECT_NEAR(std::sqrt(squares), 1e-3, 3e-5);
}

TEST_F(TrainStepTest, AccumulatedMicroStepsUpdateEveryKthTime) {
  proto::TrainConfig config = ConfigOf("sgd", 0.1f);
  config.set_accumulate_steps(4);
  const std::vector<float> initial = TrainedWeights(Net(), config, 0, "w1");
  EXPECT_EQ(TrainedWeights(Net(), config, 3, "w1"), initial);
  EXPECT_NE(TrainedWeights(Net(), config, 4, "w1"), initial);
}

// The mean of two equal micro-batches' gradients is the gradient of one.
TEST_F(TrainStepTest, AccumulatingTheSameBatchTwiceIsOneStepOnIt) {
  proto::TrainConfig twice = ConfigOf("sgd", 0.1f);
  twice.set_accumulate_steps(2);
  TrainerOptions options;
  options.threads = 1;
  std::vector<std::vector<float>> weights;
  for (const proto::TrainConfig& config : {ConfigOf("sgd", 0.1f), twice}) {
    absl::StatusOr<std::unique_ptr<Trainer>> trainer =
        MakeTrainer(Net(), config, options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    while ((*trainer)->step() < 1) {
      FillInputs((*trainer)->next(), 1, 3);
      ASSERT_TRUE((*trainer)->Step().ok());
    }
    const absl::Span<const float> w = *(*trainer)->Persistent("w1");
    weights.emplace_back(w.begin(), w.end());
  }
  for (size_t i = 0; i < weights[0].size(); ++i) {
    EXPECT_NEAR(weights[0][i], weights[1][i], 1e-6);
  }
}

TEST_F(TrainStepTest, ALossOfWeightZeroChangesNothing) {
  proto::Graph graph = Net();
  GraphBuilder b("net");
  proto::Node& node = *graph.add_node();
  node.set_name("aux");
  node.set_op("ReduceSum");
  node.add_input("y");
  node.add_output("aux");
  proto::Attribute& keepdims = *node.add_attribute();
  keepdims.set_name("keepdims");
  keepdims.set_i(0);
  proto::Loss& loss = *graph.add_loss();
  loss.set_value("aux");
  loss.set_weight(0);
  EXPECT_EQ(TrainedWeights(graph, ConfigOf("sgd", 0.1f), 3, "w1"),
            TrainedWeights(Net(), ConfigOf("sgd", 0.1f), 3, "w1"));
}

TEST_F(TrainStepTest, LossesOfOneElementMayHaveAnyRank) {
  // Alone, weighted, and beside a scalar: the same training.
  const auto trained = [](bool keepdims, bool twice, float weight) {
    GraphBuilder b("net");
    const auto w = b.Parameter("w", {2, 3});
    const auto loss = [&](const std::string& name, bool keep) {
      return b.Add("ReduceMean", {b.Add("Square", {w})},
                   {{"keepdims", keep ? 1 : 0}}, name);
    };
    b.Loss(loss("loss", keepdims), weight);
    if (twice) b.Loss(loss("scalar", false), weight);
    return TrainedWeights(b.graph(), ConfigOf("sgd", 0.1f), 3, "w");
  };
  for (const bool twice : {false, true}) {
    for (const float weight : {1.0f, 0.5f}) {
      EXPECT_EQ(trained(true, twice, weight), trained(false, twice, weight));
    }
  }
}

TEST_F(TrainStepTest, StatesTakeTheirNextContentOnceAStepAndOnlyInTraining) {
  GraphBuilder b("counter");
  const auto x = b.Input("x", DType::kF32, {2, 3});
  const auto w = b.Parameter("w", {3, 1});
  const auto count = b.State("count", DType::kF32, {}, Init::Constant(0));
  const auto one = b.Frozen("one", DType::kF32, {}, Init::Constant(1));
  b.SetNext(count, b.Add("Add", {count, one}));
  b.Loss(b.Add("ReduceMean", {b.Add("Square", {b.Add("MatMul", {x, w})})},
               {{"keepdims", 0}}));
  TrainerOptions options;
  options.threads = 1;
  absl::StatusOr<std::unique_ptr<Trainer>> trainer =
      MakeTrainer(b.graph(), ConfigOf("sgd", 0.1f), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  for (int step = 0; step < 3; ++step) {
    FillInputs((*trainer)->next(), step, 1);
    ASSERT_TRUE((*trainer)->Step().ok());
    Pass& evaluate = **(*trainer)->Find(PlanMode::kEvaluate);
    FillInputs(evaluate, step, 1);
    ASSERT_TRUE((*trainer)->Run(evaluate).ok());
  }
  EXPECT_EQ((*(*trainer)->Persistent("count"))[0], 3.0f);
}

// In training BatchNormalization and Dropout run as other operators; policies
// and reports go by what the model says.
TEST_F(TrainStepTest, ExpandedNodesKeepTheNamesThatTheModelGives) {
  GraphBuilder b("norm");
  const auto x = b.Input("x", DType::kF32, {8, 4});
  const auto w = b.Parameter("w", {4, 4});
  const auto scale = b.Parameter("scale", {4}, Init::Constant(1));
  const auto shift = b.Parameter("shift", {4});
  const auto mean = b.State("mean", DType::kF32, {4}, Init::Constant(0));
  const auto var = b.State("var", DType::kF32, {4}, Init::Constant(1));
  GraphBuilder::Scope region = b.Region("r", Save::Ops({"BatchNormalization"}));
  const auto y = b.AddMany("BatchNormalization",
                           {b.Add("MatMul", {x, w}), scale, shift, mean, var},
                           {{"training_mode", 1}}, {"y", "mean2", "var2"});
  const auto g = b.Add("Gelu", {y[0]}, {}, "g");
  region.End();
  b.SetNext(mean, y[1]);
  b.SetNext(var, y[2]);
  b.Loss(b.Add("ReduceMean", {b.Add("Square", {g})}, {{"keepdims", 0}}));
  TrainerOptions options;
  options.threads = 1;
  const absl::StatusOr<PlannedTrainer> planned =
      PlanTrainer(b.graph(), ConfigOf("sgd", 0.1f), options);
  ASSERT_TRUE(planned.ok()) << planned.status();
  bool saved = false;
  for (const Residual& residual : planned->reports[0].residuals) {
    if (residual.value != "y") continue;
    saved = true;
    EXPECT_EQ(residual.producer_op, "BatchNormalization");
  }
  EXPECT_TRUE(saved) << "the policy names BatchNormalization";
}

TEST_F(TrainStepTest, SwappedRunningStatisticsAreRefusedByName) {
  GraphBuilder b("swapped");
  const auto x = b.Input("x", DType::kF32, {8, 4});
  const auto scale = b.Parameter("scale", {4}, Init::Constant(1));
  const auto shift = b.Parameter("shift", {4});
  const auto mean = b.State("mean", DType::kF32, {4}, Init::Constant(0));
  const auto var = b.State("var", DType::kF32, {4}, Init::Constant(1));
  const auto y = b.AddMany("BatchNormalization", {x, scale, shift, mean, var},
                           {{"training_mode", 1}}, {"y", "mean2", "var2"});
  b.SetNext(mean, y[2]);
  b.SetNext(var, y[1]);
  b.Loss(b.Add("ReduceMean", {b.Add("Square", {y[0]})}, {{"keepdims", 0}}));
  const absl::Status status = Build(b.graph(), ConfigOf("sgd", 0.1f)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_TRUE(absl::StrContains(
      status.message(), "state 'mean': its next is 'var2', but 'mean2'"))
      << status;
}

TEST_F(TrainStepTest, SchedulesFollowTheirFormulas) {
  proto::TrainConfig config = ConfigOf("sgd", 1.0f);
  proto::Schedule& schedule = *config.mutable_schedule();
  EXPECT_EQ(LearningRate(config, 1000), 1.0);
  schedule.set_warmup_steps(4);
  // 1/4, 2/4, 3/4, 4/4 and then the decay from its start.
  EXPECT_EQ(LearningRate(config, 0), 0.25);
  EXPECT_EQ(LearningRate(config, 3), 1.0);
  schedule.mutable_linear()->set_total_steps(14);
  EXPECT_EQ(LearningRate(config, 4), 1.0);
  EXPECT_EQ(LearningRate(config, 9), 0.5);  // 5 of 10 steps of decay
  EXPECT_EQ(LearningRate(config, 20), 0.0);
  schedule.mutable_cosine()->set_total_steps(14);
  schedule.mutable_cosine()->set_final_factor(0.5f);
  EXPECT_NEAR(LearningRate(config, 9), 0.75, 1e-12);
  EXPECT_NEAR(LearningRate(config, 14), 0.5, 1e-12);
  schedule.mutable_step()->set_every_steps(10);
  schedule.mutable_step()->set_factor(0.5f);
  EXPECT_EQ(LearningRate(config, 9), 1.0);
  EXPECT_EQ(LearningRate(config, 25), 0.25);
}

TEST_F(TrainStepTest, ConfigsThatMakeNoSenseAreRefusedWithFieldAndNumber) {
  const auto message = [](const proto::TrainConfig& config) {
    return std::string(CheckTrainConfig(config).message());
  };
  proto::TrainConfig config;
  EXPECT_TRUE(absl::StrContains(message(config), "format_version"));
  config.set_format_version(1);
  EXPECT_TRUE(absl::StrContains(message(config), "no optimizer"));
  config = ConfigOf("adam", 0.1f);
  config.mutable_adam()->set_beta2(1.5f);
  EXPECT_TRUE(absl::StrContains(message(config), "beta2")) << message(config);
  EXPECT_TRUE(absl::StrContains(message(config), "1.5")) << message(config);
  config = ConfigOf("sgd", -1);
  EXPECT_TRUE(absl::StrContains(message(config), "schedule.lr"));
  config = ConfigOf("sgd", 1);
  config.set_clip_global_norm(0);
  EXPECT_TRUE(absl::StrContains(message(config), "clip_global_norm"));
  config = ConfigOf("sgd", 1);
  config.mutable_sgd()->set_nesterov(true);
  EXPECT_TRUE(absl::StrContains(message(config), "nesterov"));
}

TEST_F(TrainStepTest, WithoutALossThereIsNothingToTrain) {
  proto::Graph graph = Net();
  graph.clear_loss();
  const absl::Status status = Build(graph, ConfigOf("sgd", 0.1f)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_TRUE(Build(graph, {}, PlanMode::kEvaluate).ok());
}

TEST_F(TrainStepTest, UnknownGradientNamesAreAnsweredWithTheKnownOnes) {
  const absl::Status status =
      PlanRunner(Net(), PlanMode::kGradients, {"w3"}, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "'x', 'w1', 'w2'")) << status;
}

// d/dx of mean(y^2), by central differences through the planned graph. The
// step balances truncation (h^2) against f32 rounding (1e-7 / h).
TEST_F(TrainStepTest, GradientsOfInputsMatchFiniteDifferences) {
  TrainerOptions options;
  options.threads = 1;
  absl::StatusOr<std::unique_ptr<Trainer>> runner =
      MakeRunner(Net(), PlanMode::kGradients, {"x", "w1"}, options);
  ASSERT_TRUE(runner.ok()) << runner.status();
  Pass& pass = (*runner)->next();
  const auto run = [&](int index, float shift) {
    FillInputs(pass, 11, 1);
    if (index >= 0) (*pass.Input<float>("x"))[index] += shift;
    EXPECT_TRUE((*runner)->Run(pass).ok());
    return pass.loss();
  };
  run(-1, 0);
  const absl::Span<const float> dx = *pass.Gradient("x");
  const std::vector<float> gradient(dx.begin(), dx.end());
  ASSERT_EQ(gradient.size(), 30u);
  const float h = 1e-2f;
  for (int i = 0; i < 30; ++i) {
    const float numeric = (run(i, h) - run(i, -h)) / (2 * h);
    EXPECT_NEAR(gradient[i], numeric, 1e-3) << "element " << i;
  }
}

}  // namespace
}  // namespace reprise
