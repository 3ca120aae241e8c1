// `reprise import`, and ONNX files in place of graph files.

#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/safetensors.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/command_line.h"
#include "tests/tools/importer/onnx_builder.h"
#include "tools/data/npy.h"

namespace reprise {
namespace {

class ImportCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/import.XXXXXX";
    ASSERT_NE(mkdtemp(&pattern[0]), nullptr);
    folder_ = pattern;
    // y = softmax(x w + b), x [rows, 2], w [2, 3].
    OnnxBuilder builder;
    builder.Input("x", {"rows", "2"})
        .Floats("the w", {2, 3}, {1, 2, 3, 4, 5, 6})
        .Floats("b", {3}, {0.5f, 0.25f, 0})
        .Output("y");
    builder.Node("Gemm", {"x", "the w", "b"}, {"s"});
    OnnxBuilder::Int(builder.Node("Softmax", {"s"}, {"y"}), "axis", 1);
    model_ = Write("m.onnx", builder.model().SerializeAsString());
    Array x;
    x.type = {DType::kF32, {1, 2}};
    const float content[] = {0.5f, -0.25f};
    x.data.assign(reinterpret_cast<const char*>(content), sizeof(content));
    input_ = Write("x.npy", ToNpy(x));
  }

  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = absl::StrCat(folder_, "/", name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  std::string folder_;
  std::string model_;
  std::string input_;
};

TEST_F(ImportCommandTest, WritesGraphWeightsAndNames) {
  const std::string out = absl::StrCat(folder_, "/out");
  const CommandResult result =
      RunReprise({"import", model_, "--out", out, "--format=json"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.json()["nodes"], 2);
  EXPECT_EQ(result.json()["elements"], 9);
  EXPECT_EQ(result.json()["renamed"], 1);
  const absl::StatusOr<SafetensorsFile> weights =
      SafetensorsFile::Open(absl::StrCat(out, "/weights.safetensors"));
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ(weights->entries().size(), 2u);
  const absl::StatusOr<std::string> names =
      ReadFile(absl::StrCat(out, "/names.json"), 1 << 20);
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(nlohmann::json::parse(*names),
            nlohmann::json({{"values", {{"the_w", "the w"}}},
                            {"symbols", {{"rows", "rows"}}}}));
}

TEST_F(ImportCommandTest, AnOnnxFileRunsAsWhatItIsImportedTo) {
  const std::string out = absl::StrCat(folder_, "/out");
  ASSERT_EQ(RunReprise({"import", model_, "--out", out}).code, 0);
  const std::string input = absl::StrCat("x=", input_);
  const CommandResult direct = RunReprise(
      {"run", model_, "--input", input, "--threads=1", "--format=json"});
  ASSERT_EQ(direct.code, 0) << direct.err;
  const CommandResult imported =
      RunReprise({"run", absl::StrCat(out, "/model.textproto"), "--load",
                  absl::StrCat(out, "/weights.safetensors"), "--input", input,
                  "--threads=1", "--format=json"});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(direct.json()["results"], imported.json()["results"]);
}

TEST_F(ImportCommandTest, EveryCommandTakesOnnxFiles) {
  for (const char* const command : {"check", "residuals", "plan", "sweep"}) {
    const CommandResult result =
        RunReprise({command, model_, "--set", "rows=4", "--threads=1",
                    "--loss=softmax_cross_entropy"});
    EXPECT_EQ(result.code, 0) << command << ": " << result.err;
  }
}

TEST_F(ImportCommandTest, TrainsWithALossAndANewHead) {
  const std::string data =
      Write("d.csv", "0.5,1,0\n-0.5,1,1\n0.25,-1,0\n-0.25,1,1\n");
  const std::string weights = absl::StrCat(folder_, "/w.safetensors");
  const CommandResult result =
      RunReprise({"train", model_, "--loss=softmax_cross_entropy", "--head=2",
                  "--set", "rows=2", "--data", data, "--epochs=1", "--save",
                  weights, "--threads=1"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(absl::StrContains(result.err, "the head")) << result.err;
  const CommandResult evaluated = RunReprise(
      {"eval", model_, "--loss=softmax_cross_entropy", "--head=2", "--set",
       "rows=2", "--data", data, "--load", weights, "--threads=1"});
  EXPECT_EQ(evaluated.code, 0) << evaluated.err;
}

TEST_F(ImportCommandTest, OptionsOfImportingAreForOnnxFilesAlone) {
  const CommandResult result =
      RunReprise({"check", "examples/lesson.textproto", "--loss=mse"});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(absl::StrContains(result.err, ".onnx")) << result.err;
}

// x [batch size, batch_size], whose symbols are batch_size_1 and batch_size.
TEST_F(ImportCommandTest, ADimHasTwoNames) {
  OnnxBuilder builder;
  builder.Input("x", {"batch size", "batch_size"}).Output("y");
  builder.Node("Relu", {"x"}, {"y"});
  const std::string model =
      Write("two.onnx", builder.model().SerializeAsString());
  const auto x_of = [&model](const std::vector<std::string>& sets) {
    std::vector<std::string> args = {"check", model, "--format=json"};
    for (const std::string& set : sets) {
      args.insert(args.end(), {"--set", set});
    }
    const CommandResult result = RunReprise(args);
    return result.code == 0 ? result.json()["inputs"][0]["type"].dump()
                            : result.err;
  };
  EXPECT_EQ(x_of({"batch size=4", "batch_size=6"}), "\"f32[4,6]\"");
  EXPECT_EQ(x_of({"batch_size_1=4", "batch_size=6"}), "\"f32[4,6]\"");
  EXPECT_TRUE(absl::StrContains(
      x_of({"batch size=4", "batch_size_1=4"}),
      "dim 'batch size' is set twice, as symbol 'batch_size_1' too"));
  EXPECT_TRUE(absl::StrContains(x_of({"batch=4"}), "no input has a dim"));

  const std::string out = absl::StrCat(folder_, "/two");
  ASSERT_EQ(RunReprise({"import", model, "--out", out}).code, 0);
  const absl::StatusOr<std::string> names =
      ReadFile(absl::StrCat(out, "/names.json"), 1 << 20);
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(nlohmann::json::parse(*names)["symbols"],
            nlohmann::json({{"batch_size", "batch_size"},
                            {"batch_size_1", "batch size"}}));
}

TEST_F(ImportCommandTest, TheLargestValueIsOfADimByEitherName) {
  OnnxBuilder builder;
  builder.Input("x", {"the rows", "2"})
      .Floats("w", {2, 3}, {1, 2, 3, 4, 5, 6})
      .Output("y");
  builder.Node("MatMul", {"x", "w"}, {"y"});
  const std::string model =
      Write("rows.onnx", builder.model().SerializeAsString());
  for (const char* name : {"the rows", "the_rows"}) {
    const CommandResult result = RunReprise(
        {"plan", model, "--loss=softmax_cross_entropy", "--threads=1",
         "--budget=64KiB", absl::StrCat("--maximize=", name), "--format=json"});
    ASSERT_EQ(result.code, 0) << name << ": " << result.err;
    EXPECT_EQ(result.json()["maximized"]["symbol"], "the_rows");
  }
}

TEST_F(ImportCommandTest, ADimIsNotSetToZero) {
  const std::string out = absl::StrCat(folder_, "/out");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"check", model_},
        std::vector<std::string>{"import", model_, "--out", out}}) {
    std::vector<std::string> args = command;
    args.insert(args.end(), {"--set", "rows=0"});
    const CommandResult result = RunReprise(args);
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(absl::StrContains(
        result.err, "--set: symbol 'rows' must be at least 1, got 0"))
        << result.err;
  }
}

TEST_F(ImportCommandTest, WrongUsageIsTold) {
  EXPECT_EQ(RunReprise({"import", model_}).code, 2);
  EXPECT_EQ(
      RunReprise({"import", model_, "--out", folder_, "--loss=none"}).code, 2);
  EXPECT_EQ(RunReprise({"import", model_, "--out", folder_, "--head=0"}).code,
            2);
  EXPECT_EQ(
      RunReprise({"import", model_, "--out", folder_, "--bind", "x"}).code, 2);
}

TEST_F(ImportCommandTest, FilesThatCannotBeReadAreErrors) {
  for (const std::string& path :
       {absl::StrCat(folder_, "/absent.onnx"), Write("bad.onnx", "not ONNX"),
        Write("empty.onnx", "")}) {
    const CommandResult result =
        RunReprise({"import", path, "--out", absl::StrCat(folder_, "/o")});
    EXPECT_EQ(result.code, 1) << path;
    EXPECT_TRUE(absl::StrContains(result.err, path)) << result.err;
  }
}

}  // namespace
}  // namespace reprise
