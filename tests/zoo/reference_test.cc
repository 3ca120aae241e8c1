// The parts of the zoo that are put together from reshaped and transposed
// values compute what they stand for: attention, patches, the class token and
// transposed convolutions, each against its definition in double.

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/plan_oracle.h"
#include "tools/zoo/zoo.h"

namespace reprise {
namespace {

using Numbers = std::vector<double>;

// A few float products of order one, summed.
constexpr double kMaxError = 1e-5;

// A forward pass on random data.
class ForwardPass {
 public:
  // Makes `values` readable besides parameters and inputs.
  ForwardPass(const std::string& model, const ZooSizes& sizes,
              const std::vector<std::string>& values) {
    ZooRequest request;
    request.model = model;
    request.sizes = sizes;
    absl::StatusOr<ZooGraph> zoo = MakeZooGraph(request);
    EXPECT_TRUE(zoo.ok()) << zoo.status();
    for (const std::string& value : values) zoo->graph.add_output(value);
    TrainerOptions options;
    options.threads = 1;
    absl::StatusOr<std::unique_ptr<Trainer>> runner =
        MakeRunner(zoo->graph, PlanMode::kEvaluate, {}, options);
    EXPECT_TRUE(runner.ok()) << runner.status();
    runner_ = *std::move(runner);
    FillInputs(runner_->next(), /*seed=*/3, /*index_limit=*/2);
    for (const ValueId v : runner_->next().planned().model.inputs) {
      const Value& input = runner_->next().planned().model.values[v];
      if (input.type.dtype != DType::kF32) continue;
      const auto content = runner_->next().Input<float>(input.name);
      inputs_[input.name] = Numbers(content->begin(), content->end());
    }
    const absl::Status run = runner_->Run(runner_->next());
    EXPECT_TRUE(run.ok()) << run;
  }

  Numbers Input(const std::string& name) const { return inputs_.at(name); }

  Numbers Parameter(const std::string& name) {
    const absl::StatusOr<absl::Span<float>> content = runner_->Persistent(name);
    EXPECT_TRUE(content.ok()) << content.status();
    return content.ok() ? Numbers(content->begin(), content->end()) : Numbers();
  }

  Numbers Result(const std::string& name) {
    const auto content = runner_->next().Output<float>(name);
    EXPECT_TRUE(content.ok()) << content.status();
    return content.ok() ? Numbers(content->begin(), content->end()) : Numbers();
  }

 private:
  std::unique_ptr<Trainer> runner_;
  std::map<std::string, Numbers> inputs_;
};

void ExpectNear(const Numbers& got, const Numbers& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], kMaxError) << "element " << i;
  }
}

// y [n, to] = x [n, from] w + b.
Numbers Linear(const Numbers& x, const Numbers& w, const Numbers& b) {
  const size_t to = b.size();
  const size_t from = w.size() / to;
  Numbers y;
  for (size_t row = 0; row < x.size() / from; ++row) {
    for (size_t j = 0; j < to; ++j) {
      double sum = b[j];
      for (size_t i = 0; i < from; ++i) {
        sum += x[row * from + i] * w[i * to + j];
      }
      y.push_back(sum);
    }
  }
  return y;
}

// Rows of `width` normalized; scale and bias are still one and zero.
Numbers Normalized(const Numbers& x, size_t width) {
  Numbers y = x;
  for (size_t first = 0; first < x.size(); first += width) {
    double mean = 0;
    for (size_t i = 0; i < width; ++i) mean += x[first + i] / width;
    double variance = 0;
    for (size_t i = 0; i < width; ++i) {
      variance += (x[first + i] - mean) * (x[first + i] - mean) / width;
    }
    for (size_t i = 0; i < width; ++i) {
      y[first + i] = (x[first + i] - mean) / std::sqrt(variance + 1e-5);
    }
  }
  return y;
}

// A row of qkv holds q, k and v one after the other, each of them head after
// head. Every token attends to all of its sample.
Numbers Attention(const Numbers& qkv, size_t length, size_t heads,
                  size_t width) {
  const size_t per_head = width / heads;
  const size_t rows = qkv.size() / (3 * width);
  Numbers y(rows * width);
  for (size_t row = 0; row < rows; ++row) {
    const size_t sample = row - row % length;
    for (size_t h = 0; h < heads; ++h) {
      const auto at = [&](size_t r, size_t part, size_t i) {
        return qkv[r * 3 * width + part * width + h * per_head + i];
      };
      Numbers weights;
      double total = 0;
      for (size_t t = 0; t < length; ++t) {
        double score = 0;
        for (size_t i = 0; i < per_head; ++i) {
          score += at(row, 0, i) * at(sample + t, 1, i);
        }
        weights.push_back(
            std::exp(score / std::sqrt(static_cast<double>(per_head))));
        total += weights.back();
      }
      for (size_t i = 0; i < per_head; ++i) {
        double sum = 0;
        for (size_t t = 0; t < length; ++t) {
          sum += weights[t] / total * at(sample + t, 2, i);
        }
        y[row * width + h * per_head + i] = sum;
      }
    }
  }
  return y;
}

