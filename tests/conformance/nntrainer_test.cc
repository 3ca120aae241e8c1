// Operators and training against results that others computed: the golden files
// of nntrainer, made with Keras and PyTorch.
//
// They are found by the environment variable REPRISE_SHARED_DIR; without it the
// tests are skipped.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "reprise.h"
#include "tests/conformance/goldens.h"
#include "tests/conformance/layer_networks.h"
#include "tests/conformance/model_networks.h"

namespace reprise {
namespace {

// Both sides round to 24 bits and add in orders of their own, sums of at most
// 121 products: an error of 1e-5 for elements of order one. Elements up to 100
// (gradients of convolutions and recurrent weights) have it of their size.
constexpr double kLayerRtol = 1e-5;
constexpr double kLayerAtol = 1e-5;

// Parameters are of order one and change by 1e-3 to 0.1 a step: 1e-6 and a
// millionth of the element are what rounding may do, and less than a mistake in
// a gradient or an update does. Clipping leaves changes of 5e-6, which 1e-7
// checks to some percent: two roundings of a number below 1.
constexpr double kModelTolerance = 1e-6;
constexpr double kClippedTolerance = 1e-7;

// Files that no test reads, and why.
const std::map<std::string, std::string>& NotUsed() {
  static const auto* const table = new std::map<std::string, std::string>{
      {"conv1d_bare_minimum.nnlayergolden", "no case says what layer it is"},
      {"lstm_single_step2.nnlayergolden", "no case says what layer it is"},
      {"lstm_single_step3.nnlayergolden", "no case says what layer it is"},
      {"lstm_single_step4.nnlayergolden", "no case says what layer it is"},
      {"transpose_axis1.nnlayergolden", "no case says what layer it is"},
      {"added_w16a16.nnlayergolden", "elements are float16"},
      {"rms_normtest_fp16_new.nnlayergolden", "elements are float16"},
      {"swiglufp16.nnlayergolden", "elements are float16"},
      {"transpose_fp16_axis0.nnlayergolden", "elements are float16"},
      {"transpose_fp16_axis1.nnlayergolden", "elements are float16"},
      {"transpose_fp16_axis2.nnlayergolden", "elements are float16"},
      {"embedding_mixed_single_batch.nnlayergolden", "elements are float16"},
      {"fc_mixed_training.nnmodelgolden", "parameters are float16"},
      {"fc_mixed_training_nan_sgd.nnmodelgolden", "parameters are float16"},
      {"fc3_mse_nt2.exegolden", "an order of execution, not numbers"},
  };
  return *table;
}

// Files of an older form, whose content nothing describes.
constexpr char kOldForm[] = ".info";

std::string Folder() {
  const char* const shared = std::getenv("REPRISE_SHARED_DIR");
  return shared == nullptr ? "" : absl::StrCat(shared, "/conformance/");
}

// Every file, by its name.
std::map<std::string, std::string> FilesByName() {
  std::map<std::string, std::string> files;
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::recursive_directory_iterator(Folder() + "nntrainer")) {
    if (!entry.is_regular_file()) continue;
    files[entry.path().filename().string()] = entry.path().string();
  }
  return files;
}

nlohmann::json Index() {
  std::ifstream file(Folder() + "nntrainer-index.json");
  return nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
}

// Names of the goldens that are compared.
std::set<std::string> LayerGoldens() {
  std::set<std::string> names;
  const nlohmann::json index = Index();
  for (const auto& entry : index.items()) {
    if (NotUsed().count(entry.key()) == 0) names.insert(entry.key());
  }
  return names;
}

void ExpectNear(const std::string& what, absl::Span<const float> got,
                const GoldenTensor& want, double rtol, double atol) {
  EXPECT_EQ(got.size(), want.size()) << what;
  EXPECT_LE(Excess(got.data(), got.size(), want, rtol), atol) << what;
}

TrainerOptions OneThread() {
  TrainerOptions options;
  options.threads = 1;
  options.evaluate = false;
  return options;
}

// Of a Dropout in training: elements are 0 or divided by 1 - ratio, here and in
// the file, and gradients go the same way. Which are dropped is chance.
void ExpectDropped(const LayerCase& c, absl::Span<const float> y,
                   absl::Span<const float> dx, const GoldenTensors& golden) {
  const float ratio = DropoutRatio(c);
  const float scale = 1 / (1 - ratio);
  const GoldenTensor& x = golden[0];
  int dropped = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool kept = dx[i] != 0;
    dropped += kept ? 0 : 1;
    EXPECT_FLOAT_EQ(y[i], kept ? scale * x[i] : 0) << i;
    EXPECT_FLOAT_EQ(dx[i], kept ? scale * 2 : 0) << i;
    const bool file_kept = golden[2][i] != 0;
    EXPECT_FLOAT_EQ(golden[1][i], file_kept ? scale * x[i] : 0) << i;
    EXPECT_FLOAT_EQ(golden[2][i], file_kept ? scale * 2 : 0) << i;
  }
  // Of 36 elements: six standard deviations are at most half of them.
  EXPECT_NEAR(dropped / static_cast<double>(x.size()), ratio,
              6 * std::sqrt(ratio * (1 - ratio) / x.size()) + 1e-3);
}

