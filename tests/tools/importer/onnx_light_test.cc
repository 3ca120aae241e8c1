// Five published networks as ONNX files (REPRISE_SHARED_DIR): the outputs that
// come with them, random weights against a definition in double, the memory of
// a forward pass, and training.
//
// Their weights are constants, so the outputs given are uniform; the definition
// is what can tell a wrong window or order of channels.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/check_plan.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/instances.h"
#include "tests/testing/plan_oracle.h"
#include "tests/tools/importer/double_network.h"
#include "tools/conformance/compare.h"
#include "tools/data/pass_arrays.h"
#include "tools/importer/importer.h"
#include "tools/importer/onnx_file.h"

namespace reprise {
namespace {

struct Network {
  const char* name;

  // Most bytes of values that live in a forward pass at batch 1, parameters and
  // their reordered copies not counted, in MiB. Of vgg19 it is exactly the
  // operand and the result of one convolution.
  double peak_mib;

  // Steps of training in the standing test: 20, or what takes seconds. All
  // take as many as REPRISE_ONNX_LIGHT_STEPS says where it is set.
  int train_steps;
};

std::ostream& operator<<(std::ostream& out, const Network& network) {
  return out << network.name;
}

class OnnxLightTest : public testing::TestWithParam<Network> {
 protected:
  void SetUp() override {
    const char* const shared = std::getenv("REPRISE_SHARED_DIR");
    if (shared == nullptr) GTEST_SKIP() << "REPRISE_SHARED_DIR is not set";
    stem_ =
        absl::StrCat(shared, "/conformance/onnx-light/light_", GetParam().name);
    if (!std::ifstream(absl::StrCat(stem_, ".onnx"))) {
      GTEST_SKIP() << "there is no " << stem_ << ".onnx";
    }
    absl::StatusOr<onnx::ModelProto> model =
        ReadOnnxModel(absl::StrCat(stem_, ".onnx"));
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
  }

  absl::StatusOr<ImportedModel> Import(const ImportOptions& options = {}) {
    return ImportModel(model_, *ops_, options, "", GetParam().name);
  }

  // arange(n) / n in the shape of the model's data input.
  static Array Ramp(const TensorType& type) {
    Array array;
    array.type = type;
    const int64_t n = type.num_elements();
    array.data.resize(type.bytes());
    float* const to = reinterpret_cast<float*>(&array.data[0]);
    for (int64_t i = 0; i < n; ++i) {
      to[i] = static_cast<float>(i) / static_cast<float>(n);
    }
    return array;
  }

  // Runs the imported model on the ramp and returns its first output.
  absl::StatusOr<Array> Forward(const ImportedModel& imported, Array* input) {
    TrainerOptions options;
    ASSIGN_OR_RETURN(
        const std::unique_ptr<Trainer> runner,
        MakeRunner(imported.graph, PlanMode::kEvaluate, {}, options));
    RETURN_IF_ERROR(SetWeights(imported, *runner));
    ASSIGN_OR_RETURN(Pass* const pass, runner->Find(PlanMode::kEvaluate));
    const Graph& graph = pass->planned().model;
    *input = Ramp(graph.values[graph.inputs[0]].type);
    RETURN_IF_ERROR(
        WriteInput(graph.values[graph.inputs[0]].name, *input, *pass));
    RETURN_IF_ERROR(runner->Run(*pass));
    ASSIGN_OR_RETURN(const std::vector<PassResult> results, ReadResults(*pass));
    return results[0].array;
  }

