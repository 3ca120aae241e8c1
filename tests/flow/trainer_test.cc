// The trainer as an embedder sees it: arenas, files, passes, allocations.

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/proto_file.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/plan_oracle.h"

namespace reprise {
namespace {

// A net with dropout and batch norm: everything that state and seeds touch.
constexpr char kModel[] = R"(
  format_version: 1
  name: "small"
  symbol { name: "batch" default_value: 8 }
  input { name: "x" type { dtype: FLOAT32 dim { symbol: "batch" } dim { value: 12 } } }
  input { name: "label" type { dtype: INT64 dim { symbol: "batch" } } }
  parameter { name: "w1" type { dtype: FLOAT32 dim { value: 12 } dim { value: 16 } } }
  parameter { name: "scale" type { dtype: FLOAT32 dim { value: 16 } } initializer { constant: 1 } }
  parameter { name: "shift" type { dtype: FLOAT32 dim { value: 16 } } }
  parameter { name: "w2" type { dtype: FLOAT32 dim { value: 16 } dim { value: 4 } } }
  state { name: "mean" type { dtype: FLOAT32 dim { value: 16 } } next: "mean_next" }
  state { name: "var" type { dtype: FLOAT32 dim { value: 16 } } initializer { constant: 1 } next: "var_next" }
  node { name: "fc1" op: "MatMul" input: "x" input: "w1" output: "a" region: "r" }
  node { name: "bn" op: "BatchNormalization"
         input: "a" input: "scale" input: "shift" input: "mean" input: "var"
         output: "b" output: "mean_next" output: "var_next"
         attribute { name: "training_mode" i: 1 } region: "r" }
  node { name: "relu" op: "Relu" input: "b" output: "h" region: "r" }
  node { name: "drop" op: "Dropout" input: "h" output: "d" region: "r" }
  node { name: "fc2" op: "MatMul" input: "d" input: "w2" output: "scores" }
  node { name: "loss" op: "SoftmaxCrossEntropyLoss" input: "scores" input: "label" output: "l" }
  region { name: "r" }
  output: "scores"
  loss { value: "l" }
)";

proto::Graph Model(const std::string& text = kModel) {
  proto::Graph graph;
  const absl::Status status = ParseText(text, "model", graph);
  EXPECT_TRUE(status.ok()) << status;
  return graph;
}

TrainerOptions Options() {
  TrainerOptions options;
  options.threads = 1;
  return options;
}

std::unique_ptr<Trainer> NewTrainer(const proto::TrainConfig& config,
                                    const TrainerOptions& options = Options(),
                                    const proto::Graph& graph = Model()) {
  absl::StatusOr<std::unique_ptr<Trainer>> trainer =
      MakeTrainer(graph, config, options);
  EXPECT_TRUE(trainer.ok()) << trainer.status();
  return trainer.ok() ? *std::move(trainer) : nullptr;
}

// Trains steps [begin, end) on inputs that the step number determines.
std::vector<float> Train(Trainer& trainer, int begin, int end) {
  std::vector<float> losses;
  for (int step = begin; step < end; ++step) {
    Pass& pass = trainer.next();
    FillInputs(pass, /*seed=*/step, /*index_limit=*/4);
    const absl::Status status = trainer.Step();
    EXPECT_TRUE(status.ok()) << status;
    losses.push_back(pass.loss());
  }
  return losses;
}

std::vector<float> Content(Trainer& trainer) {
  std::vector<float> content;
  for (const PersistentValue& value : trainer.plan().persistent) {
    if (value.type.dtype != DType::kF32) continue;
    const absl::StatusOr<absl::Span<float>> span =
        trainer.Persistent(value.name);
    EXPECT_TRUE(span.ok()) << span.status();
    content.insert(content.end(), span->begin(), span->end());
  }
  return content;
}

std::string TempFile(const std::string& name) {
  return absl::StrCat(::testing::TempDir(), "/", name);
}

TEST(TrainerTest, LossFallsOnFixedData) {
  const std::unique_ptr<Trainer> trainer = NewTrainer(ConfigOf("adam", 0.01f));
  ASSERT_NE(trainer, nullptr);
  float first = 0;
  for (int step = 0; step < 60; ++step) {
    FillInputs(trainer->next(), /*seed=*/5, /*index_limit=*/4);
    ASSERT_TRUE(trainer->Step().ok());
    if (step == 0) first = trainer->next().loss();
  }
  EXPECT_LT(trainer->next().loss(), 0.7f * first);
}

TEST(TrainerTest, ResumedRunEqualsAnUninterruptedOneBitForBit) {
  const proto::TrainConfig config = ConfigOf("adamw", 0.01f);
  const std::unique_ptr<Trainer> whole = NewTrainer(config);
  const std::vector<float> losses = Train(*whole, 0, 10);

  const std::string path = TempFile("resume.safetensors");
  {
    const std::unique_ptr<Trainer> before = NewTrainer(config);
    Train(*before, 0, 4);
    ASSERT_TRUE(before->SaveCheckpoint(path).ok());
  }
  const std::unique_ptr<Trainer> after = NewTrainer(config);
  const absl::Status resumed = after->Resume(path);
  ASSERT_TRUE(resumed.ok()) << resumed;
  EXPECT_EQ(after->step(), 4);
  const std::vector<float> rest = Train(*after, 4, 10);
  EXPECT_EQ(rest, std::vector<float>(losses.begin() + 4, losses.end()));
  EXPECT_EQ(Content(*after), Content(*whole));
}

TEST(TrainerTest, ResumeInTheMiddleOfAccumulatedStepsIsBitEqualToo) {
  proto::TrainConfig config = ConfigOf("momentum", 0.05f);
  config.set_accumulate_steps(3);
  const std::unique_ptr<Trainer> whole = NewTrainer(config);
  Train(*whole, 0, 9);
  const std::string path = TempFile("accumulate.safetensors");
  const std::unique_ptr<Trainer> before = NewTrainer(config);
  Train(*before, 0, 4);  // one step of 3 micro-steps, and one micro-step
  EXPECT_EQ(before->step(), 1);
  ASSERT_TRUE(before->SaveCheckpoint(path).ok());
  const std::unique_ptr<Trainer> after = NewTrainer(config);
  ASSERT_TRUE(after->Resume(path).ok());
  Train(*after, 4, 9);
  EXPECT_EQ(Content(*after), Content(*whole));
}

TEST(TrainerTest, ResumeRefusesAnotherBatchUnlessAskedAndWeightsNeverDo) {
  const proto::TrainConfig config = ConfigOf("adam", 0.01f);
  const std::unique_ptr<Trainer> small = NewTrainer(config);
  Train(*small, 0, 2);
  const std::string checkpoint = TempFile("batch.safetensors");
  const std::string weights = TempFile("weights.safetensors");
  ASSERT_TRUE(small->SaveCheckpoint(checkpoint).ok());
  ASSERT_TRUE(small->SaveWeights(weights).ok());

  TrainerOptions options = Options();
  options.symbols = {{"batch", 16}};
  const std::unique_ptr<Trainer> large = NewTrainer(config, options);
  const std::vector<float> untouched = Content(*large);
  const absl::Status refused = large->Resume(checkpoint);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_EQ(Content(*large), untouched);
  EXPECT_TRUE(large->LoadWeights(weights).ok());
  ResumeOptions anyway;
  anyway.allow_different_math = true;
  EXPECT_TRUE(large->Resume(checkpoint, anyway).ok());
  EXPECT_EQ(large->step(), 2);
}

TEST(TrainerTest, RegionsChangeNoBitOfTheTraining) {
  proto::Graph bare = Model();
  bare.clear_region();
  for (proto::Node& node : *bare.mutable_node()) node.clear_region();
  const proto::TrainConfig config = ConfigOf("adam", 0.01f);
  const std::unique_ptr<Trainer> with = NewTrainer(config);
  const std::unique_ptr<Trainer> without = NewTrainer(config, Options(), bare);
  EXPECT_EQ(Train(*with, 0, 5), Train(*without, 0, 5));
  // Running statistics are among the persistent values.
  EXPECT_EQ(Content(*with), Content(*without));
  EXPECT_LT(without->plan().passes[0]->plan.steps.size(),
            with->plan().passes[0]->plan.steps.size());
}

TEST(TrainerTest, EvaluatingBetweenStepsChangesNoBit) {
  const proto::TrainConfig config = ConfigOf("adam", 0.01f);
  TrainerOptions options = Options();
  options.more_symbols = {{{"batch", 3}}};
  const std::unique_ptr<Trainer> plain = NewTrainer(config, options);
  const std::unique_ptr<Trainer> mixed = NewTrainer(config, options);
  for (int step = 0; step < 6; ++step) {
    Train(*plain, step, step + 1);
    Train(*mixed, step, step + 1);
    for (const Bindings& symbols : {Bindings{}, Bindings{{"batch", 3}}}) {
      absl::StatusOr<Pass*> pass = mixed->Find(PlanMode::kEvaluate, symbols);
      ASSERT_TRUE(pass.ok()) << pass.status();
      FillInputs(**pass, /*seed=*/99, /*index_limit=*/4);
      ASSERT_TRUE(mixed->Run(**pass).ok());
    }
  }
  EXPECT_EQ(Content(*plain), Content(*mixed));
}

TEST(TrainerTest, PartialBatchTrainsInTheSameArena) {
  TrainerOptions options = Options();
  options.more_symbols = {{{"batch", 3}}};
  const std::unique_ptr<Trainer> trainer =
      NewTrainer(ConfigOf("sgd", 0.1f), options);
  Train(*trainer, 0, 2);
  absl::StatusOr<Pass*> partial =
      trainer->Find(PlanMode::kTrain, {{"batch", 3}});
  ASSERT_TRUE(partial.ok()) << partial.status();
  EXPECT_EQ((*partial)->Input<float>("x")->size(), 3u * 12u);
  FillInputs(**partial, 1, 4);
  EXPECT_TRUE(trainer->Step(**partial).ok());
  EXPECT_EQ(trainer->step(), 3);
  const absl::Status missing =
      trainer->Find(PlanMode::kTrain, {{"batch", 5}}).status();
  EXPECT_TRUE(absl::StrContains(missing.message(), "train{batch=3}"))
      << missing;
}

TEST(TrainerTest, NonFiniteLossStopsBeforeAnyUpdate) {
  const std::unique_ptr<Trainer> trainer = NewTrainer(ConfigOf("adam", 0.01f));
  Train(*trainer, 0, 2);
  const std::vector<float> before = Content(*trainer);
  FillInputs(trainer->next(), 1, 4);
  (*trainer->next().Input<float>("x"))[0] =
      std::numeric_limits<float>::quiet_NaN();
  const absl::Status status = trainer->Step();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_EQ(Content(*trainer), before);
  EXPECT_EQ(trainer->step(), 2);
  Train(*trainer, 2, 3);  // and it goes on
  EXPECT_EQ(trainer->step(), 3);
}

TEST(TrainerTest, CallersArenaIsNeverWrittenOutside) {
  absl::StatusOr<PlannedTrainer> planned =
      PlanTrainer(Model(), ConfigOf("adam", 0.01f), Options());
  ASSERT_TRUE(planned.ok()) << planned.status();
  const int64_t bytes = planned->plan.arena_bytes;
  constexpr int64_t kGuard = 4096;
  std::unique_ptr<char, decltype(&std::free)> block(
      static_cast<char*>(
          std::aligned_alloc(4096, (bytes + 3 * kGuard) / 4096 * 4096)),
      &std::free);
  std::memset(block.get(), 0x5A, (bytes + 3 * kGuard) / 4096 * 4096);
  absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::Create(
      std::move(planned->plan),
      absl::MakeSpan(block.get() + kGuard, static_cast<size_t>(bytes)));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  Train(**trainer, 0, 5);
  absl::StatusOr<Pass*> evaluate = (*trainer)->Find(PlanMode::kEvaluate);
  ASSERT_TRUE(evaluate.ok());
  FillInputs(**evaluate, 1, 4);
  ASSERT_TRUE((*trainer)->Run(**evaluate).ok());
  for (int64_t i = 0; i < kGuard; ++i) {
    ASSERT_EQ(block.get()[i], 0x5A) << "byte " << i - kGuard;
    ASSERT_EQ(block.get()[kGuard + bytes + i], 0x5A) << "byte +" << i;
  }
}

TEST(TrainerTest, RefusesAnArenaThatIsTooSmallOrUnaligned) {
  for (const int64_t shift : {0, 4}) {
    absl::StatusOr<PlannedTrainer> planned =
        PlanTrainer(Model(), ConfigOf("sgd", 0.1f), Options());
    ASSERT_TRUE(planned.ok());
    const int64_t bytes = planned->plan.arena_bytes;
    std::unique_ptr<char, decltype(&std::free)> block(
        static_cast<char*>(std::aligned_alloc(64, AlignUp(bytes) + 64)),
        &std::free);
    const size_t size = static_cast<size_t>(shift == 0 ? bytes - 1 : bytes);
    const absl::Status status =
        Trainer::Create(std::move(planned->plan),
                        absl::MakeSpan(block.get() + shift, size))
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat(bytes)))
        << status;
  }
}

