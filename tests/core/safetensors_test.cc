#include "core/safetensors.h"

#include <signal.h>
#include <sys/wait.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/random.h"
#include "gtest/gtest.h"
#include "tests/testing/test_path.h"

namespace reprise {
namespace {

std::string WithLength(absl::string_view json, absl::string_view data) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
  }
  return absl::StrCat(bytes, json, data);
}

std::string WriteBytes(absl::string_view name, absl::string_view bytes) {
  const std::string path = TestPath(name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

absl::StatusOr<std::vector<float>> ReadFloats(const SafetensorsFile& file,
                                              absl::string_view name) {
  for (const SafetensorsEntry& entry : file.entries()) {
    if (entry.name != name) continue;
    std::vector<float> data(entry.type.num_elements());
    const absl::Status status = file.Read(entry, data.data());
    if (!status.ok()) return status;
    return data;
  }
  return absl::NotFoundError(name);
}

TEST(SafetensorsTest, WhatIsWrittenIsRead) {
  const std::vector<float> w = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> ids = {7, -8};
  const std::vector<uint8_t> mask = {1, 0, 1};
  const std::string path = TestPath("round_trip");
  ASSERT_TRUE(WriteSafetensors(path,
                               {{"mask", {DType::kBool, {3}}, mask.data()},
                                {"w \"1\"", {DType::kF32, {2, 3}}, w.data()},
                                {"ids", {DType::kI64, {2}}, ids.data()},
                                {"none", {DType::kF32, {0, 5}}, nullptr},
                                {"bytes", {DType::kU8, {}}, mask.data()}},
                               {{"step", "12"}, {"note", "a\nb"}})
                  .ok());
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata(),
            (SafetensorsMetadata{{"step", "12"}, {"note", "a\nb"}}));
  // Larger elements first, then by name: 16 bytes of ids, none, 24 bytes of w.
  std::vector<std::string> lines;
  for (const SafetensorsEntry& entry : file->entries()) {
    lines.push_back(
        absl::StrCat(entry.name, " ", ToString(entry.type), " ", entry.offset));
  }
  EXPECT_EQ(lines,
            (std::vector<std::string>{"ids i64[2] 0", "none f32[0,5] 16",
                                      "w \"1\" f32[2,3] 16", "bytes u8[] 40",
                                      "mask bool[3] 41"}));
  EXPECT_EQ(*ReadFloats(*file, "w \"1\""), w);
  std::vector<int64_t> ids_read(2);
  ASSERT_TRUE(file->Read(file->entries()[0], ids_read.data()).ok());
  EXPECT_EQ(ids_read, ids);
}

// Written by hand after the format's description.
TEST(SafetensorsTest, ReadsWhatOthersWrite) {
  const std::string path = WriteBytes(
      "foreign", WithLength(" {\"__metadata__\":{\"format\":\"pt\"},\n"
                            "\"a\":{\"shape\":[1],\"dtype\":\"F32\","
                            "\"data_offsets\":[4,8]},"
                            "\"b\\u00e9\":{\"dtype\":\"I32\",\"shape\":[],"
                            "\"data_offsets\":[0,4]}}   ",
                            absl::string_view("\x01\0\0\0\0\0\x80\x3f", 8)));
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->entries()[0].name, "b\xc3\xa9");
  EXPECT_EQ(*ReadFloats(*file, "a"), std::vector<float>{1});
}

TEST(SafetensorsTest, AFileWithoutTensorsIsGood) {
  const std::string path = TestPath("empty");
  ASSERT_TRUE(WriteSafetensors(path, {}, {}).ok());
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->entries().empty());
}

std::string Tensor(absl::string_view name, int begin, int end,
                   absl::string_view shape = "[1]") {
  return absl::StrCat("\"", name, "\":{\"dtype\":\"F32\",\"shape\":", shape,
                      ",\"data_offsets\":[", begin, ",", end, "]}");
}

struct BadHeader {
  std::string json;
  int64_t data_bytes;
  std::string error;
};

