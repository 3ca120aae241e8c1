// `reprise run`: what it prints and writes.

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tools/command_line.h"

namespace reprise {
namespace {

constexpr char kLesson[] = "examples/lesson_two_layers.textproto";

// Writes x, f32[1,2], as numpy.save does, and returns its path.
std::string FileOfX(const std::string& elements) {
  const std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}";
  const std::string path = absl::StrCat(
      ::testing::TempDir(), "/",
      ::testing::UnitTest::GetInstance()->current_test_info()->name(), ".npy");
  std::ofstream(path, std::ios::binary)
      << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size())
      << '\0' << header << elements;
  return path;
}

std::string Ones() { return std::string("\0\0\x80\x3f\0\0\x80\x3f", 8); }

TEST(RunCommandTest, MakesTheFolderOfItsResults) {
  const std::string folder = ::testing::TempDir() + "/run_results";
  std::filesystem::remove_all(folder);
  const CommandResult result =
      RunReprise({"run", kLesson, "--input", "x=" + FileOfX(Ones()),
                  "--threads=1", "--out-dir=" + folder + "/deep"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(folder + "/deep/loss.npy"));
}

TEST(RunCommandTest, AFileInPlaceOfTheFolderIsNamed) {
  const std::string path = ::testing::TempDir() + "/run_results_file";
  std::ofstream(path) << "content";
  const CommandResult result =
      RunReprise({"run", kLesson, "--input", "x=" + FileOfX(Ones()),
                  "--threads=1", "--out-dir=" + path});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(absl::StrContains(result.err, path)) << result.err;
}

// Both NaNs have their sign set.
std::string Nans() { return std::string("\0\0\xc0\xff\0\0\xc0\xff", 8); }

TEST(RunCommandTest, NanHasNoSign) {
  const CommandResult result = RunReprise(
      {"run", kLesson, "--input", "x=" + FileOfX(Nans()), "--threads=1"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(absl::StrContains(result.out, "nan")) << result.out;
  EXPECT_FALSE(absl::StrContains(result.out, "-nan")) << result.out;
}

TEST(RunCommandTest, NanIsNullInJson) {
  const CommandResult result =
      RunReprise({"run", kLesson, "--input", "x=" + FileOfX(Nans()),
                  "--threads=1", "--format=json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json loss = result.json()["results"].back();
  EXPECT_EQ(loss["name"], "loss");
  EXPECT_EQ(loss["elements"], nlohmann::json::array({nullptr}));
}

// A path gives `/` a meaning, so both names become a_b.npy.
TEST(RunCommandTest, TwoResultsAreNotOneFile) {
  const std::string folder = ::testing::TempDir() + "/run_collision";
  std::filesystem::remove_all(folder);
  const std::string model = ::testing::TempDir() + "/collision.textproto";
  std::ofstream(model) << R"(
    format_version: 1
    name: "m"
    input { name: "x" type { dtype: FLOAT32 dim { value: 1 } dim { value: 2 } } }
    node { op: "Relu" input: "x" output: "a/b" }
    node { op: "Neg" input: "x" output: "a_b" }
    output: "a/b"
    output: "a_b"
  )";
  const CommandResult result =
      RunReprise({"run", model, "--input", "x=" + FileOfX(Ones()),
                  "--threads=1", "--out-dir=" + folder});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(absl::StrContains(result.err, "would be one file")) << result.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

// With `.npy.tmp` behind it, as it is while it is written, the second name is
// longer than the 255 bytes of a file's name.
TEST(RunCommandTest, AResultWithoutAFileNameIsRefusedBeforeTheRun) {
  const std::string folder = ::testing::TempDir() + "/run_long_name";
  std::filesystem::remove_all(folder);
  const std::string name(248, 'a');
  const std::string model = ::testing::TempDir() + "/long_name.textproto";
  std::ofstream(model) << absl::StrCat(R"(
    format_version: 1
    name: "m"
    input { name: "x" type { dtype: FLOAT32 dim { value: 1 } dim { value: 2 } } }
    node { op: "Relu" input: "x" output: "short" }
    node { op: "Neg" input: "x" output: ")",
                                       name, R"(" }
    output: "short"
    output: ")",
                                       name, "\"\n");
  const CommandResult result =
      RunReprise({"run", model, "--input", "x=" + FileOfX(Ones()),
                  "--threads=1", "--out-dir=" + folder});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(absl::StrContains(
      result.err,
      absl::StrCat("/", name,
                   ".npy.tmp: cannot be written: File name too long")))
      << result.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(RunCommandTest, ASymbolIsSetOnce) {
  const CommandResult result =
      RunReprise({"run", kLesson, "--set", "batch=1", "--set", "batch=2"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(absl::StrContains(result.err, "'batch' is given twice"))
      << result.err;
}

}  // namespace
}  // namespace reprise