TEST(TrainerTest, TwoTrainersInTwoThreadsDoNotDisturbEachOther) {
  const proto::TrainConfig config = ConfigOf("adam", 0.01f);
  const std::unique_ptr<Trainer> alone = NewTrainer(config);
  const std::vector<float> expected = Train(*alone, 0, 20);
  const std::unique_ptr<Trainer> a = NewTrainer(config);
  const std::unique_ptr<Trainer> b = NewTrainer(config);
  std::vector<float> losses_a;
  std::vector<float> losses_b;
  std::thread thread_a([&] { losses_a = Train(*a, 0, 20); });
  std::thread thread_b([&] { losses_b = Train(*b, 0, 20); });
  thread_a.join();
  thread_b.join();
  EXPECT_EQ(losses_a, expected);
  EXPECT_EQ(losses_b, expected);
}

TEST(TrainerTest, SavedWeightsGiveTheSameEvaluation) {
  const std::unique_ptr<Trainer> trained = NewTrainer(ConfigOf("adam", 0.01f));
  Train(*trained, 0, 5);
  const std::string path = TempFile("trained.safetensors");
  ASSERT_TRUE(trained->SaveWeights(path).ok());
  const std::unique_ptr<Trainer> fresh = NewTrainer(ConfigOf("sgd", 0.1f));
  const absl::Status loaded = fresh->LoadWeights(path);
  ASSERT_TRUE(loaded.ok()) << loaded;
  std::vector<float> losses;
  for (Trainer* trainer : {trained.get(), fresh.get()}) {
    Pass& pass = **trainer->Find(PlanMode::kEvaluate);
    FillInputs(pass, 3, 4);
    ASSERT_TRUE(trainer->Run(pass).ok());
    losses.push_back(pass.loss());
  }
  EXPECT_EQ(losses[0], losses[1]);
}

