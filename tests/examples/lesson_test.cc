// The facts of the lesson's three models: loss and gradients, residuals with
// and without the region, verdicts. The comment at the head of each model has
// the arithmetic.

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "reprise.h"

namespace reprise {
namespace {

constexpr char kLesson[] = "examples/lesson.textproto";
constexpr char kLessonLayer[] = "examples/lesson_layer.textproto";
constexpr char kLessonTwoLayers[] = "examples/lesson_two_layers.textproto";

proto::Graph Read(const std::string& path) {
  absl::StatusOr<proto::Graph> graph = ReadGraphFile(path);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

proto::Graph WithoutRegions(proto::Graph graph) {
  graph.clear_region();
  for (proto::Node& node : *graph.mutable_node()) node.clear_region();
  return graph;
}

PlannedTrainer Planned(const proto::Graph& graph) {
  proto::TrainConfig config;
  config.set_format_version(1);
  config.mutable_sgd();
  TrainerOptions options;
  options.threads = 1;
  options.evaluate = false;
  absl::StatusOr<PlannedTrainer> planned = PlanTrainer(graph, config, options);
  EXPECT_TRUE(planned.ok()) << planned.status();
  return *std::move(planned);
}

// Residuals as "value: bytes", in the order of the report.
std::vector<std::string> Residuals(const proto::Graph& graph) {
  const PlannedTrainer planned = Planned(graph);
  std::vector<std::string> lines;
  for (const Residual& residual : planned.reports[0].residuals) {
    lines.push_back(absl::StrCat(residual.value, ": ", residual.bytes));
  }
  return lines;
}

RegionReport OnlyRegion(const proto::Graph& graph) {
  const PlannedTrainer planned = Planned(graph);
  EXPECT_EQ(planned.reports[0].regions.size(), 1u);
  return planned.reports[0].regions[0];
}

// 4 bytes x 1024 rows x 64 columns.
constexpr int64_t kActivationBytes = 262144;

// matmul1 keeps x, matmul2 y1 and w2, matmul3 y2 and w3, square y3; inputs and
// parameters add no bytes. w1 is read by the gradient of x only, which training
// does not ask for.
std::vector<std::string> LessonResiduals() {
  return {"x: 0", "w2: 0", "w3: 0", "y1: 262144", "y2: 262144", "y3: 262144"};
}

std::vector<std::string> Sorted(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(LessonTest, ARegionAroundOneMatmulChangesNoResidual) {
  EXPECT_EQ(Residuals(Read(kLesson)), Residuals(WithoutRegions(Read(kLesson))));
  EXPECT_EQ(Sorted(Residuals(Read(kLesson))), Sorted(LessonResiduals()));
}

TEST(LessonTest, ARegionAroundOneMatmulHasNoEffect) {
  const RegionReport region = OnlyRegion(Read(kLesson));
  EXPECT_EQ(ToString(region.verdict), "no effect");
  EXPECT_EQ(region.bytes_avoided, 0);
  EXPECT_EQ(region.steps_replayed, 0);
}

TEST(LessonTest, ARegionAroundALayerChangesNoResidual) {
  EXPECT_EQ(Residuals(Read(kLessonLayer)),
            Residuals(WithoutRegions(Read(kLessonLayer))));
}

TEST(LessonTest, ARegionAroundALayerHasNoEffect) {
  const RegionReport region = OnlyRegion(Read(kLessonLayer));
  EXPECT_EQ(ToString(region.verdict), "no effect");
  EXPECT_EQ(region.bytes_avoided, 0);
  EXPECT_EQ(region.steps_replayed, 0);
}

// y1 goes; the replay of layer 1 reads w1, which adds no bytes.
TEST(LessonTest, ARegionAroundTwoLayersDropsWhatLiesBetween) {
  EXPECT_EQ(Sorted(Residuals(Read(kLessonTwoLayers))),
            (std::vector<std::string>{"w1: 0", "w2: 0", "w3: 0", "x: 0",
                                      "y2: 262144", "y3: 262144"}));
}

// The peak falls from 5 to 4 activations, but for the scratchpads of kernels at
// either peak, which depend on the CPU.
TEST(LessonTest, ARegionAroundTwoLayersSavesUpToOneActivation) {
  const RegionReport region = OnlyRegion(Read(kLessonTwoLayers));
  EXPECT_EQ(ToString(region.verdict), "saves");
  EXPECT_EQ(region.bytes_avoided, kActivationBytes);
  EXPECT_GT(region.peak_bytes_avoided, 0);
  EXPECT_LE(region.peak_bytes_avoided, kActivationBytes);
  // matmul1 and relu1; maybe in one kernel.
  EXPECT_GE(region.steps_replayed, 1);
  EXPECT_LE(region.steps_replayed, 2);
}

TEST(LessonTest, PeakBytesAvoidedAreTheDifferenceOfThePeaks) {
  const PlannedTrainer with = Planned(Read(kLessonTwoLayers));
  const PlannedTrainer without =
      Planned(WithoutRegions(Read(kLessonTwoLayers)));
  EXPECT_EQ(without.plan.passes[0]->plan.peak_live_bytes -
                with.plan.passes[0]->plan.peak_live_bytes,
            with.reports[0].regions[0].peak_bytes_avoided);
}

using Matrix = std::vector<double>;  // row-major

Matrix Product(const Matrix& a, const Matrix& b, int rows, int inner,
               int columns) {
  Matrix product(rows * columns, 0);
  for (int i = 0; i < rows; ++i) {
    for (int k = 0; k < inner; ++k) {
      for (int j = 0; j < columns; ++j) {
        product[i * columns + j] += a[i * inner + k] * b[k * columns + j];
      }
    }
  }
  return product;
}

Matrix Transposed(const Matrix& a, int rows, int columns) {
  Matrix transposed(a.size());
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      transposed[j * rows + i] = a[i * columns + j];
    }
  }
  return transposed;
}

Matrix Relu(Matrix a) {
  for (double& element : a) element = std::max(element, 0.0);
  return a;
}

// dy where y > 0.
Matrix ReluGradient(const Matrix& y, Matrix dy) {
  for (size_t i = 0; i < y.size(); ++i) dy[i] = y[i] > 0 ? dy[i] : 0;
  return dy;
}

struct LessonResult {
  double loss = 0;
  std::vector<Matrix> gradients;  // of x, w1, w2, w3
};

// The definition, in double: batch rows, width columns.
LessonResult Definition(const Matrix& x, const std::vector<Matrix>& w,
                        int batch, int width) {
  const Matrix y1 = Relu(Product(x, w[0], batch, width, width));
  const Matrix y2 = Relu(Product(y1, w[1], batch, width, width));
  const Matrix y3 = Product(y2, w[2], batch, width, width);
  LessonResult result;
  Matrix dy = y3;
  for (size_t i = 0; i < y3.size(); ++i) {
    result.loss += y3[i] * y3[i];
    dy[i] = 2 * y3[i];
  }
  const auto weight_gradient = [&](const Matrix& input) {
    return Product(Transposed(input, batch, width), dy, width, batch, width);
  };
  const auto input_gradient = [&](const Matrix& weight) {
    return Product(dy, Transposed(weight, width, width), batch, width, width);
  };
  const Matrix dw3 = weight_gradient(y2);
  dy = ReluGradient(y2, input_gradient(w[2]));
  const Matrix dw2 = weight_gradient(y1);
  dy = ReluGradient(y1, input_gradient(w[1]));
  const Matrix dw1 = weight_gradient(x);
  result.gradients = {input_gradient(w[0]), dw1, dw2, dw3};
  return result;
}

// A runner of the lesson with gradients of x and the weights.
std::unique_ptr<Trainer> Runner(const std::string& path, int batch, int width) {
  TrainerOptions options;
  options.symbols = {{"batch", batch}, {"width", width}};
  options.threads = 1;
  absl::StatusOr<std::unique_ptr<Trainer>> runner = MakeRunner(
      Read(path), PlanMode::kGradients, {"x", "w1", "w2", "w3"}, options);
  EXPECT_TRUE(runner.ok()) << runner.status();
  return *std::move(runner);
}

void Write(const Matrix& from, absl::Span<float> to) {
  ASSERT_EQ(from.size(), to.size());
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(from[i]);
}

TEST(LessonTest, IdentityWeightsAndOnesGiveALossOfTwo) {
  for (const char* path : {kLesson, kLessonLayer, kLessonTwoLayers}) {
    const std::unique_ptr<Trainer> runner = Runner(path, 1, 2);
    Pass* const pass = *runner->Find(PlanMode::kGradients);
    Write({1, 1}, *pass->Input<float>("x"));
    ASSERT_TRUE(runner->Run(*pass).ok());
    EXPECT_EQ(pass->loss(), 2.0f) << path;
    EXPECT_EQ((*pass->Output<float>("loss"))[0], 2.0f) << path;
    // dy3 = 2 y3 = [2, 2] passes through identities unchanged.
    const absl::Span<const float> dx = *pass->Gradient("x");
    for (const float gradient : dx) EXPECT_EQ(gradient, 2);
    for (const char* weight : {"w1", "w2", "w3"}) {
      const absl::Span<const float> dw = *pass->Gradient(weight);
      for (const float gradient : dw) {
        EXPECT_EQ(gradient, 2) << path << " " << weight;
      }
    }
  }
}

// Sums of up to 7 x 5 products of numbers around 1, each rounded to 2^-24:
// errors stay far below 1e-4 of the largest element.
void CheckAgainstDefinition(const std::string& path, double low, double high,
                            int seed) {
  constexpr int kBatch = 5;
  constexpr int kWidth = 7;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(static_cast<float>(low),
                                             static_cast<float>(high));
  std::uniform_real_distribution<float> signed_draw(-1, 1);
  Matrix x(kBatch * kWidth);
  for (double& element : x) element = draw(random);
  std::vector<Matrix> w(3, Matrix(kWidth * kWidth));
  for (Matrix& weight : w) {
    for (double& element : weight) element = signed_draw(random);
  }
  const LessonResult expected = Definition(x, w, kBatch, kWidth);

  const std::unique_ptr<Trainer> runner = Runner(path, kBatch, kWidth);
  Pass* const pass = *runner->Find(PlanMode::kGradients);
  Write(w[0], *runner->Persistent("w1"));
  Write(w[1], *runner->Persistent("w2"));
  Write(w[2], *runner->Persistent("w3"));
  Write(x, *pass->Input<float>("x"));
  ASSERT_TRUE(runner->Run(*pass).ok());
  EXPECT_NEAR(pass->loss(), expected.loss, 1e-5 * expected.loss)
      << path << ", seed " << seed;
  const char* const names[] = {"x", "w1", "w2", "w3"};
  for (int i = 0; i < 4; ++i) {
    double largest = 0;
    for (const double element : expected.gradients[i]) {
      largest = std::max(largest, std::fabs(element));
    }
    const absl::Span<const float> got = *pass->Gradient(names[i]);
    ASSERT_EQ(got.size(), expected.gradients[i].size());
    for (size_t j = 0; j < got.size(); ++j) {
      EXPECT_NEAR(got[j], expected.gradients[i][j], 1e-4 * largest)
          << path << ", gradient of " << names[i] << ", element " << j
          << ", seed " << seed;
    }
  }
}

TEST(LessonTest, GradientsAgreeWithTheDefinitionAtRandomInputs) {
  for (int seed = 1; seed <= 10; ++seed) {
    for (const char* path : {kLesson, kLessonLayer, kLessonTwoLayers}) {
      CheckAgainstDefinition(path, -1, 1, seed);
    }
  }
}

TEST(LessonTest, GradientsAgreeWithTheDefinitionAtNegativeInputs) {
  for (int seed = 1; seed <= 10; ++seed) {
    for (const char* path : {kLesson, kLessonLayer, kLessonTwoLayers}) {
      CheckAgainstDefinition(path, -2, -1, seed);
    }
  }
}

}  // namespace
}  // namespace reprise