  std::string stem_;
  onnx::ModelProto model_;
  const std::unique_ptr<OpTable> ops_ = MakeOpTable();
};

TEST_P(OnnxLightTest, OutputsAreThoseGiven) {
  const absl::StatusOr<ImportedModel> imported = Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  Array input;
  const absl::StatusOr<Array> got = Forward(*imported, &input);
  ASSERT_TRUE(got.ok()) << got.status();
  const absl::StatusOr<Array> expected =
      ReadOnnxTensor(absl::StrCat(stem_, "_output_0.pb"));
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(Difference(*got, *expected, 1e-3, 1e-5), "");
}

TEST_P(OnnxLightTest, RandomWeightsGiveWhatADefinitionInDoubleGives) {
  // A softmax would hide most of what goes into it.
  onnx::GraphProto& graph = *model_.mutable_graph();
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() == "Softmax") {
      graph.mutable_output(0)->set_name(node.input(0));
    }
  }
  absl::StatusOr<ImportedModel> imported = Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  DoubleNetwork network(model_);
  for (NamedArray& weight : imported->weights) {
    const auto changed = imported->names.find(weight.name);
    network.Randomize(
        changed == imported->names.end() ? weight.name : changed->second,
        weight.array);
  }
  Array input;
  const absl::StatusOr<Array> got = Forward(*imported, &input);
  ASSERT_TRUE(got.ok()) << got.status();
  const std::vector<double> expected = network.Run(input);
  ASSERT_EQ(static_cast<int64_t>(expected.size()), got->type.num_elements());
  double largest = 0;
  for (const double y : expected) largest = std::max(largest, std::fabs(y));
  ASSERT_GT(largest, 0);
  for (size_t i = 0; i < expected.size(); ++i) {
    // Float32 sums of some thousand terms, tens of layers deep.
    ASSERT_NEAR(ElementAsDouble(*got, static_cast<int64_t>(i)), expected[i],
                1e-4 * largest)
        << "at " << i;
  }
}

// Returns a lowered value's name in the model, or its producer's.
std::string NameOf(const PlannedPass& pass, LoweredValueId id) {
  const LoweredValue& value = pass.lowered.values[id];
  if (!value.logical.empty()) {
    return pass.step.graph.values[value.logical[0]].name;
  }
  return value.producer < 0 ? "" : pass.lowered.nodes[value.producer].name;
}

// Returns the most bytes of values that live at one step, those of parameters
// and of their copies in other layouts not counted.
//
//   scratchpads: whether they count too.
//   at_peak:     gets what lives there, scratchpads at any rate.
int64_t TransientPeak(const PlannedPass& pass, bool scratchpads,
                      std::string& at_peak) {
  const absl::StatusOr<PlanFacts> facts = CheckPlan(pass.lowered, pass.plan);
  EXPECT_TRUE(facts.ok()) << facts.status();
  int64_t peak = 0;
  for (int32_t t = 0; t < static_cast<int32_t>(pass.plan.steps.size()); ++t) {
    // Values that share bytes, in place or as views, count once.
    std::vector<std::pair<int64_t, int64_t>> live;
    std::string names = pass.lowered.nodes[pass.plan.steps[t].node].name;
    for (const LiveRange& range : facts->ranges) {
      if (range.begin > t || range.end <= t ||
          range.offset < pass.plan.persistent_bytes) {
        continue;
      }
      if (range.value >= 0) {
        const LoweredValue& value = pass.lowered.values[range.value];
        const LoweredValue& original =
            value.copy_of < 0 ? value : pass.lowered.values[value.copy_of];
        if (IsPersistent(original.kind)) continue;
      }
      if (range.value >= 0 || scratchpads) {
        live.emplace_back(range.offset, range.offset + range.bytes);
      }
      absl::StrAppend(
          &names, ", ",
          range.value < 0 ? "scratchpad" : NameOf(pass, range.value), " ",
          range.bytes);
    }
    std::sort(live.begin(), live.end());
    int64_t bytes = 0;
    int64_t end = 0;
    for (const auto& [from, to] : live) {
      bytes += std::max<int64_t>(0, to - std::max(from, end));
      end = std::max(end, to);
    }
    if (bytes > peak) at_peak = names;
    peak = std::max(peak, bytes);
  }
  return peak;
}