TEST(TrainerTest, UnknownNamesAndTypesAreAnsweredWithTheKnownOnes) {
  const std::unique_ptr<Trainer> trainer = NewTrainer(ConfigOf("sgd", 0.1f));
  EXPECT_TRUE(absl::StrContains(
      trainer->next().Input<float>("y").status().message(), "'x', 'label'"));
  EXPECT_TRUE(absl::StrContains(
      trainer->next().Input<float>("label").status().message(), "i64[8]"));
}

// ONNX's optimizers, once on request: each lowers the loss and stays finite.
TEST(TrainerTest, OnnxsOptimizersTrain) {
  for (const char* optimizer : {"onnx_adam", "onnx_adagrad", "onnx_momentum"}) {
    const std::unique_ptr<Trainer> trainer =
        NewTrainer(ConfigOf(optimizer, 0.01f));
    ASSERT_NE(trainer, nullptr);
    float first = 0;
    for (int step = 0; step < 60; ++step) {
      FillInputs(trainer->next(), /*seed=*/5, /*index_limit=*/4);
      ASSERT_TRUE(trainer->Step().ok()) << optimizer;
      if (step == 0) first = trainer->next().loss();
    }
    EXPECT_LT(trainer->next().loss(), 0.9f * first) << optimizer;
  }
}

TEST(TrainerTest, RefusesRatesThatOnnxsOptimizersCannotUse) {
  proto::TrainConfig config = ConfigOf("onnx_adam", 0.01f);
  config.mutable_onnx_adam()->set_alpha(1);
  EXPECT_EQ(MakeTrainer(Model(), config, Options()).status().message(),
            "train config: onnx_adam.alpha must be in [0, 1), got 1");
  config = ConfigOf("onnx_momentum", 0.01f);
  config.mutable_onnx_momentum()->set_alpha(-1);
  EXPECT_EQ(MakeTrainer(Model(), config, Options()).status().message(),
            "train config: onnx_momentum.alpha must not be negative, got -1");
}

}  // namespace
}  // namespace reprise