TEST(ParseSafetensorsHeaderTest, RefusesWhatIsWrongByName) {
  const std::vector<BadHeader> cases = {
      {"", 0, "header: is not JSON in UTF-8"},
      {"7", 0, "header: a number is not expected"},
      {"[]", 0, "header: a list is not expected"},
      {"null", 0, "header: null is not expected"},
      {"{", 0, "header: is not JSON in UTF-8"},
      {"{} {}", 0, "header: is not JSON in UTF-8"},
      {"{\"a\xff\":{}}", 0, "header: is not JSON in UTF-8"},
      {"{\"a\":1}", 0, "tensor 'a': a number is not expected"},
      {"{\"a\":{}}", 0, "tensor 'a': needs dtype, shape and data_offsets"},
      {"{\"a\":{\"colour\":1}}", 0, "tensor 'a': unknown key 'colour'"},
      {"{\"a\":{\"dtype\":\"F16\"}}", 0,
       "tensor 'a': element type 'F16' is not one of F32, I64, I32, U8, BOOL"},
      {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0,
       "tensor 'a': key 'dtype' is doubled"},
      {"{\"a\":{\"dtype\":[]}}", 0, "tensor 'a': a list is not expected"},
      {"{\"a\":{\"shape\":\"1\"}}", 0, "tensor 'a': a string is not expected"},
      {"{\"a\":{\"shape\":[-1]}}", 0,
       "tensor 'a': numbers are at least 0, got -1"},
      {"{\"a\":{\"shape\":[1.5]}}", 0,
       "tensor 'a': whole numbers are expected, got 1.5"},
      {"{\"a\":{\"shape\":[true]}}", 0, "tensor 'a': a bool is not expected"},
      {"{\"a\":{\"shape\":[9223372036854775808]}}", 0,
       "tensor 'a': number 9223372036854775808 exceeds int64"},
      {"{\"a\":{\"shape\":[[1]]}}", 0, "tensor 'a': a list is not expected"},
      {"{\"a\":{\"shape\":[1,1,1,1,1,1,1,1,1]}}", 0,
       "tensor 'a': rank is above 8"},
      {"{\"a\":{\"data_offsets\":[1,2,3]}}", 0,
       "tensor 'a': data_offsets has two numbers"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0]}}", 0,
       "tensor 'a': data_offsets has two numbers"},
      {"{\"a\":{\"dtype\":{}}}", 0, "tensor 'a': an object is not expected"},
      {"{" + Tensor("a", 0, 4, "[4294967296,4294967296]") + "}", 4,
       "tensor 'a': bytes of f32[4294967296,4294967296] exceed 4398046511104"},
      {"{" + Tensor("a", 0, 8) + "}", 8,
       "tensor 'a': f32[1] has 4 bytes, data_offsets are 0 and 8"},
      {"{" + Tensor("a", 4, 0) + "}", 4,
       "tensor 'a': f32[1] has 4 bytes, data_offsets are 4 and 0"},
      {"{" + Tensor("a", 0, 4) + "," + Tensor("a", 4, 8) + "}", 8,
       "tensor 'a': is there twice"},
      {"{" + Tensor("a", 0, 4) + "," + Tensor("b", 2, 6) + "}", 6,
       "tensor 'b': begins at byte 2, inside the one before, which ends at 4"},
      {"{" + Tensor("a", 0, 4) + "," + Tensor("b", 0, 4) + "}", 4,
       "tensor 'b': begins at byte 0, inside the one before, which ends at 4"},
      {"{" + Tensor("a", 0, 4) + "," + Tensor("b", 5, 9) + "}", 9,
       "tensor 'b': begins at byte 5, behind a hole after 4"},
      {"{" + Tensor("a", 4, 8) + "}", 8,
       "tensor 'a': begins at byte 4, behind a hole after 0"},
      {"{" + Tensor("a", 0, 4) + "}", 3,
       "the tensors have 4 bytes, the file 3"},
      {"{" + Tensor("a", 0, 4) + "}", 5,
       "the tensors have 4 bytes, the file 5"},
      {"{\"__metadata__\":{\"step\":7}}", 0,
       "header: __metadata__ a number is not expected"},
      {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0,
       "header: __metadata__ key 'a' is doubled"},
      {"{\"__metadata__\":{\"a\":{}}}", 0,
       "header: __metadata__ an object is not expected"},
  };
  for (const BadHeader& bad : cases) {
    SCOPED_TRACE(bad.json);
    const absl::Status status =
        ParseSafetensorsHeader(bad.json, bad.data_bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), bad.error)) << status;
  }
}

TEST(ParseSafetensorsHeaderTest, DeepNestingEndsAtItsFirstStep) {
  const std::string deep(10'000'000, '[');
  EXPECT_FALSE(ParseSafetensorsHeader(deep, 0).ok());
  EXPECT_FALSE(ParseSafetensorsHeader("{\"a\":{\"shape\":" + deep, 0).ok());
}

TEST(SafetensorsTest, ImpossibleLengthsAreRefusedWithNumbers) {
  EXPECT_TRUE(absl::EndsWith(
      SafetensorsFile::Open(WriteBytes("short", "1234567")).status().message(),
      ": a safetensors file has at least 8 bytes, this one has 7"));
  std::string bytes = WithLength("{}", "");
  bytes[0] = 3;
  EXPECT_TRUE(absl::EndsWith(
      SafetensorsFile::Open(WriteBytes("long", bytes)).status().message(),
      ": the header claims 3 bytes, at most 2 are possible"));
  bytes = std::string(8, '\xff') + "{}";
  EXPECT_TRUE(absl::EndsWith(
      SafetensorsFile::Open(WriteBytes("huge", bytes)).status().message(),
      ": the header claims 18446744073709551615 bytes, at most 2 are "
      "possible"));
}