TEST(ZooReferenceTest, TransformerBlockIsAttentionAndMlp) {
  ForwardPass pass(
      "gpt",
      {{"batch", 2}, {"blocks", 1}, {"heads", 3}, {"length", 5}, {"width", 12}},
      {"rows", "block1.sum1", "block1.sum2"});
  const auto linear = [&pass](const Numbers& x, const std::string& name) {
    return Linear(x, pass.Parameter("block1." + name + ".w"),
                  pass.Parameter("block1." + name + ".b"));
  };
  const Numbers x = pass.Result("rows");
  Numbers sum1 = linear(
      Attention(linear(Normalized(x, 12), "qkv"), /*length=*/5, /*heads=*/3,
                /*width=*/12),
      "out");
  for (size_t i = 0; i < x.size(); ++i) sum1[i] += x[i];
  ExpectNear(pass.Result("block1.sum1"), sum1);

  Numbers hidden = linear(Normalized(sum1, 12), "up");
  for (double& h : hidden) h *= (1 + std::erf(h / std::sqrt(2.0))) / 2;
  Numbers sum2 = linear(hidden, "down");
  for (size_t i = 0; i < x.size(); ++i) sum2[i] += sum1[i];
  ExpectNear(pass.Result("block1.sum2"), sum2);
}

// A convolution of 16x16 with stride 16, whose weight is [channels, 16, 16] for
// each feature; and before the patches of each image the class token.
TEST(ZooReferenceTest, PatchesAreAConvolutionAfterTheClassToken) {
  constexpr size_t kBatch = 2;
  constexpr size_t kChannels = 3;
  constexpr size_t kImage = 48;
  constexpr size_t kSide = 3;  // patches
  constexpr size_t kWidth = 4;
  ForwardPass pass("vit_tiny",
                   {{"batch", kBatch},
                    {"blocks", 1},
                    {"heads", 2},
                    {"image", kImage},
                    {"width", kWidth}},
                   {"tokens"});
  const Numbers x = pass.Input("x");
  const Numbers w = pass.Parameter("patches.w");
  const Numbers b = pass.Parameter("patches.b");
  Numbers wanted;
  for (size_t n = 0; n < kBatch; ++n) {
    for (const double t : pass.Parameter("class.token")) wanted.push_back(t);
    for (size_t patch = 0; patch < kSide * kSide; ++patch) {
      const size_t top = patch / kSide * 16;
      const size_t left = patch % kSide * 16;
      for (size_t j = 0; j < kWidth; ++j) {
        double sum = b[j];
        for (size_t c = 0; c < kChannels; ++c) {
          for (size_t p = 0; p < 16; ++p) {
            for (size_t q = 0; q < 16; ++q) {
              sum += x[((n * kChannels + c) * kImage + top + p) * kImage +
                       left + q] *
                     w[((c * 16 + p) * 16 + q) * kWidth + j];
            }
          }
        }
        wanted.push_back(sum);
      }
    }
  }
  ExpectNear(pass.Result("tokens"), wanted);
}

TEST(ZooReferenceTest, UnetRisesByTransposedConvolutions) {
  // The bottom has 16 times the width in channels, of a 16th of the pixels.
  constexpr size_t kBatch = 2;
  constexpr size_t kFrom = 32;
  constexpr size_t kTo = 16;
  constexpr size_t kSide = 3;
  ForwardPass pass("unet", {{"batch", kBatch}, {"image", 48}, {"width", 2}},
                   {"bottom.relu2", "up4.rise"});
  const Numbers x = pass.Result("bottom.relu2");
  const Numbers w = pass.Parameter("up4.rise.conv.w");
  const Numbers b = pass.Parameter("up4.rise.b");
  Numbers wanted(kBatch * kTo * 4 * kSide * kSide);
  for (size_t n = 0; n < kBatch; ++n) {
    for (size_t c = 0; c < kTo; ++c) {
      for (size_t row = 0; row < 2 * kSide; ++row) {
        for (size_t column = 0; column < 2 * kSide; ++column) {
          double sum = b[c];
          for (size_t k = 0; k < kFrom; ++k) {
            sum += x[((n * kFrom + k) * kSide + row / 2) * kSide + column / 2] *
                   w[((c * 2 + row % 2) * 2 + column % 2) * kFrom + k];
          }
          wanted[((n * kTo + c) * 2 * kSide + row) * 2 * kSide + column] = sum;
        }
      }
    }
  }
  ExpectNear(pass.Result("up4.rise"), wanted);
}

}  // namespace
}  // namespace reprise