TEST_P(OnnxLightTest, AForwardPassNeedsNoMoreThanKnown) {
  const absl::StatusOr<ImportedModel> imported = Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  const absl::StatusOr<PlannedTrainer> planned =
      PlanRunner(imported->graph, PlanMode::kEvaluate, {}, TrainerOptions());
  ASSERT_TRUE(planned.ok()) << planned.status();
  // The known peaks are those of values: nothing else of a kernel is in them.
  const PlannedPass& pass = *planned->plan.passes[0];
  std::string at_peak;
  const auto mib_with = [&](bool scratchpads) {
    return static_cast<double>(TransientPeak(pass, scratchpads, at_peak)) /
           (1 << 20);
  };
  const double with_scratchpads = mib_with(true);
  const double mib = mib_with(false);
  RecordProperty("peak_mib", absl::StrCat(mib));
  std::cout << GetParam().name << ": " << mib << " MiB, " << with_scratchpads
            << " with scratchpads: " << at_peak << "\n";
  EXPECT_LE(mib, GetParam().peak_mib + 0.005) << at_peak;
}

// Weights of which signals neither die nor explode.
void InitializeWell(proto::Graph& graph) {
  for (proto::Parameter& parameter : *graph.mutable_parameter()) {
    if (parameter.type().dtype() != proto::FLOAT32) continue;
    proto::Initializer& initializer = *parameter.mutable_initializer();
    if (parameter.type().dim_size() >= 2) {
      auto& scaling = *initializer.mutable_variance_scaling();
      scaling.set_scale(2);
      scaling.set_mode(proto::Initializer::FAN_IN);
    } else {
      initializer.set_constant(parameter.has_trainable() ? 1 : 0.1f);
    }
  }
}

int TrainSteps(const Network& network) {
  const char* const all = std::getenv("REPRISE_ONNX_LIGHT_STEPS");
  return all == nullptr ? Instances(network.train_steps) : std::atoi(all);
}

TEST_P(OnnxLightTest, TheLossFallsOnFixedData) {
  ImportOptions import;
  import.loss = "softmax_cross_entropy";
  absl::StatusOr<ImportedModel> imported = Import(import);
  ASSERT_TRUE(imported.ok()) << imported.status();
  InitializeWell(imported->graph);
  TrainerOptions options;
  options.evaluate = false;
  const absl::StatusOr<std::unique_ptr<Trainer>> trainer =
      MakeTrainer(imported->graph, ConfigOf("sgd", 1e-3f), options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  std::vector<float> losses;
  for (int step = 0; step < TrainSteps(GetParam()); ++step) {
    FillInputs((*trainer)->next(), /*seed=*/1, /*index_limit=*/1000);
    const absl::Status status = (*trainer)->Step();
    ASSERT_TRUE(status.ok()) << status;
    losses.push_back((*trainer)->next().loss());
  }
  EXPECT_LT(losses.back(), losses.front());
  std::cout << GetParam().name << ": loss " << losses.front() << " to "
            << losses.back() << " in " << losses.size() << " steps\n";
}

TEST_P(OnnxLightTest, PlannedTrainingGivesTheBitsOfNaive) {
  ImportOptions import;
  import.loss = "softmax_cross_entropy";
  absl::StatusOr<ImportedModel> imported = Import(import);
  ASSERT_TRUE(imported.ok()) << imported.status();
  InitializeWell(imported->graph);
  TrainerOptions options;
  OracleOptions oracle;
  oracle.steps = std::max(1, TrainSteps(GetParam()) / 10);
  oracle.index_limit = 1000;
  oracle.evaluate = false;
  const absl::Status status = ComparePlannedWithNaive(
      imported->graph, ConfigOf("sgd", 1e-3f), options, oracle);
  EXPECT_TRUE(status.ok()) << status;
}

// All five; for a sanitizer, which makes the definitions in double slow, the
// two that are quickest.
std::vector<Network> Networks() {
  std::vector<Network> networks = {{"densenet121", 8.04, 20},
                                   {"squeezenet", 6.02, 20}};
  if (!kSanitized) {
    networks.insert(networks.end(), {{"bvlc_alexnet", 2.14, 20},
                                     {"resnet50", 9.19, 20},
                                     {"vgg19", 24.50, 20}});
  }
  return networks;
}

INSTANTIATE_TEST_SUITE_P(Networks, OnnxLightTest, testing::ValuesIn(Networks()),
                         [](const testing::TestParamInfo<Network>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace reprise
