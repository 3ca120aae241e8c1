// What cannot be written is refused before the work begins, and leaves nothing.

#include "tools/commands/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tools/command_line.h"

namespace reprise {
namespace {

constexpr char kDigits[] = "examples/digits_mlp.textproto";
constexpr char kDigitsData[] = "--data=examples/data/digits.csv.gz";

// An empty folder for one test.
std::string Folder() {
  const std::string folder = absl::StrCat(
      ::testing::TempDir(), "/",
      ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  return folder;
}

TEST(CheckWritableTest, AFileThatMayBeReplacedIsAccepted) {
  const std::string folder = Folder();
  EXPECT_TRUE(CheckWritable("").ok());
  EXPECT_TRUE(CheckWritable(folder + "/new").ok());
  EXPECT_TRUE(CheckWritable("new").ok());
  std::ofstream(folder + "/old") << "content";
  EXPECT_TRUE(CheckWritable(folder + "/old").ok());
  EXPECT_FALSE(std::filesystem::exists(folder + "/new"));
}

TEST(CheckWritableTest, WhatCannotBeReplacedIsRefusedByName) {
  const std::string folder = Folder();
  std::ofstream(folder + "/file") << "content";
  std::filesystem::create_directory(folder + "/folder");
  std::filesystem::create_directory(folder + "/busy.tmp");
  std::filesystem::create_symlink(folder + "/file", folder + "/link");
  for (const char* name :
       {"missing/x", "folder", "folder/", "file/x", "busy", "link"}) {
    const std::string path = absl::StrCat(folder, "/", name);
    const absl::Status status = CheckWritable(path);
    EXPECT_FALSE(status.ok()) << path;
    EXPECT_TRUE(absl::StartsWith(status.message(), path)) << status;
  }
  // 255 bytes are a file's name on Linux; the temporary one is longer.
  EXPECT_FALSE(CheckWritable(folder + "/" + std::string(252, 'a')).ok());
}

TEST(CheckWritableTest, AFolderWithoutPermissionIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "everything is permitted to root";
  const std::string folder = Folder();
  ASSERT_EQ(chmod(folder.c_str(), 0555), 0);
  EXPECT_FALSE(CheckWritable(folder + "/x").ok());
}

TEST(TrainCommandTest, WhatCannotBeWrittenIsRefusedBeforeTheFirstStep) {
  const std::string folder = Folder();
  for (const char* flag : {"--save=", "--checkpoint="}) {
    for (const std::string& path : {folder + "/missing/x", folder}) {
      const CommandResult result =
          RunReprise({"train", kDigits, kDigitsData, "--steps=1", flag + path});
      EXPECT_EQ(result.code, 1);
      EXPECT_TRUE(absl::StrContains(result.err, path + ": cannot be written"))
          << result.err;
      EXPECT_EQ(result.out, "") << "it has begun";
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(PlanCommandTest, AnOutputThatCannotBeWrittenIsRefused) {
  const std::string path = Folder() + "/missing/plan.pb";
  const CommandResult result = RunReprise({"plan", kDigits, "--out=" + path});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(absl::StrContains(result.err, path)) << result.err;
}

TEST(MakeFolderTest, MakesWhatIsMissing) {
  const std::string folder = Folder();
  EXPECT_TRUE(MakeFolder(folder + "/a/b").ok());
  EXPECT_TRUE(MakeFolder(folder + "/a/b").ok());
  EXPECT_TRUE(std::filesystem::is_directory(folder + "/a/b"));
  std::ofstream(folder + "/file") << "content";
  for (const char* name : {"/file", "/file/a"}) {
    const absl::Status status = MakeFolder(folder + name);
    EXPECT_FALSE(status.ok());
    EXPECT_TRUE(absl::StartsWith(status.message(), folder + name)) << status;
  }
}

TEST(CheckOutputsTest, NoFileThatIsReadOrWrittenTwiceIsAccepted) {
  const std::string folder = Folder();
  const std::string model = folder + "/model";
  std::ofstream(model) << "content";
  std::filesystem::create_symlink(model, folder + "/link");
  const std::string a = folder + "/a";
  EXPECT_TRUE(CheckOutputs({a, "", folder + "/b"}, {model, ""}).ok());
  EXPECT_FALSE(CheckOutputs({a, folder + "/./a"}, {model}).ok());
  EXPECT_FALSE(CheckOutputs({model}, {folder + "/link"}).ok());
  const absl::Status over = CheckOutputs({a, model}, {model});
  EXPECT_TRUE(absl::StrContains(over.message(), "which is read")) << over;
}

TEST(CheckOutputsTest, ATrainedModelIsNotWrittenOverItsData) {
  const std::string data = Folder() + "/digits.csv.gz";
  std::filesystem::copy_file("examples/data/digits.csv.gz", data);
  const auto bytes = std::filesystem::file_size(data);
  const CommandResult result =
      RunReprise({"train", kDigits, "--data=" + data, "--save=" + data});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(absl::StrContains(result.err, "which is read")) << result.err;
  EXPECT_EQ(std::filesystem::file_size(data), bytes);
}

}  // namespace
}  // namespace reprise