// Running statistics were recorded after as many calls as this, all of them
// with the same input.
constexpr int kCallsBefore = 5;

// Trains without learning, and compares the states.
void CompareStates(const Network& net, const GoldenTensors& golden,
                   size_t first_after) {
  proto::TrainConfig config;
  config.set_format_version(1);
  config.mutable_sgd();
  config.mutable_schedule()->set_lr(1e-6f);
  absl::StatusOr<std::unique_ptr<Trainer>> trainer =
      MakeTrainer(net.graph(), config, OneThread());
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  ASSERT_TRUE(WriteWeights(net.weights(), golden, 0, **trainer).ok());
  for (int i = 0; i < kCallsBefore; ++i) {
    ASSERT_TRUE(WriteInputs(net.inputs(), golden, net.weights().size(),
                            (*trainer)->next())
                    .ok());
    const absl::Status status = (*trainer)->Step();
    ASSERT_TRUE(status.ok()) << status;
  }
  for (size_t i = 0; i < net.weights().size(); ++i) {
    if (net.weights()[i].role != Network::Role::kState) continue;
    const std::string& name = net.weights()[i].name;
    ExpectNear(absl::StrCat("state ", name), *(*trainer)->Persistent(name),
               golden[first_after + i], kLayerRtol, kLayerAtol);
  }
}

