// Failures that frameworks elsewhere were reported for, in the nets that show
// them. Those that need no operators are in tests/planner.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/graph_builder.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/plan_oracle.h"

namespace reprise {
namespace {

using Value = GraphBuilder::Value;

TrainerOptions OneThread() {
  TrainerOptions options;
  options.threads = 1;
  options.evaluate = false;
  return options;
}

absl::Status Compare(const proto::Graph& graph,
                     const proto::TrainConfig& config) {
  OracleOptions oracle;
  oracle.index_limit = 3;
  return ComparePlannedWithNaive(graph, config, OneThread(), oracle);
}

// Bytes of a parameter's content after some steps of training.
std::vector<float> Trained(const proto::Graph& graph,
                           const proto::TrainConfig& config, int steps,
                           const std::string& name) {
  const absl::StatusOr<std::unique_ptr<Trainer>> trainer =
      MakeTrainer(graph, config, OneThread());
  EXPECT_TRUE(trainer.ok()) << trainer.status();
  if (!trainer.ok()) return {};
  for (int i = 0; i < steps; ++i) {
    FillInputs((*trainer)->next(), i, 3);
    const absl::Status status = (*trainer)->Step();
    EXPECT_TRUE(status.ok()) << status;
  }
  const absl::StatusOr<absl::Span<float>> value = (*trainer)->Persistent(name);
  EXPECT_TRUE(value.ok()) << value.status();
  return {value->begin(), value->end()};
}

PlannedTrainer PlanOf(const proto::Graph& graph,
                      const proto::TrainConfig& config,
                      TrainerOptions options = OneThread()) {
  absl::StatusOr<PlannedTrainer> planned = PlanTrainer(graph, config, options);
  EXPECT_TRUE(planned.ok()) << planned.status();
  return planned.ok() ? *std::move(planned) : PlannedTrainer();
}

// Views that share bytes: a gradient that goes through a chain of them was
// lost, or written over by another view's. With and without the chain, which
// leaves every element where it is, weights get the same bits.
TEST(PublicFailuresTest, AChainOfViewsLosesNoGradient) {
  const auto net = [](bool views) {
    GraphBuilder b("views");
    const Value x = b.Input("x", DType::kF32, {6, 8});
    const Value w1 = b.Parameter("w1", {8, 12});
    const Value w2 = b.Parameter("w2", {12, 1});
    const Value h = b.Add("Tanh", {b.Add("MatMul", {x, w1})});
    Value v = h;
    if (views) {
      v = b.Add("Reshape", {v}, {{"shape", Ints{6, 1, 3, 4}}});
      v = b.Add("Squeeze", {v}, {{"axes", Ints{1}}});
      v = b.Add("Flatten", {v}, {{"axis", 1}});
    }
    // A second reader of what the views show.
    v = b.Add("Mul", {v, h});
    v = b.Add("MatMul", {v, w2});
    b.Loss(b.Add("ReduceMean", {b.Add("Mul", {v, v})}, {{"keepdims", 0}}));
    return b.graph();
  };
  const proto::TrainConfig config = ConfigOf("sgd", 0.1f);
  const std::vector<float> initial = Trained(net(true), config, 0, "w1");
  const std::vector<float> with = Trained(net(true), config, 3, "w1");
  EXPECT_NE(with, initial) << "the gradient was lost";
  EXPECT_EQ(with, Trained(net(false), config, 3, "w1"));
  const absl::Status status = Compare(net(true), config);
  EXPECT_TRUE(status.ok()) << status;
}

// A loss of weight zero is no loss: its gradient, zeros, must neither take the
// place of another one's nor change it.
TEST(PublicFailuresTest, ALossOfWeightZeroChangesNoGradient) {
  const auto net = [](bool second, float weight) {
    GraphBuilder b("two losses");
    const Value x = b.Input("x", DType::kF32, {4, 8});
    const Value w = b.Parameter("w", {8, 8});
    const Value h = b.Add("Tanh", {b.Add("MatMul", {x, w})});
    b.Loss(b.Add("ReduceMean", {b.Add("Mul", {h, h})}, {{"keepdims", 0}}));
    if (second) {
      b.Loss(b.Add("ReduceSum", {b.Add("Exp", {h})}, {{"keepdims", 0}}),
             weight);
    }
    return b.graph();
  };
  const proto::TrainConfig config = ConfigOf("sgd", 0.1f);
  const std::vector<float> alone = Trained(net(false, 0), config, 3, "w");
  EXPECT_EQ(Trained(net(true, 0), config, 3, "w"), alone);
  EXPECT_NE(Trained(net(true, 1), config, 3, "w"), alone);
  for (const float weight : {0.0f, 1.0f}) {
    const absl::Status status = Compare(net(true, weight), config);
    EXPECT_TRUE(status.ok()) << "weight " << weight << ": " << status;
  }
}

proto::Graph ReadExample(const std::string& name) {
  const absl::StatusOr<proto::Graph> graph =
      ReadGraphFile(absl::StrCat("examples/", name, ".textproto"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : proto::Graph();
}

// A plan for the largest batch is kept, and a smaller one comes: everything in
// it is as large or smaller, so it has to fit. (Each batch has a plan of its
// own here; that it needs no more is not a matter of course, as kernels and
// placements depend on sizes too.)
TEST(PublicFailuresTest, SmallerTensorsFitTheArenaOfLargerOnes) {
  for (const std::string name :
       {"lesson", "digits_mlp", "mnist_cnn", "char_transformer", "deep_mlp"}) {
    const proto::Graph graph = ReadExample(name);
    const std::vector<int64_t> batches =
        name == "char_transformer" || name == "mnist_cnn"
            ? std::vector<int64_t>{1, 2, 3, 4, 5, 7, 8, 11, 16}
            : std::vector<int64_t>{1,  2,  3,  4,  5,  6,  7,  8,  9, 11,
                                   15, 16, 17, 24, 31, 32, 33, 48, 64};
    int64_t last = 0;
    int64_t last_batch = 0;
    for (const int64_t batch : batches) {
      TrainerOptions options = OneThread();
      options.symbols = {{"batch", batch}};
      const int64_t arena =
          PlanOf(graph, ConfigOf("adam", 1e-3f), options).plan.arena_bytes;
      EXPECT_GE(arena, last) << name << ": batch " << last_batch
                             << " needs more than batch " << batch;
      last = arena;
      last_batch = batch;
    }
  }
}

// Layers of width 32, each y = x w + b, with a Tanh behind every one where
// asked for.
proto::Graph Layers(int num_layers, bool activation, bool region_per_linear,
                    bool region_around_all) {
  GraphBuilder b("layers");
  Value v = b.Input("x", DType::kF32, {64, 32});
  const auto add = [&] {
    for (int i = 0; i < num_layers; ++i) {
      const Value w = b.Parameter(absl::StrCat("w", i), {32, 32});
      const Value bias = b.Parameter(absl::StrCat("b", i), {32});
      if (region_per_linear) {
        const GraphBuilder::Scope scope = b.Region(absl::StrCat("linear", i));
        v = b.Add("Gemm", {v, w, bias});
      } else {
        v = b.Add("Gemm", {v, w, bias});
      }
      if (activation) v = b.Add("Gelu", {v});
    }
  };
  if (region_around_all) {
    const GraphBuilder::Scope scope = b.Region("all");
    add();
  } else {
    add();
  }
  b.Loss(b.Add("ReduceMean", {b.Add("Mul", {v, v})}, {{"keepdims", 0}}));
  return b.graph();
}

// The first thing that people try, and it does nothing: the gradient of a
// linear layer reads its operand, which is the region's input, kept anyway. A
// tool that says nothing, or reports a saving, is wrong.
TEST(PublicFailuresTest, RegionsAroundSingleLinearLayersHaveNoEffect) {
  for (const bool activation : {false, true}) {
    const proto::TrainConfig config = ConfigOf("sgd", 0.1f);
    const PlannedTrainer bare =
        PlanOf(Layers(4, activation, false, false), config);
    const PlannedTrainer regions =
        PlanOf(Layers(4, activation, true, false), config);
    ASSERT_EQ(regions.reports[0].regions.size(), 4u);
    for (const RegionReport& region : regions.reports[0].regions) {
      EXPECT_EQ(region.verdict, Verdict::kNoEffect) << region.name;
      EXPECT_EQ(region.steps_replayed, 0) << region.name;
      EXPECT_EQ(region.bytes_avoided, 0) << region.name;
    }
    EXPECT_EQ(regions.plan.arena_bytes, bare.plan.arena_bytes);
  }
}

// One region around everything: the backward pass begins with a replay of the
// whole net, and everything lives again. The verdict is that of the true peaks.
TEST(PublicFailuresTest, ARegionAroundTheWholeNetIsJudgedByItsPeak) {
  for (const int num_layers : {2, 8}) {
    const proto::TrainConfig config = ConfigOf("sgd", 0.1f);
    const PlannedTrainer bare =
        PlanOf(Layers(num_layers, true, false, false), config);
    const PlannedTrainer whole =
        PlanOf(Layers(num_layers, true, false, true), config);
    ASSERT_EQ(whole.reports[0].regions.size(), 1u);
    const RegionReport& region = whole.reports[0].regions[0];
    EXPECT_GT(region.steps_replayed, 0);
    EXPECT_GT(region.bytes_avoided, 0);
    const int64_t bare_peak = bare.plan.passes[0]->plan.peak_live_bytes;
    const int64_t peak = whole.plan.passes[0]->plan.peak_live_bytes;
    EXPECT_EQ(region.peak_bytes_avoided, bare_peak - peak);
    EXPECT_EQ(region.verdict,
              peak < bare_peak ? Verdict::kSaves : Verdict::kCostsMore);
    // It cannot save a kept value's worth: all of them are there at once, when
    // the replay is done.
    EXPECT_LT(region.peak_bytes_avoided, region.bytes_avoided / 2);
  }
}

// A chain of 10,000 matmuls of 1 KiB each, in regions of 20, under a sum of
// squares. Kept: the input of each region but the first, which is the net's,
// and what is squared: 499 + 1 KiB. At the first gradients of the last region
// the squared value is dead and 19 values have been replayed (the last product
// is read by no gradient). With the net's input and the gradient that came in:
// 500 + 19 + 1 KiB. A gradient that is made and a copy of the weight, which
// some kernels want, add 1 KiB each where no larger scratchpad decides about
// the peak; scalars take 64 bytes each.
TEST(PublicFailuresTest, AChainOfTenThousandMatmulsInRegions) {
  constexpr int kMatmuls = 10'000;
  constexpr int kPerRegion = 20;
  GraphBuilder b("chain");
  Value v = b.Input("x", DType::kF32, {16, 16});
  for (int r = 0; r < kMatmuls / kPerRegion; ++r) {
    const GraphBuilder::Scope scope = b.Region(absl::StrCat("r", r));
    for (int i = 0; i < kPerRegion; ++i) {
      const std::string name = absl::StrCat(r, "_", i);
      const Value w = b.Parameter(absl::StrCat("w", name), {16, 16});
      v = b.Add("MatMul", {v, w}, {}, absl::StrCat("y", name));
    }
  }
  b.Loss(b.Add("ReduceSum", {b.Add("Mul", {v, v})}, {{"keepdims", 0}}));
  const PlannedTrainer planned = PlanOf(b.graph(), ConfigOf("sgd", 0.1f));
  ASSERT_EQ(planned.reports.size(), 1u);
  const PlanReport& report = planned.reports[0];
  int64_t kept = 0;
  for (const Residual& residual : report.residuals) kept += residual.bytes;
  EXPECT_EQ(kept, 500 * 1024);
  EXPECT_EQ(report.recomputed_steps, 500 * 19);
  const Plan& plan = planned.plan.passes[0]->plan;
  const int64_t peak = plan.peak_live_bytes - plan.persistent_bytes -
                       report.bytes_by_class.scratchpads;
  EXPECT_GE(peak, 520 * 1024);
  EXPECT_LT(peak, 523 * 1024);
}

// Clipping by the norm of all gradients keeps every one of them until the last
// is there; replays must not change their bits, and the report has to show what
// is alive for it.
TEST(PublicFailuresTest, ClippingUnderReplaysKeepsBitsAndShowsTheGradients) {
  const auto net = [](bool regions) {
    GraphBuilder b("clipped");
    Value v = b.Input("x", DType::kF32, {2, 64});
    for (int i = 0; i < 6; ++i) {
      const Value w = b.Parameter(absl::StrCat("w", i), {64, 64});
      const auto layer = [&] {
        v = b.Add("MatMul", {v, w});
        v = b.Add("Gelu", {v});
      };
      if (regions) {
        const GraphBuilder::Scope scope = b.Region(absl::StrCat("r", i));
        layer();
      } else {
        layer();
      }
    }
    b.Loss(b.Add("ReduceMean", {b.Add("Mul", {v, v})}, {{"keepdims", 0}}));
    return b.graph();
  };
  proto::TrainConfig config = ConfigOf("sgd", 0.1f);
  const PlannedTrainer plain = PlanOf(net(true), config);
  config.set_clip_global_norm(1e-4f);
  const PlannedTrainer clipped = PlanOf(net(true), config);
  constexpr int64_t kGradient = 64 * 64 * 4;
  // Without clipping a gradient dies before the next one is made; with it, all
  // six are alive at the peak, and called gradients.
  EXPECT_LT(plain.reports[0].bytes_by_class.gradients, 2 * kGradient);
  EXPECT_GE(clipped.reports[0].bytes_by_class.gradients, 6 * kGradient);
  EXPECT_GT(clipped.plan.arena_bytes, plain.plan.arena_bytes);
  const absl::Status status = Compare(net(true), config);
  EXPECT_TRUE(status.ok()) << status;
  for (const std::string name : {"w0", "w5"}) {
    const std::vector<float> trained = Trained(net(true), config, 3, name);
    EXPECT_EQ(trained, Trained(net(false), config, 3, name)) << name;
    EXPECT_NE(trained, Trained(net(true), config, 0, name)) << name;
  }
}

// Convolution, batch norm and activation in every order: frameworks fuse the
// usual one, and the others then go through paths that nobody runs.
TEST(PublicFailuresTest, ConvolutionNormAndActivationTrainInEveryOrder) {
  std::string kinds = "abc";  // activation, batch norm, convolution
  do {
    for (const bool regions : {false, true}) {
      GraphBuilder b(kinds);
      Value v = b.Input("x", DType::kF32, {3, 4, 6, 6});
      const auto block = [&](int i) {
        for (const char kind : kinds) {
          const std::string name = absl::StrCat(i, "_", std::string(1, kind));
          if (kind == 'a') {
            v = b.Add("Relu", {v}, {}, name);
          } else if (kind == 'c') {
            const Value w = b.Parameter(absl::StrCat("w", name), {4, 4, 3, 3},
                                        Init::VarianceScaling(2));
            v = b.Add("Conv", {v, w}, {{"pads", Ints{1, 1, 1, 1}}}, name);
          } else {
            const auto stat = [&](const char* what, float content) {
              return b.State(absl::StrCat(what, name), DType::kF32, {4},
                             Init::Constant(content));
            };
            const Value mean = stat("mean", 0);
            const Value var = stat("var", 1);
            const Value scale = b.Parameter(absl::StrCat("scale", name), {4},
                                            Init::Constant(1));
            const Value shift = b.Parameter(absl::StrCat("shift", name), {4});
            const auto out =
                b.AddMany("BatchNormalization", {v, scale, shift, mean, var},
                          {{"training_mode", 1}},
                          {name, absl::StrCat("mean_next", name),
                           absl::StrCat("var_next", name)});
            b.SetNext(mean, out[1]);
            b.SetNext(var, out[2]);
            v = out[0];
          }
        }
      };
      for (int i = 0; i < 2; ++i) {
        if (regions) {
          const GraphBuilder::Scope scope = b.Region(absl::StrCat("r", i));
          block(i);
        } else {
          block(i);
        }
      }
      b.Loss(b.Add("ReduceMean", {b.Add("Mul", {v, v})}, {{"keepdims", 0}}));
      const proto::TrainConfig config = ConfigOf("momentum", 0.01f);
      const absl::Status status = Compare(b.graph(), config);
      EXPECT_TRUE(status.ok()) << kinds << ": " << status;
      EXPECT_NE(Trained(b.graph(), config, 2, "w0_c"),
                Trained(b.graph(), config, 0, "w0_c"))
          << kinds;
      if (!regions) continue;
      const PlannedTrainer planned = PlanOf(b.graph(), config);
      EXPECT_GT(planned.reports[0].recomputed_steps, 0) << kinds;
    }
  } while (std::next_permutation(kinds.begin(), kinds.end()));
}

}  // namespace
}  // namespace reprise
