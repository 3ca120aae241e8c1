// Tensor content in files beside a model, and paths that must not be followed.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/tools/importer/onnx_builder.h"

namespace reprise {
namespace {

class ExternalDataTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/external.XXXXXX";
    ASSERT_NE(mkdtemp(&pattern[0]), nullptr);
    root_ = pattern;
    folder_ = root_ + "/model";
    ASSERT_EQ(mkdir(folder_.c_str(), 0700), 0);
    ASSERT_EQ(mkdir((folder_ + "/sub").c_str(), 0700), 0);
    // Four floats: 1, 2, 3, 4.
    const float content[] = {1, 2, 3, 4};
    for (const char* const name :
         {"/model/w.bin", "/model/sub/w.bin", "/outside.bin"}) {
      std::ofstream file(root_ + name, std::ios::binary);
      file.write(reinterpret_cast<const char*>(content), sizeof(content));
    }
  }

  void TearDown() override {
    const std::string command = "rm -rf '" + root_ + "'";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }

  // Imports w [2], two floats kept at `location`.
  absl::StatusOr<ImportedModel> Import(
      const std::map<std::string, std::string>& keys) {
    OnnxBuilder builder;
    builder.Input("x", {"2"}).Floats("w", {2}, {}).Output("y");
    builder.Node("Add", {"x", "w"}, {"y"});
    onnx::TensorProto& tensor = *builder.graph().mutable_initializer(0);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : keys) {
      onnx::StringStringEntryProto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return builder.Import({}, folder_);
  }

  void ExpectRefused(const std::map<std::string, std::string>& keys,
                     const std::string& part) {
    const absl::StatusOr<ImportedModel> imported = Import(keys);
    ASSERT_FALSE(imported.ok());
    EXPECT_NE(imported.status().message().find("initializer 'w'"),
              std::string::npos);
    EXPECT_NE(imported.status().message().find(part), std::string::npos)
        << imported.status();
  }

  std::string root_;
  std::string folder_;
};

float Element(const ImportedModel& imported, int i) {
  return static_cast<float>(ElementAsDouble(imported.weights[0].array, i));
}

TEST_F(ExternalDataTest, ContentIsReadAtItsOffset) {
  const absl::StatusOr<ImportedModel> imported =
      Import({{"location", "w.bin"}, {"offset", "4"}, {"length", "8"}});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(Element(*imported, 0), 2);
  EXPECT_EQ(Element(*imported, 1), 3);
}

TEST_F(ExternalDataTest, FoldersBelowTheModelAreAllowed) {
  EXPECT_TRUE(Import({{"location", "sub/w.bin"}}).ok());
}

TEST_F(ExternalDataTest, PathsThatLeadOutAreRefused) {
  for (const char* const path : {"../outside.bin", "sub/../../outside.bin",
                                 "./w.bin", "", "sub//w.bin", "/etc/passwd"}) {
    ExpectRefused({{"location", path}}, "stays inside");
  }
  ExpectRefused({{"location", root_ + "/outside.bin"}}, "stays inside");
  ExpectRefused({{"location", std::string("w.bin\0x", 7)}}, "stays inside");
}

TEST_F(ExternalDataTest, SymbolicLinksAreNotFollowed) {
  ASSERT_EQ(symlink("../outside.bin", (folder_ + "/link.bin").c_str()), 0);
  ASSERT_EQ(symlink("..", (folder_ + "/up").c_str()), 0);
  ASSERT_EQ(symlink("w.bin", (folder_ + "/inside.bin").c_str()), 0);
  for (const char* const path : {"link.bin", "up/outside.bin", "inside.bin"}) {
    ExpectRefused({{"location", path}}, "symbolic links are not followed");
  }
}

TEST_F(ExternalDataTest, FilesWithASecondHardLinkAreRefused) {
  ASSERT_EQ(
      link((root_ + "/outside.bin").c_str(), (folder_ + "/hard.bin").c_str()),
      0);
  ExpectRefused({{"location", "hard.bin"}}, "has 2 hard links");
}

TEST_F(ExternalDataTest, WhatIsNoRegularFileIsRefused) {
  ASSERT_EQ(mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  ExpectRefused({{"location", "pipe"}}, "no regular file");
  ExpectRefused({{"location", "sub"}}, "no regular file");
  ExpectRefused({{"location", "absent.bin"}}, "absent.bin");
}

TEST_F(ExternalDataTest, RangesOutsideOfTheFileAreRefused) {
  // The file has 16 bytes, the tensor 8.
  ExpectRefused({{"location", "w.bin"}, {"offset", "12"}}, "its 16");
  ExpectRefused({{"location", "w.bin"}, {"offset", "9223372036854775807"}},
                "its 16");
  ExpectRefused({{"location", "w.bin"}, {"length", "16"}}, "its length here");
  ExpectRefused({{"location", "w.bin"}, {"offset", "-4"}}, "a number >= 0");
  ExpectRefused({{"location", "w.bin"}, {"offset", "four"}}, "a number >= 0");
  ExpectRefused({{"location", "w.bin"}, {"length", "99999999999999999999"}},
                "a number >= 0");
}

TEST_F(ExternalDataTest, AModelWithoutAFolderHasNone) {
  OnnxBuilder builder;
  builder.Floats("w", {2}, {}).Output("w");
  onnx::TensorProto& tensor = *builder.graph().mutable_initializer(0);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& entry = *tensor.add_external_data();
  entry.set_key("location");
  entry.set_value("w.bin");
  EXPECT_FALSE(builder.Import().ok());
}

}  // namespace
}  // namespace reprise