void CompareLayer(const LayerCase& c, const GoldenTensors& golden) {
  const LayerNetwork* const layer = FindLayerNetwork(c.layer);
  ASSERT_NE(layer, nullptr);
  Network net;
  layer->add(c, net);
  // Every element's gradient is 2.
  for (const std::string& output : net.outputs()) {
    net.SumLoss({output}, /*weight=*/2);
  }
  std::vector<std::string> wanted;
  for (const Network::Tensor& weight : net.weights()) {
    if (weight.role == Network::Role::kTrained && c.has_weight_gradients) {
      wanted.push_back(weight.name);
    }
  }
  const size_t num_weight_gradients = wanted.size();
  if (c.has_input_gradients) {
    for (const Network::Tensor& x : net.inputs()) wanted.push_back(x.name);
  }
  const size_t num_weights = net.weights().size();
  const size_t first_output = num_weights + net.inputs().size();
  const size_t first_gradient = first_output + net.outputs().size();
  const size_t first_after = first_gradient + num_weight_gradients;
  ASSERT_EQ(golden.size(), first_after + num_weights + net.inputs().size());

  absl::StatusOr<std::unique_ptr<Trainer>> runner =
      MakeRunner(net.graph(), PlanMode::kGradients, wanted, OneThread());
  ASSERT_TRUE(runner.ok()) << runner.status();
  absl::Status status = WriteWeights(net.weights(), golden, 0, **runner);
  ASSERT_TRUE(status.ok()) << status;
  Pass& pass = (*runner)->next();
  status = WriteInputs(net.inputs(), golden, num_weights, pass);
  ASSERT_TRUE(status.ok()) << status;
  status = (*runner)->Run(pass);
  ASSERT_TRUE(status.ok()) << status;

  if (layer->drops && !c.inference) {
    ExpectDropped(c, *pass.Output<float>(net.outputs()[0]),
                  *pass.Gradient("x0"), golden);
    return;
  }
  for (size_t i = 0; i < net.outputs().size(); ++i) {
    ExpectNear(absl::StrCat("output ", i),
               *pass.Output<float>(net.outputs()[i]), golden[first_output + i],
               kLayerRtol, kLayerAtol);
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    // Weights as they are after stand before the gradients of inputs.
    const size_t at =
        first_gradient + i + (i < num_weight_gradients ? 0 : num_weights);
    ExpectNear(absl::StrCat("gradient of ", wanted[i]),
               *pass.Gradient(wanted[i]), golden[at], kLayerRtol, kLayerAtol);
  }
  bool has_states = false;
  for (size_t i = 0; i < num_weights; ++i) {
    if (net.weights()[i].role == Network::Role::kState) {
      has_states = true;
      continue;
    }
    const std::string& name = net.weights()[i].name;
    ExpectNear(absl::StrCat("weight ", name), *(*runner)->Persistent(name),
               golden[first_after + i], 0, 0);
  }
  if (has_states) CompareStates(net, golden, first_after);
}

TEST(NntrainerTest, EveryFileIsComparedOrHasAReasonNotToBe) {
  if (Folder().empty()) GTEST_SKIP() << "REPRISE_SHARED_DIR is not set";
  const std::map<std::string, std::string> files = FilesByName();
  std::set<std::string> used = LayerGoldens();
  for (const ModelGolden& golden : ModelGoldens()) {
    EXPECT_TRUE(used.insert(golden.name + ".nnmodelgolden").second)
        << golden.name << " stands in the table twice";
  }
  int old_form = 0;
  for (const auto& [name, path] : files) {
    if (absl::EndsWith(name, kOldForm)) {
      ++old_form;
      continue;
    }
    EXPECT_EQ(used.count(name) + NotUsed().count(name), 1u) << name;
  }
  for (const std::string& name : used) EXPECT_EQ(files.count(name), 1u) << name;
  for (const auto& [name, reason] : NotUsed()) {
    ASSERT_EQ(files.count(name), 1u) << name;
    if (!absl::StrContains(reason, "float16")) continue;
    // They are refused, not misread.
    EXPECT_FALSE(ReadLayerGolden(files.at(name)).ok()) << name;
    EXPECT_FALSE(ReadModelGolden(files.at(name)).ok()) << name;
  }
  std::cout << used.size() << " files compared, " << NotUsed().size()
            << " not used, and " << old_form << " of an older form\n";
}

TEST(NntrainerTest, LayersGiveTheGoldenResultsAndGradients) {
  if (Folder().empty()) GTEST_SKIP() << "REPRISE_SHARED_DIR is not set";
  const nlohmann::json index = Index();
  ASSERT_TRUE(index.is_object());
  const std::map<std::string, std::string> files = FilesByName();
  int cases = 0;
  const std::set<std::string> names = LayerGoldens();
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    ASSERT_EQ(files.count(name), 1u);
    const absl::StatusOr<GoldenTensors> golden =
        ReadLayerGolden(files.at(name));
    ASSERT_TRUE(golden.ok()) << golden.status();
    const nlohmann::json entries = index[name].value("cases", nlohmann::json());
    ASSERT_FALSE(entries.empty());
    for (const nlohmann::json& entry : entries) {
      const absl::StatusOr<LayerCase> c = ParseLayerCase(entry);
      ASSERT_TRUE(c.ok()) << c.status();
      SCOPED_TRACE(c->layer);
      CompareLayer(*c, *golden);
      ++cases;
    }
  }
  std::cout << names.size() << " layer goldens compared, " << cases
            << " cases\n";
}

