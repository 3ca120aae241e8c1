// The optimizers against published results: 1001 steps on a network of 3 + 1
// sigmoid units, recorded every 100 steps. PyTorch's own tolerance for them is
// a relative error of 1e-3 and an absolute one of 5e-4.
//
// The data is found by the environment variable REPRISE_SHARED_DIR; without it
// the tests are skipped.

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/ops/update_cases.h"

namespace reprise {
namespace {

// W1 [3, 2], b1 [3], W2 [1, 3], b2 [1] one after the other.
constexpr int kB1 = 6;
constexpr int kW2 = 9;
constexpr int kB2 = 12;

void AppendFlat(const nlohmann::json& array, std::vector<double>& flat) {
  if (!array.is_array()) {
    flat.push_back(array.get<double>());
    return;
  }
  for (const nlohmann::json& entry : array) AppendFlat(entry, flat);
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The gradient of sum over samples of sigmoid(W2 sigmoid(W1 x + b1) + b2).
std::vector<double> Gradient(const std::vector<double>& p,
                             const std::vector<double>& samples) {
  std::vector<double> grad(p.size(), 0.0);
  for (size_t s = 0; s + 1 < samples.size(); s += 2) {
    double hidden[3];
    double output = p[kB2];
    for (int j = 0; j < 3; ++j) {
      hidden[j] = Sigmoid(p[2 * j] * samples[s] +
                          p[2 * j + 1] * samples[s + 1] + p[kB1 + j]);
      output += p[kW2 + j] * hidden[j];
    }
    const double y = Sigmoid(output);
    const double d_output = y * (1 - y);
    grad[kB2] += d_output;
    for (int j = 0; j < 3; ++j) {
      grad[kW2 + j] += d_output * hidden[j];
      const double d_hidden =
          d_output * p[kW2 + j] * hidden[j] * (1 - hidden[j]);
      grad[kB1 + j] += d_hidden;
      grad[2 * j] += d_hidden * samples[s];
      grad[2 * j + 1] += d_hidden * samples[s + 1];
    }
  }
  return grad;
}

class OptimizerOracleTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("REPRISE_SHARED_DIR");
    if (folder == nullptr) GTEST_SKIP() << "REPRISE_SHARED_DIR is not set";
    std::ifstream file(std::string(folder) + "/conformance/optim_oracle.json");
    if (!file) GTEST_SKIP() << "no optim_oracle.json in " << folder;
    data_ = nlohmann::json::parse(file);
  }

  // Trains with the operator and compares every recorded state.
  void Check(const std::string& run, UpdateStep step, size_t num_slots) {
    const nlohmann::json& expected = data_["results"][run];
    ASSERT_TRUE(expected.is_array()) << run;
    UpdateState state;
    for (const char* name : {"W1", "b1", "W2", "b2"}) {
      AppendFlat(data_["init"][name], state.param);
    }
    ASSERT_EQ(state.param.size(), size_t{kB2 + 1});
    state.slots.assign(num_slots, std::vector<double>(kB2 + 1, 0.0));
    std::vector<double> samples;
    AppendFlat(data_["input"], samples);
    const int64_t steps = data_["steps"];
    const int64_t every = data_["sample_every"];
    for (step.step = 0; step.step < steps; ++step.step) {
      state = RunUpdate(step, state, Gradient(state.param, samples));
      if (step.step % every != 0) continue;
      std::vector<double> want;
      AppendFlat(expected[step.step / every], want);
      ASSERT_EQ(state.param.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) {
        EXPECT_NEAR(state.param[i], want[i], 5e-4 + 1e-3 * std::abs(want[i]))
            << run << ", step " << step.step << ", element " << i;
      }
    }
  }

  nlohmann::json data_;
};

TEST_F(OptimizerOracleTest, Sgd) {
  Check("SGD_lr0.1", {"SgdUpdate", {}, 0.1}, 0);
}

TEST_F(OptimizerOracleTest, SgdWithWeightDecay) {
  Check("SGD_lr0.1_wd1e-2", {"SgdUpdate", {{"weight_decay", 1e-2f}}, 0.1}, 0);
}

TEST_F(OptimizerOracleTest, SgdWithMomentum) {
  const Attrs attrs = {{"weight_decay", 1e-2f}, {"momentum", 0.9f}};
  Check("SGD_lr0.1_wd1e-2_mom0.9", {"SgdUpdate", attrs, 0.1}, 1);
}

TEST_F(OptimizerOracleTest, SgdWithMomentumAndLittleDecay) {
  const Attrs attrs = {{"weight_decay", 1e-6f}, {"momentum", 0.9f}};
  Check("SGD_lr0.1_wd1e-6_mom0.9", {"SgdUpdate", attrs, 0.1}, 1);
}

TEST_F(OptimizerOracleTest, SgdWithNesterov) {
  const Attrs attrs = {
      {"weight_decay", 1e-6f}, {"momentum", 0.9f}, {"nesterov", true}};
  Check("SGD_lr0.1_wd1e-6_nesterov0.9", {"SgdUpdate", attrs, 0.1}, 1);
}

TEST_F(OptimizerOracleTest, Adam) {
  Check("Adam_lr1", {"AdamUpdate", {}, 1}, 2);
}

TEST_F(OptimizerOracleTest, AdamWithWeightDecay) {
  Check("Adam_lr1_wd1e-2", {"AdamUpdate", {{"weight_decay", 1e-2f}}, 1}, 2);
}

TEST_F(OptimizerOracleTest, AdamWithDecoupledWeightDecay) {
  const Attrs attrs = {{"weight_decay", 1e-2f}, {"decoupled", true}};
  Check("AdamW_lr1_wd1e-2 (decoupled; not in the read baseline)",
        {"AdamUpdate", attrs, 1}, 2);
}

TEST_F(OptimizerOracleTest, Adagrad) {
  Check("Adagrad_lr1", {"AdagradUpdate", {}, 1}, 1);
}

TEST_F(OptimizerOracleTest, RmsProp) {
  Check("RMSprop_lr0.1", {"RmsPropUpdate", {}, 0.1}, 1);
}

}  // namespace
}  // namespace reprise
