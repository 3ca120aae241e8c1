#include "core/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/test_path.h"

namespace reprise {
namespace {

bool IsThere(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

TEST(ReplaceFileTest, PartsFollowOneAnotherAndReplaceWhatWasThere) {
  const std::string path = TestPath("parts");
  ASSERT_TRUE(ReplaceFile(path, {"a long first content"}).ok());
  ASSERT_TRUE(ReplaceFile(path, {"ab", "", "c"}).ok());
  EXPECT_EQ(*ReadFile(path, 100), "abc");
  EXPECT_FALSE(IsThere(path + ".tmp"));
}

TEST(ReplaceFileTest, ALeftoverOfAKilledWriterIsOverwritten) {
  const std::string path = TestPath("leftover");
  ASSERT_TRUE(
      ReplaceFile(path + ".tmp", {"half a file that nobody finished"}).ok());
  ASSERT_TRUE(ReplaceFile(path, {"new"}).ok());
  EXPECT_EQ(*ReadFile(path, 100), "new");
  EXPECT_FALSE(IsThere(path + ".tmp"));
}

TEST(ReplaceFileTest, FoldersPipesAndLinksAreLeftAlone) {
  EXPECT_TRUE(
      absl::StrContains(ReplaceFile(::testing::TempDir(), {"x"}).message(),
                        "is there and is not a regular file"));
  const std::string pipe = TestPath("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(ReplaceFile(pipe, {"x"}).ok());
  // Nor may the temporary name lead elsewhere.
  const std::string target = TestPath("target");
  const std::string path = TestPath("trap");
  ASSERT_EQ(symlink(target.c_str(), (path + ".tmp").c_str()), 0);
  EXPECT_FALSE(ReplaceFile(path, {"x"}).ok());
  EXPECT_FALSE(IsThere(target));
}

TEST(ReadFileTest, ALimitIsCheckedBeforeReading) {
  const std::string path = TestPath("limit");
  ASSERT_TRUE(ReplaceFile(path, {"12345"}).ok());
  EXPECT_EQ(*ReadFile(path, 5), "12345");
  EXPECT_EQ(ReadFile(path, 4).status().message(),
            path + ": a file has at most 4 bytes, this one has 5");
}

TEST(ReadFileTest, APipeDoesNotHang) {
  const std::string pipe = TestPath("read_pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(pipe, 5).status().message(),
            pipe + ": is not a regular file");
}

TEST(ReadAtTest, AFileThatEndsEarlyIsDataLoss) {
  const std::string path = TestPath("early");
  ASSERT_TRUE(ReplaceFile(path, {"12345"}).ok());
  const absl::StatusOr<OpenFile> file = OpenForReading(path);
  ASSERT_TRUE(file.ok());
  char bytes[4];
  EXPECT_TRUE(ReadAt(file->fd, path, 1, 4, bytes).ok());
  EXPECT_EQ(std::string(bytes, 4), "2345");
  const absl::Status status = ReadAt(file->fd, path, 3, 4, bytes);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(),
            path + ": ends at byte 5, 2 bytes before its time");
}

}  // namespace
}  // namespace reprise
