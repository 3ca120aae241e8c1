// The zoo: every model trains as planned at a small size, is the published
// network at its full size, and comes out of the command line as text that
// loads.

#include "tools/zoo/zoo.h"

#include <cmath>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/proto_file.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/plan_oracle.h"
#include "tests/tools/command_line.h"

namespace reprise {
namespace {

struct Small {
  std::string model;
  ZooSizes sizes;
  // One below which every label and token lies.
  int64_t index_limit;
};

// Every model, at sizes that train in a blink.
std::vector<Small> SmallModels() {
  const ZooSizes image32 = {
      {"batch", 2}, {"classes", 5}, {"image", 32}, {"width", 2}};
  const ZooSizes tokens = {{"batch", 2},  {"blocks", 2},     {"heads", 2},
                           {"length", 6}, {"vocabulary", 7}, {"width", 8}};
  ZooSizes deep = tokens;
  deep["blocks"] = 5;
  return {
      {"mlp", {{"batch", 4}, {"blocks", 3}, {"image", 6}, {"width", 16}}, 10},
      {"chain", {{"batch", 4}, {"blocks", 12}, {"width", 8}}, 10},
      {"cnn", {{"batch", 2}, {"blocks", 3}, {"image", 8}, {"width", 4}}, 10},
      {"resnet50", image32, 5},
      {"densenet121", image32, 5},
      {"vgg19", image32, 5},
      {"mobilenet_v1", image32, 5},
      {"unet", {{"batch", 1}, {"image", 16}, {"width", 2}}, 2},
      {"gpt", tokens, 7},
      {"transformer", deep, 7},
      {"vit_tiny",
       {{"batch", 2},
        {"blocks", 2},
        {"classes", 5},
        {"heads", 2},
        {"image", 32},
        {"width", 8}},
       5},
  };
}

TEST(ZooTest, SmallSizesAreTestedOfEveryModel) {
  std::set<std::string> small;
  for (const Small& model : SmallModels()) small.insert(model.model);
  for (const ZooModel& model : ZooModels()) {
    EXPECT_EQ(small.count(model.name), 1u) << model.name;
  }
}

ZooGraph Make(const std::string& model, const ZooSizes& sizes,
              const std::string& block_policy = "", float dropout = 0) {
  ZooRequest request;
  request.model = model;
  request.sizes = sizes;
  request.block_policy = block_policy;
  request.dropout = dropout;
  absl::StatusOr<ZooGraph> made = MakeZooGraph(request);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : ZooGraph();
}

TrainerOptions OneThread() {
  TrainerOptions options;
  options.threads = 1;
  return options;
}

TEST(ZooTest, EveryModelTrainsAsPlanned) {
  for (const Small& small : SmallModels()) {
    for (const char* policy : {"", "save_nothing", "save_matmuls"}) {
      OracleOptions oracle;
      oracle.index_limit = small.index_limit;
      const absl::Status status = ComparePlannedWithNaive(
          Make(small.model, small.sizes, policy).graph,
          ConfigOf("adamw", 1e-3f), OneThread(), oracle);
      EXPECT_TRUE(status.ok())
          << small.model << " " << policy << ": " << status;
    }
  }
}

TEST(ZooTest, ModelsWithDropoutTrainAsPlanned) {
  std::set<std::string> with_dropout;
  for (const ZooModel& model : ZooModels()) {
    if (model.has_dropout) with_dropout.insert(model.name);
  }
  for (const Small& small : SmallModels()) {
    if (with_dropout.count(small.model) == 0) continue;
    const ZooGraph zoo =
        Make(small.model, small.sizes, "save_nothing", /*dropout=*/0.25f);
    int dropouts = 0;
    for (const proto::Node& node : zoo.graph.node()) {
      if (node.op() == "Dropout") ++dropouts;
    }
    EXPECT_GT(dropouts, 0) << small.model;
    OracleOptions oracle;
    oracle.index_limit = small.index_limit;
    const absl::Status status = ComparePlannedWithNaive(
        zoo.graph, ConfigOf("adamw", 1e-3f), OneThread(), oracle);
    EXPECT_TRUE(status.ok()) << small.model << ": " << status;
  }
}

// Returns the loss before the first and before the last of `steps` steps on
// one batch.
absl::StatusOr<std::pair<float, float>> TrainOnOneBatch(
    const proto::Graph& graph, int steps, int64_t index_limit) {
  TrainerOptions options = OneThread();
  options.evaluate = false;
  ASSIGN_OR_RETURN(PlannedTrainer planned,
                   PlanTrainer(graph, ConfigOf("adam", 3e-3f), options));
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                   Trainer::Create(std::move(planned.plan)));
  std::pair<float, float> losses;
  for (int step = 0; step < steps; ++step) {
    FillInputs(trainer->next(), /*seed=*/1, index_limit);
    RETURN_IF_ERROR(trainer->Step());
    if (step == 0) losses.first = trainer->next().loss();
    losses.second = trainer->next().loss();
  }
  return losses;
}

TEST(ZooTest, EveryModelLearnsABatchByHeart) {
  for (const Small& small : SmallModels()) {
    // Of two features a network of this depth loses all but a constant.
    ZooSizes sizes = small.sizes;
    if (small.model == "vgg19") sizes["width"] = 8;
    const absl::StatusOr<std::pair<float, float>> losses = TrainOnOneBatch(
        Make(small.model, sizes).graph, /*steps=*/40, small.index_limit);
    ASSERT_TRUE(losses.ok()) << small.model << ": " << losses.status();
    EXPECT_LT(losses->second, 0.9f * losses->first) << small.model;
  }
}

TEST(ZooTest, EveryBlockIsARegionWhereThatIsAskedFor) {
  for (const Small& small : SmallModels()) {
    EXPECT_EQ(Make(small.model, small.sizes).graph.region_size(), 0);
    const proto::Graph graph = Make(small.model, small.sizes, "auto").graph;
    EXPECT_GE(graph.region_size(), 2) << small.model;
    std::set<std::string> used;
    for (const proto::Node& node : graph.node()) used.insert(node.region());
    for (const proto::Region& region : graph.region()) {
      EXPECT_TRUE(region.policy().auto_()) << small.model;
      EXPECT_EQ(used.count(region.name()), 1u) << region.name();
    }
  }
}

TEST(ZooTest, RegionsOfBlocksLowerTheArenaOfDeepModels) {
  for (const char* model : {"resnet50", "densenet121", "unet", "transformer"}) {
    const auto arena = [model](const std::string& policy) -> int64_t {
      for (const Small& small : SmallModels()) {
        if (small.model != model) continue;
        ZooSizes sizes = small.sizes;
        sizes["batch"] = 16;
        const absl::StatusOr<PlannedTrainer> planned =
            PlanTrainer(Make(model, sizes, policy).graph,
                        ConfigOf("adam", 1e-3f), OneThread());
        EXPECT_TRUE(planned.ok()) << planned.status();
        return planned.ok() ? planned->plan.arena_bytes : 0;
      }
      return 0;
    };
    EXPECT_LT(arena("save_nothing"), arena("")) << model;
  }
}

struct Published {
  std::string model;
  ZooSizes sizes;
  int64_t trained;
};

// Trained numbers at full size. Those of the image networks are the published
// models' (with running statistics not counted).
std::vector<Published> PublishedModels() {
  // A transformer block of width d has 12 d^2 + 13 d: attention 4 d^2 + 4 d,
  // mlp 8 d^2 + 5 d, two norms 4 d. GPT-2 small is
  //
  //   50257 * 768 + 1024 * 768 + 12 (12 * 768^2 + 13 * 768) + 2 * 768
  //     = 124,439,808,
  //
  // whose head is the embedding. Ours has one of its own, with biases.
  constexpr int64_t kGpt2 = 124'439'808 + 50257 * 768 + 50257;
  return {
      {"resnet50", {}, 25'557'032},
      {"densenet121", {}, 7'978'856},
      {"vgg19", {}, 143'667'240},
      {"mobilenet_v1", {}, 4'231'976},
      {"vit_tiny", {}, 5'717'416},
      {"gpt",
       {{"blocks", 12},
        {"heads", 12},
        {"length", 1024},
        {"vocabulary", 50257},
        {"width", 768}},
       kGpt2},
      // 256 d + 128 d + 6 (12 d^2 + 13 d) + 2 d + 256 d + 256 with d = 512.
      {"gpt", {}, 19'243'264},
      // The same with 96 blocks.
      {"transformer", {}, 19'243'264 + int64_t{90} * 3'152'384},
      // 784 d + d + 8 (d^2 + d) + 10 d + 10 with d = 1024.
      {"mlp", {}, 9'210'890},
      // Convolutions of 9 c c' weights: 3 to 32 with biases, then 32-32-32,
      // 32-64-64, 64-128-128, 128-256-256, each followed by a norm of 2 c';
      // 256 * 10 + 10.
      {"cnn", {}, 1'185'034},
      // 1000 (64^2 + 64) + 64 * 10 + 10.
      {"chain", {}, 4'160'650},
      // Levels of width c, from c0: two convolutions of 9 c0 c and 9 c c, with
      // norms of 2 c; going up from c to c / 2, besides, 4 c c / 2 + c / 2 of
      // the transposed convolution; 64 * 2 + 2.
      {"unet", {}, 31'037'698},
  };
}

TEST(ZooTest, FullSizesHaveThePublishedNumberOfWeights) {
  for (const Published& published : PublishedModels()) {
    const ZooGraph zoo = Make(published.model, published.sizes);
    EXPECT_EQ(NumTrained(zoo.graph), published.trained) << published.model;
  }
}

std::string TextOf(const ZooGraph& zoo) {
  std::ostringstream out;
  WriteText(zoo, out);
  return out.str();
}

TEST(ZooTest, TextIsTheGraph) {
  for (const ZooModel& model : ZooModels()) {
    const ZooGraph zoo = Make(model.name, {}, "save_matmuls");
    proto::Graph read;
    const absl::Status status = ParseText(TextOf(zoo), model.name, read);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(read.SerializeAsString(), zoo.graph.SerializeAsString())
        << model.name;
  }
}

TEST(ZooTest, FullSizesLoadAndDifferentiate) {
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  for (const ZooModel& model : ZooModels()) {
    const ZooGraph zoo = Make(model.name, {}, "save_nothing");
    const absl::StatusOr<Graph> graph =
        LoadGraph(zoo.graph, *ops, {}, model.name);
    ASSERT_TRUE(graph.ok()) << graph.status();
    StepOptions options;
    options.mode = PlanMode::kGradients;
    const absl::StatusOr<StepGraph> step =
        BuildStepGraph(*graph, *ops, options);
    EXPECT_TRUE(step.ok()) << model.name << ": " << step.status();
  }
}

TEST(ZooTest, ChainsHaveAHundredThousandNodes) {
  // Two nodes a block, then scores and loss.
  const ZooGraph zoo = Make("chain", {{"blocks", 50'000}, {"width", 2}});
  EXPECT_EQ(zoo.graph.node_size(), 2 * 50'000 + 2);
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  const absl::StatusOr<Graph> graph = LoadGraph(zoo.graph, *ops, {}, "chain");
  EXPECT_TRUE(graph.ok()) << graph.status();
}

TEST(ZooTest, BatchIsASymbol) {
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  for (const Small& small : SmallModels()) {
    const ZooGraph zoo = Make(small.model, small.sizes);
    const absl::StatusOr<Graph> graph =
        LoadGraph(zoo.graph, *ops, {{"batch", 3}}, small.model);
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (const ValueId input : graph->inputs) {
      EXPECT_EQ(graph->values[input].type.dims[0], 3) << small.model;
    }
  }
}

void ExpectUsageError(const std::vector<std::string>& args,
                      const std::string& text) {
  const CommandResult result = RunReprise(args);
  EXPECT_EQ(result.code, 2) << result.out;
  EXPECT_TRUE(absl::StrContains(result.err, text)) << result.err;
}

TEST(ZooCommandTest, PrintsWhatMadeIt) {
  const CommandResult result =
      RunReprise({"zoo", "mlp", "--batch=4", "--width=32", "--regions=block",
                  "--policy=save_matmuls"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(absl::StartsWith(
      result.out,
      "# mlp: perceptron: linear and relu, `blocks` of them between the first "
      "and the last.\n"
      "#\n"
      "#   reprise zoo mlp --batch=4 --blocks=8 --classes=10 --image=28 "
      "--width=32 --regions=block --policy=save_matmuls\n"
      "#\n"
      // 784 * 32 + 32 + 8 (32^2 + 32) + 32 * 10 + 10
      "# 33,898 trained numbers. Data, where batch is 4 unless --set batch=N "
      "says otherwise:\n"
      "#\n"
      "#   x      f32[batch,784]  images, row by row\n"
      "#   label  i64[batch]      classes, below 10\n"))
      << result.out.substr(0, 800);
}

TEST(ZooCommandTest, TheCommandInTheTextMakesTheText) {
  const CommandResult first =
      RunReprise({"zoo", "gpt", "--blocks=1", "--dropout=0.1"});
  const size_t begin = first.out.find("reprise zoo ");
  ASSERT_NE(begin, std::string::npos);
  std::istringstream command(
      first.out.substr(begin, first.out.find('\n', begin) - begin));
  std::vector<std::string> args;
  std::string word;
  while (command >> word) args.push_back(word);
  args.erase(args.begin());
  EXPECT_EQ(RunReprise(args).out, first.out);
}

TEST(ZooCommandTest, WrongUsageExitsWithTwo) {
  ExpectUsageError({"zoo"}, "NAME");
  ExpectUsageError({"zoo", "alexnet"}, "no model 'alexnet'; there are mlp");
  ExpectUsageError({"zoo", "mlp", "--heads=2"},
                   "mlp: no --heads; sizes are --batch=256 --blocks=8");
  ExpectUsageError({"zoo", "gpt", "--heads=7"},
                   "gpt: --heads must divide --width, got 7 and 512");
  ExpectUsageError({"zoo", "vit_tiny", "--image=100"},
                   "vit_tiny: --image must be a multiple of 16, got 100");
  ExpectUsageError({"zoo", "unet", "--image=40"},
                   "unet: --image must be a multiple of 16, got 40");
  ExpectUsageError({"zoo", "resnet50", "--image=31"},
                   "resnet50: --image must be at least 32, got 31");
  // Four blocks halve the image three times.
  ExpectUsageError({"zoo", "cnn", "--image=7"},
                   "cnn: --image must be at least 8, got 7");
  ExpectUsageError({"zoo", "cnn", "--blocks=64"}, "between 1 and 20, got 64");
  ExpectUsageError({"zoo", "mlp", "--width=0"}, "--width");
  ExpectUsageError({"zoo", "mlp", "--width=1000001"}, "1000001");
  ExpectUsageError({"zoo", "mlp", "--width=wide"}, "--width");
  ExpectUsageError({"zoo", "mlp", "--dropout=0.5"}, "mlp: no --dropout");
  ExpectUsageError({"zoo", "gpt", "--dropout=1"}, "--dropout");
  ExpectUsageError({"zoo", "gpt", "--dropout=nan"}, "--dropout");
  ExpectUsageError({"zoo", "gpt", "--policy=auto"}, "--regions=block");
  ExpectUsageError({"zoo", "gpt", "--regions=block", "--policy=all"},
                   "save_matmuls");
}

TEST(ZooCommandTest, HelpAndPageListEveryModelWithItsDefaults) {
  const CommandResult help = RunReprise({"zoo", "--help"});
  EXPECT_EQ(help.code, 0);
  const absl::StatusOr<std::string> page = ReadFile("docs/cli.md", 1 << 20);
  ASSERT_TRUE(page.ok()) << page.status();
  for (const ZooModel& model : ZooModels()) {
    EXPECT_TRUE(absl::StrContains(help.out, ToFlags(model.sizes)))
        << model.name;
    EXPECT_TRUE(absl::StrContains(
        *page,
        absl::StrCat("| `", model.name, "` | `", ToFlags(model.sizes), "` |")))
        << "docs/cli.md wants: " << model.name << " " << ToFlags(model.sizes);
  }
}

}  // namespace
}  // namespace reprise
