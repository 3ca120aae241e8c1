// An activation inside a kernel against the same one as a node of its own.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/graph_builder.h"
#include "core/status_macros.h"
#include "gtest/gtest.h"
#include "reprise.h"

namespace reprise {
namespace {

struct FusionCase {
  std::string op;
  std::vector<Dims> in;
  BuilderAttrs attrs;
};

struct Outcome {
  size_t num_nodes = 0;
  std::vector<float> y;
};

// Runs Relu(op(x0, x1, ..)) on waves of both signs, with a NaN among x0.
absl::StatusOr<Outcome> RunCase(const FusionCase& c, bool fusion) {
  GraphBuilder b("fusion");
  GraphBuilder::Values in;
  for (size_t i = 0; i < c.in.size(); ++i) {
    in.push_back(b.Input("x" + std::to_string(i), DType::kF32,
                         BuilderDims(c.in[i].begin(), c.in[i].end())));
  }
  const BuilderValue y = b.Add("Relu", {b.Add(c.op, in, c.attrs)}, {}, "y");
  b.Output(y);
  TrainerOptions options;
  options.threads = 2;
  options.fusion = fusion;
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> runner,
                   MakeRunner(b.graph(), PlanMode::kForward, {}, options));
  Pass& pass = runner->next();
  for (size_t i = 0; i < c.in.size(); ++i) {
    ASSIGN_OR_RETURN(const absl::Span<float> x,
                     pass.Input<float>("x" + std::to_string(i)));
    for (size_t k = 0; k < x.size(); ++k) {
      x[k] = static_cast<float>(
          std::sin(0.7 * static_cast<double>(k) + static_cast<double>(i)));
    }
  }
  // One row of the result is NaN with it, and must stay so.
  (*pass.Input<float>("x0"))[3] = std::numeric_limits<float>::quiet_NaN();
  RETURN_IF_ERROR(runner->Run(pass));
  ASSIGN_OR_RETURN(const absl::Span<const float> out, pass.Output<float>("y"));
  return Outcome{pass.planned().lowered.nodes.size(),
                 std::vector<float>(out.begin(), out.end())};
}

TEST(FusionTest, ReluInsideAKernelGivesTheSameBits) {
  const std::vector<FusionCase> cases = {
      {"MatMul", {{37, 33}, {33, 50}}, {}},
      {"MatMul", {{2, 3, 5, 17}, {3, 17, 9}}, {}},
      {"MatMul", {{4, 6, 17}, {17, 9}}, {}},
      {"Gemm", {{37, 33}, {33, 50}, {50}}, {}},
      {"Gemm", {{37, 33}, {33, 50}, {37, 1}}, {}},
      {"Gemm",
       {{33, 37}, {50, 33}, {50}},
       {{"transA", 1}, {"transB", 1}, {"alpha", 0.5}}},
      {"Gemm", {{5, 7}, {7, 6}}, {{"alpha", 2.0}}},
      {"Conv",
       {{2, 16, 9, 9}, {32, 16, 3, 3}, {32}},
       {{"pads", Ints{1, 1, 1, 1}}}},
      {"Conv", {{2, 3, 9, 9}, {5, 3, 1, 1}}, {}},
      {"Conv", {{2, 8, 9, 9}, {8, 1, 3, 3}, {8}}, {{"group", 8}}},
      {"BatchNormalization",
       {{4, 19, 5, 5}, {19}, {19}, {19}, {19}},
       {{"training_mode", 1}}},
      {"BatchNormalization",
       {{40, 33}, {33}, {33}, {33}, {33}},
       {{"training_mode", 1}}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(testing::Message() << cases[i].op << ", case " << i);
    const absl::StatusOr<Outcome> fused = RunCase(cases[i], /*fusion=*/true);
    const absl::StatusOr<Outcome> apart = RunCase(cases[i], /*fusion=*/false);
    ASSERT_TRUE(fused.ok()) << fused.status();
    ASSERT_TRUE(apart.ok()) << apart.status();
    EXPECT_EQ(fused->num_nodes + 1, apart->num_nodes);
    EXPECT_TRUE(std::any_of(fused->y.begin(), fused->y.end(),
                            [](float y) { return std::isnan(y); }));
    ASSERT_EQ(fused->y.size(), apart->y.size());
    EXPECT_EQ(std::memcmp(fused->y.data(), apart->y.data(),
                          fused->y.size() * sizeof(float)),
              0);
  }
}

// Gradients of sum(w * Relu(BatchNormalization(x))).
absl::StatusOr<Outcome> RunGradients(const Dims& dims, int training_mode,
                                     bool fusion) {
  const BuilderDims x_dims(dims.begin(), dims.end());
  const BuilderDims channels = {dims[1]};
  GraphBuilder b("gradients");
  const auto x = b.Input("x", DType::kF32, x_dims);
  const auto w = b.Input("w", DType::kF32, x_dims);
  const auto scale = b.Parameter("scale", channels, Init::Uniform(1, 2));
  const auto shift = b.Parameter("shift", channels, Init::Uniform(-1, 1));
  const auto mean =
      b.Frozen("mean", DType::kF32, channels, Init::Uniform(-1, 1));
  const auto var = b.Frozen("var", DType::kF32, channels, Init::Uniform(1, 2));
  const auto y =
      b.Add("Relu", {b.Add("BatchNormalization", {x, scale, shift, mean, var},
                           {{"training_mode", training_mode}})});
  b.Loss(b.Add("ReduceSum", {b.Add("Mul", {y, w})}, {{"keepdims", 0}}));
  TrainerOptions options;
  options.threads = 2;
  options.fusion = fusion;
  const std::vector<std::string> names = {"x", "scale", "shift"};
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> runner,
                   MakeRunner(b.graph(), PlanMode::kGradients, names, options));
  Pass& pass = runner->next();
  for (const char* name : {"x", "w"}) {
    ASSIGN_OR_RETURN(const absl::Span<float> content, pass.Input<float>(name));
    for (size_t k = 0; k < content.size(); ++k) {
      content[k] = static_cast<float>(
          std::sin(0.7 * static_cast<double>(k) + (name[0] == 'w' ? 1 : 0)));
    }
  }
  RETURN_IF_ERROR(runner->Run(pass));
  Outcome outcome{pass.planned().lowered.nodes.size(), {}};
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const absl::Span<const float> gradient,
                     pass.Gradient(name));
    outcome.y.insert(outcome.y.end(), gradient.begin(), gradient.end());
  }
  return outcome;
}

TEST(FusionTest, ReluGradInsideANormalizationsGivesTheSameBits) {
  for (const Dims& dims :
       {Dims{4, 19, 5, 5}, Dims{64, 48, 28, 28}, Dims{40, 33}, Dims{3, 4, 5}}) {
    for (const int training_mode : {0, 1}) {
      SCOPED_TRACE(testing::Message()
                   << DimsToString(dims) << ", training " << training_mode);
      const absl::StatusOr<Outcome> fused =
          RunGradients(dims, training_mode, /*fusion=*/true);
      const absl::StatusOr<Outcome> apart =
          RunGradients(dims, training_mode, /*fusion=*/false);
      ASSERT_TRUE(fused.ok()) << fused.status();
      ASSERT_TRUE(apart.ok()) << apart.status();
      // The Relu goes into the map, its gradient into that of the map.
      EXPECT_EQ(fused->num_nodes + 2, apart->num_nodes);
      ASSERT_EQ(fused->y.size(), apart->y.size());
      EXPECT_EQ(std::memcmp(fused->y.data(), apart->y.data(),
                            fused->y.size() * sizeof(float)),
                0);
    }
  }
}

}  // namespace
}  // namespace reprise
