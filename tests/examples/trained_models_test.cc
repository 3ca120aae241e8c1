// Models that learn, by the command line. The runs are as short as the claim
// allows; docs/examples.md has the commands and figures of full ones.
//
// One thread: tests share their machine, and threads that wait for a core cost
// more than they give.

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/command_line.h"

namespace reprise {
namespace {

constexpr char kDigitsData[] = "--data=examples/data/digits.csv.gz";

// Trains and returns the metrics of the last report's held-out rows.
nlohmann::json HeldOut(std::vector<std::string> args) {
  args.insert(args.begin(), "train");
  args.push_back("--threads=1");
  args.push_back("--format=json");
  const CommandResult result = RunReprise(args);
  EXPECT_EQ(result.code, 0) << result.err;
  const nlohmann::json json = result.json();
  EXPECT_FALSE(json.is_discarded()) << result.out;
  return json["reports"].back()["held_out"];
}

TEST(DigitsMlpTest, Reaches96PercentWithThreeSeeds) {
  for (const char* seed : {"1", "2", "3"}) {
    const nlohmann::json metrics = HeldOut(
        {"examples/digits_mlp.textproto", kDigitsData, "--scale=0.0625",
         "--holdout=0.2", "--epochs=30",
         "--config=examples/digits_mlp.train.textproto", "--seed", seed});
    EXPECT_EQ(metrics["labels"], 359);  // a fifth of 1,797
    EXPECT_GE(metrics["accuracy"], 0.96) << "seed " << seed;
  }
}

// Chance is 10 %: 64 layers that do not train would stay there.
TEST(DeepMlpTest, LearnsDigitsThrough64Layers) {
  const nlohmann::json metrics =
      HeldOut({"examples/deep_mlp.textproto", kDigitsData, "--scale=0.0625",
               "--holdout=0.2", "--epochs=10", "--set", "batch=64",
               "--config=examples/deep_mlp.train.textproto", "--seed=1"});
  EXPECT_GE(metrics["accuracy"], 0.9);
}

// Of 19,200 images, a third of an epoch; the full command reaches 98.5 %.
TEST(MnistCnnTest, LearnsFromAThirdOfAnEpoch) {
  const char* const shared = std::getenv("REPRISE_SHARED_DIR");
  const std::string folder =
      absl::StrCat(shared == nullptr ? "" : shared, "/data/mnist/");
  if (!std::ifstream(folder + "t10k-labels-idx1-ubyte.gz").good()) {
    GTEST_SKIP() << "no MNIST in " << folder;
  }
  const nlohmann::json metrics = HeldOut(
      {"examples/mnist_cnn.textproto",
       absl::StrCat("--data=", folder, "train-images-idx3-ubyte.gz,", folder,
                    "train-labels-idx1-ubyte.gz"),
       absl::StrCat("--eval-data=", folder, "t10k-images-idx3-ubyte.gz,",
                    folder, "t10k-labels-idx1-ubyte.gz"),
       "--config=examples/mnist_cnn.train.textproto", "--steps=300",
       "--report-every=300", "--seed=1"});
  EXPECT_EQ(metrics["labels"], 10000);
  EXPECT_GE(metrics["accuracy"], 0.96);
}

// Bits per character of the last tenth, if each is predicted by how often it
// stands in the first nine tenths, once more for each of the 256 bytes.
double BitsWithoutContext(const std::string& text) {
  const size_t cut = text.size() - text.size() / 10;
  std::vector<double> counts(256, 1);
  for (size_t i = 0; i < cut; ++i) {
    ++counts[static_cast<unsigned char>(text[i])];
  }
  double bits = 0;
  for (size_t i = cut; i < text.size(); ++i) {
    bits -= std::log2(counts[static_cast<unsigned char>(text[i])] /
                      static_cast<double>(cut + 256));
  }
  return bits / static_cast<double>(text.size() - cut);
}

TEST(CharTransformerTest, UsesContextAfterAHundredSteps) {
  const std::string path = "/usr/share/common-licenses/GPL-3";
  std::ifstream file(path, std::ios::binary);
  if (!file.good()) GTEST_SKIP() << "no " << path;
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const nlohmann::json metrics = HeldOut(
      {"examples/char_transformer.textproto", absl::StrCat("--data=", path),
       "--holdout=0.1", "--steps=100", "--report-every=100", "--set",
       "batch=16", "--config=examples/char_transformer.train.textproto",
       "--seed=1"});
  EXPECT_LT(metrics["bits_per_character"], BitsWithoutContext(text) - 0.3);
}

}  // namespace
}  // namespace reprise