void CompareModel(const ModelGolden& model,
                  const std::vector<GoldenTensors>& iterations) {
  Network net;
  model.add(net);
  absl::StatusOr<std::unique_ptr<Trainer>> made =
      MakeTrainer(net.graph(), ConfigOf(model), OneThread());
  ASSERT_TRUE(made.ok()) << made.status();
  Trainer& trainer = **made;
  const double tolerance =
      model.clip_global_norm > 0 ? kClippedTolerance : kModelTolerance;
  const size_t first_label = net.inputs().size();
  const size_t first_weight = first_label + net.labels().size();
  const size_t first_output = first_weight + net.weights().size();
  ASSERT_EQ(iterations[0].size(), first_output + net.outputs().size());
  absl::Status status =
      WriteWeights(net.weights(), iterations[0], first_weight, trainer);
  ASSERT_TRUE(status.ok()) << status;
  for (size_t iteration = 0; iteration < iterations.size(); ++iteration) {
    SCOPED_TRACE(absl::StrCat("iteration ", iteration));
    const GoldenTensors& golden = iterations[iteration];
    for (size_t i = 0; i < net.weights().size(); ++i) {
      const std::string& name = net.weights()[i].name;
      ExpectNear(absl::StrCat("parameter ", name), *trainer.Persistent(name),
                 golden[first_weight + i], tolerance, tolerance);
    }
    Pass& pass = trainer.next();
    status = WriteInputs(net.inputs(), golden, 0, pass);
    ASSERT_TRUE(status.ok()) << status;
    // Labels that no loss reads are no inputs of the pass.
    for (size_t i = 0; i < net.labels().size(); ++i) {
      const absl::StatusOr<absl::Span<float>> label =
          pass.Input<float>(net.labels()[i].name);
      if (!label.ok()) continue;
      ASSERT_EQ(label->size(), golden[first_label + i].size());
      std::copy(golden[first_label + i].begin(), golden[first_label + i].end(),
                label->begin());
    }
    status = trainer.Step();
    ASSERT_EQ(status.code(), model.diverges
                                 ? absl::StatusCode::kFailedPrecondition
                                 : absl::StatusCode::kOk)
        << status;
    for (size_t i = 0; i < net.outputs().size(); ++i) {
      ExpectNear(absl::StrCat("output ", i),
                 *pass.Output<float>(net.outputs()[i]),
                 golden[first_output + i], tolerance, tolerance);
    }
    if (model.diverges) return;  // the file's parameters are NaN from here on
  }
}

TEST(NntrainerTest, ModelsTrainStepByStepAsTheGoldenOnes) {
  if (Folder().empty()) GTEST_SKIP() << "REPRISE_SHARED_DIR is not set";
  const std::map<std::string, std::string> files = FilesByName();
  const std::vector<ModelGolden> models = ModelGoldens();
  size_t steps = 0;
  for (const ModelGolden& model : models) {
    SCOPED_TRACE(model.name);
    const std::string name = model.name + ".nnmodelgolden";
    ASSERT_EQ(files.count(name), 1u);
    const absl::StatusOr<std::vector<GoldenTensors>> iterations =
        ReadModelGolden(files.at(name));
    ASSERT_TRUE(iterations.ok()) << iterations.status();
    CompareModel(model, *iterations);
    steps += iterations->size();
  }
  std::cout << models.size() << " model goldens compared, " << steps
            << " steps\n";
}

}  // namespace
}  // namespace reprise