TEST(SafetensorsTest, FilesThatAreNoneAreNamed) {
  const std::string path = TestPath("absent");
  const absl::Status absent = SafetensorsFile::Open(path).status();
  EXPECT_EQ(absent.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StartsWith(absent.message(), path));
  EXPECT_TRUE(absl::EndsWith(
      SafetensorsFile::Open(::testing::TempDir()).status().message(),
      ": is not a regular file"));
}

// 200 flips of one byte each, at places that depend on nothing else.
TEST(SafetensorsTest, PrefixesAndFlippedBytesNeverCrash) {
  const std::vector<float> w = {1, 2, 3, 4};
  const std::string path = TestPath("fuzz");
  ASSERT_TRUE(WriteSafetensors(path,
                               {{"w", {DType::kF32, {2, 2}}, w.data()},
                                {"v", {DType::kF32, {1}}, w.data()}},
                               {{"step", "1"}})
                  .ok());
  const std::string good = *ReadFile(path, 1 << 20);
  for (size_t n = 0; n < good.size(); ++n) {
    EXPECT_FALSE(
        SafetensorsFile::Open(WriteBytes("cut", good.substr(0, n))).ok())
        << n;
  }
  for (uint64_t i = 0; i < 200; ++i) {
    std::string bad = good;
    const uint64_t bits = RandomBits(1, i);
    bad[bits % bad.size()] ^= static_cast<char>(1 << (bits >> 32) % 8);
    const absl::StatusOr<SafetensorsFile> file =
        SafetensorsFile::Open(WriteBytes("flipped", bad));
    if (!file.ok()) continue;
    for (const SafetensorsEntry& entry : file->entries()) {
      std::vector<char> data(entry.type.bytes());
      EXPECT_TRUE(file->Read(entry, data.data()).ok());
    }
  }
}

TEST(WriteSafetensorsTest, RefusesWhatTheFormatCannotHold) {
  const float x = 1;
  const std::string path = TestPath("refused");
  const TensorType scalar = {DType::kF32, {}};
  const auto error = [&](const std::vector<TensorView>& tensors) {
    return std::string(WriteSafetensors(path, tensors, {}).message());
  };
  EXPECT_EQ(error({{"a", scalar, &x}, {"a", scalar, &x}}),
            path + ": tensor 'a': is there twice");
  EXPECT_EQ(error({{"\xff", scalar, &x}}),
            path + ": tensor '\\xff': is no name for a tensor");
  EXPECT_EQ(error({{"__metadata__", scalar, &x}}),
            path + ": tensor '__metadata__': is no name for a tensor");
  EXPECT_EQ(error({{"a", {DType::kOpaque, {1}}, &x}}),
            path + ": tensor 'a': opaque[1] has no element type of the format");
  EXPECT_EQ(ReadFile(path, 100).status().code(), absl::StatusCode::kNotFound);
}

TEST(WriteSafetensorsTest, NothingIsLeftWhereItCannotWrite) {
  const float x = 1;
  const std::string path = TestPath("no/such/folder");
  const absl::Status status =
      WriteSafetensors(path, {{"a", {DType::kF32, {}}, &x}}, {});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(status.message(), path)) << status;
}

// Writes files of 1 MiB that hold one number everywhere, 1, 2, 3, ... in turn,
// until it is killed.
[[noreturn]] void WriteForEver(const std::string& path) {
  std::vector<float> data(1 << 18);
  for (float number = 1;; ++number) {
    std::fill(data.begin(), data.end(), number);
    const absl::Status status =
        WriteSafetensors(path, {{"w", {DType::kF32, {1 << 18}}, data.data()}},
                         {{"number", absl::StrCat(number)}});
    if (!status.ok()) _exit(1);
  }
}

TEST(WriteSafetensorsTest, AKilledWriterLeavesTheOldFileOrTheNewOneWhole) {
  const std::string path = TestPath("killed");
  const std::vector<float> zeros(1 << 18);
  ASSERT_TRUE(WriteSafetensors(path,
                               {{"w", {DType::kF32, {1 << 18}}, zeros.data()}},
                               {{"number", "0"}})
                  .ok());
  int num_new = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) WriteForEver(path);
    usleep(RandomBits(2, i) % 20'000);
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int wait_status;
    ASSERT_EQ(waitpid(child, &wait_status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(wait_status)) << "the writer failed by itself";

    const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    const std::string number = file->metadata().at("number");
    const absl::StatusOr<std::vector<float>> w = ReadFloats(*file, "w");
    ASSERT_TRUE(w.ok()) << w.status();
    for (const float x : *w) ASSERT_EQ(absl::StrCat(x), number);
    num_new += number != "0";
  }
  // Otherwise the kills came too early to prove anything.
  EXPECT_GT(num_new, 0);
}

}  // namespace
}  // namespace reprise
