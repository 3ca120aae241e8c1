// The readers of data files: what they understand, and what they answer to
// files that are wrong. A reader never crashes: each is given every prefix of
// a small file and every single-byte change of one.

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tools/data/csv.h"
#include "tools/data/gzip.h"
#include "tools/data/idx.h"
#include "tools/data/npy.h"

namespace reprise {
namespace {

template <typename T>
std::vector<T> Elements(const Array& array) {
  std::vector<T> elements(array.data.size() / sizeof(T));
  std::memcpy(elements.data(), array.data.data(), array.data.size());
  return elements;
}

template <typename T>
std::string Bytes(const std::vector<T>& elements) {
  std::string bytes(elements.size() * sizeof(T), '\0');
  std::memcpy(&bytes[0], elements.data(), bytes.size());
  return bytes;
}

// A .npy file of version 1 with the header as given.
std::string NpyFile(absl::string_view header, absl::string_view elements) {
  const char prefix[] = {1, 0, static_cast<char>(header.size()), 0};
  return absl::StrCat("\x93NUMPY", absl::string_view(prefix, 4), header,
                      elements);
}

std::string NpyFile(absl::string_view descr, absl::string_view shape,
                    absl::string_view elements) {
  return NpyFile(
      absl::StrCat("{'descr': '", descr,
                   "', 'fortran_order': False, 'shape': ", shape, ", }"),
      elements);
}

// A zip archive with the members (name, content).
std::string ZipFile(
    const std::vector<std::pair<std::string, std::string>>& members,
    bool deflate) {
  std::string zip(1 << 16, '\0');
  size_t used = 0;
  archive* a = archive_write_new();
  archive_write_set_format_zip(a);
  if (deflate) {
    archive_write_zip_set_compression_deflate(a);
  } else {
    archive_write_zip_set_compression_store(a);
  }
  archive_write_set_bytes_in_last_block(a, 1);
  archive_write_open_memory(a, &zip[0], zip.size(), &used);
  for (const auto& [name, content] : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_write_header(a, entry);
    archive_write_data(a, content.data(), content.size());
    archive_entry_free(entry);
  }
  archive_write_close(a);
  archive_write_free(a);
  zip.resize(used);
  return zip;
}

std::string Gzip(absl::string_view content) {
  std::string compressed(content.size() + 100, '\0');
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(&compressed[0]);
  stream.avail_out = static_cast<uInt>(compressed.size());
  deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  return compressed;
}

// idx bytes: element type, dims (each below 256), elements.
std::string IdxFile(int type, const std::vector<int>& dims,
                    absl::string_view elements) {
  std::string file = {0, 0, static_cast<char>(type),
                      static_cast<char>(dims.size())};
  for (const int dim : dims) {
    file.append(3, '\0');
    file += static_cast<char>(dim);
  }
  return file.append(elements.data(), elements.size());
}

// Every prefix is an error, and no single changed byte is a crash.
void CheckNeverCrashes(
    const std::string& file,
    const std::function<absl::Status(absl::string_view)>& read) {
  ASSERT_TRUE(read(file).ok()) << read(file);
  for (size_t size = 0; size < file.size(); ++size) {
    // A copy of its own, so that a sanitizer sees a read beyond the end.
    const std::vector<char> prefix(file.begin(), file.begin() + size);
    EXPECT_FALSE(read({prefix.data(), prefix.size()}).ok())
        << "prefix of " << size << " bytes";
  }
  for (size_t at = 0; at < file.size(); ++at) {
    for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
      std::vector<char> changed(file.begin(), file.end());
      changed[at] = static_cast<char>(changed[at] ^ flip);
      read({changed.data(), changed.size()}).IgnoreError();
    }
  }
}

#define EXPECT_ERROR(expression, text)                                      \
  do {                                                                      \
    const absl::Status status = (expression).status();                      \
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status; \
    EXPECT_TRUE(absl::StrContains(status.message(), text))                  \
        << "got: " << status;                                               \
  } while (false)

TEST(NpyTest, ReadsEveryElementType) {
  const std::string shape = "(2,)";
  EXPECT_EQ(Elements<float>(*ParseNpy(
                NpyFile("<f4", shape, Bytes<float>({1.5f, -2})), "f")),
            (std::vector<float>{1.5f, -2}));
  EXPECT_EQ(Elements<float>(*ParseNpy(
                NpyFile("<f8", shape, Bytes<double>({1.5, -2})), "f")),
            (std::vector<float>{1.5f, -2}));
  EXPECT_EQ(Elements<int32_t>(
                *ParseNpy(NpyFile("<i4", shape, Bytes<int32_t>({7, -8})), "f")),
            (std::vector<int32_t>{7, -8}));
  EXPECT_EQ(Elements<int64_t>(
                *ParseNpy(NpyFile("<i8", shape, Bytes<int64_t>({7, -8})), "f")),
            (std::vector<int64_t>{7, -8}));
  EXPECT_EQ(ParseNpy(NpyFile("|u1", shape, "\x07\xff"), "f")->data, "\x07\xff");
  // Any byte but 0 is true.
  EXPECT_EQ(ParseNpy(NpyFile("|b1", shape, absl::string_view("\0\x02", 2)), "f")
                ->data,
            std::string("\0\x01", 2));
}

TEST(NpyTest, ReadsShapesOfAnyRank) {
  EXPECT_EQ(ToString(ParseNpy(NpyFile("|u1", "()", "a"), "f")->type), "u8[]");
  EXPECT_EQ(ToString(ParseNpy(NpyFile("|u1", "(2, 3)", "abcdef"), "f")->type),
            "u8[2,3]");
  EXPECT_EQ(ToString(ParseNpy(NpyFile("|u1", "(0, 3)", ""), "f")->type),
            "u8[0,3]");
}

TEST(NpyTest, ReadsWhatToNpyWrites) {
  const Array array = {{DType::kI32, {2, 2}}, Bytes<int32_t>({1, 2, 3, 4})};
  const std::string file = ToNpy(array);
  const absl::StatusOr<Array> read = ParseNpy(file, "f");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->type, array.type);
  EXPECT_EQ(read->data, array.data);
  // numpy aligns elements to 64 bytes: 10 + header is a multiple of 64.
  EXPECT_EQ((file.size() - array.data.size()) % 64, 0u);
}

TEST(NpyTest, RefusesFortranOrderUnlessItMakesNoDifference) {
  EXPECT_ERROR(ParseNpy(NpyFile("{'descr': '|u1', 'fortran_order': True, "
                                "'shape': (1, 2)}",
                                "ab"),
                        "x.npy"),
               "x.npy: must be in C order");
  EXPECT_TRUE(ParseNpy(NpyFile("{'descr': '|u1', 'fortran_order': True, "
                               "'shape': (2,)}",
                               "ab"),
                       "x.npy")
                  .ok());
}

TEST(NpyTest, RefusalsNameTheNumbers) {
  EXPECT_ERROR(ParseNpy("garbage", "x.npy"), "x.npy: not a .npy file");
  EXPECT_ERROR(ParseNpy(NpyFile(">f4", "(1,)", "abcd"), "f"), "got '>f4'");
  EXPECT_ERROR(ParseNpy(NpyFile("|u1", "(3,)", "ab"), "f"),
               "3 elements of |u1 expected, got 2 bytes");
  EXPECT_ERROR(
      ParseNpy(NpyFile("|u1", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", "a"), "f"),
      "at most 8 integers");
  // 2^62 elements of 4 bytes exceed int64.
  EXPECT_FALSE(
      ParseNpy(NpyFile("<f4", "(4611686018427387904,)", ""), "f").ok());
  EXPECT_ERROR(ParseNpy(NpyFile("{'descr': '|u1'}", ""), "f"),
               "needs 'descr', 'fortran_order' and 'shape'");
}

TEST(NpyTest, NeverCrashes) {
  CheckNeverCrashes(
      NpyFile("<i4", "(2, 1)", Bytes<int32_t>({7, -8})),
      [](absl::string_view file) { return ParseNpy(file, "f").status(); });
}

TEST(NpzTest, ReadsStoredAndDeflatedMembersByName) {
  for (const bool deflate : {false, true}) {
    const std::string file =
        ZipFile({{"x.npy", NpyFile("|u1", "(2, 1)", "ab")},
                 {"label.npy", NpyFile("<i8", "(1,)", Bytes<int64_t>({5}))}},
                deflate);
    const auto arrays = ParseNpz(file, "d.npz");
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    ASSERT_EQ(arrays->size(), 2u);
    EXPECT_EQ(ToString(arrays->at("x").type), "u8[2,1]");
    EXPECT_EQ(Elements<int64_t>(arrays->at("label")),
              (std::vector<int64_t>{5}));
  }
}

TEST(NpzTest, RefusesWhatIsNoArchiveOfArrays) {
  EXPECT_ERROR(ParseNpz("garbage", "d.npz"), "d.npz: ");
  EXPECT_ERROR(ParseNpz(ZipFile({{"x.txt", "text"}}, false), "d.npz"),
               "d.npz: member 'x.txt': not a .npy file");
  const std::string npy = NpyFile("|u1", "(1,)", "a");
  EXPECT_ERROR(
      ParseNpz(ZipFile({{"x.npy", npy}, {"x.npy", npy}}, false), "d.npz"),
      "member 'x': twice");
}

TEST(NpzTest, NeverCrashes) {
  for (const bool deflate : {false, true}) {
    CheckNeverCrashes(
        ZipFile({{"x.npy", NpyFile("|u1", "(2,)", "ab")}}, deflate),
        [](absl::string_view file) { return ParseNpz(file, "f").status(); });
  }
}

TEST(IdxTest, ReadsBytesIntegersAndFloats) {
  EXPECT_EQ(ParseIdx(IdxFile(0x08, {2, 2}, "abcd"), "f")->data, "abcd");
  // 258 = 0x0102, big-endian.
  EXPECT_EQ(Elements<int32_t>(*ParseIdx(
                IdxFile(0x0C, {1}, absl::string_view("\0\0\x01\x02", 4)), "f")),
            (std::vector<int32_t>{258}));
  // 1.5f = 0x3FC00000.
  EXPECT_EQ(Elements<float>(*ParseIdx(
                IdxFile(0x0D, {1}, absl::string_view("\x3F\xC0\0\0", 4)), "f")),
            (std::vector<float>{1.5f}));
}

TEST(IdxTest, RefusalsNameTheNumbers) {
  EXPECT_ERROR(ParseIdx("ab", "f"), "at least 4 bytes, got 2");
  EXPECT_ERROR(ParseIdx("abcd", "f"), "two zero bytes, got 61 62");
  EXPECT_ERROR(ParseIdx(IdxFile(0x0B, {1}, "ab"), "f"), "got 0b");
  EXPECT_ERROR(ParseIdx(IdxFile(0x08, {2, 3}, "abcde"), "f"),
               "u8[2,3] has 6 bytes, the file 5 after its header");
  EXPECT_FALSE(
      ParseIdx(IdxFile(0x08, std::vector<int>(255, 1), "a"), "f").ok());
}

TEST(IdxTest, NeverCrashes) {
  CheckNeverCrashes(IdxFile(0x08, {2, 1}, "ab"), [](absl::string_view file) {
    return ParseIdx(file, "f").status();
  });
}

TEST(CsvTest, TakesTheLastColumnAsLabel) {
  const auto table = ParseCsv("1,2.5,3\n-4, +5 ,6\r\n\n", "f");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(ToString(table->features.type), "f32[2,2]");
  EXPECT_EQ(Elements<float>(table->features),
            (std::vector<float>{1, 2.5f, -4, 5}));
  EXPECT_EQ(Elements<int64_t>(table->labels), (std::vector<int64_t>{3, 6}));
}

TEST(CsvTest, KeepsLabelsAsFloatsIfOneIsNoInteger) {
  const auto table = ParseCsv("1,2\n1,2.5\n", "f");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(Elements<float>(table->labels), (std::vector<float>{2, 2.5f}));
}

TEST(CsvTest, NamesTheFirstLabelThatIsNoInteger) {
  EXPECT_EQ(ParseCsv("1,2\n1,0.5\n1,1e300\n", "d.csv").status().message(),
            "d.csv: line 3: column 2: '1e300' is too large for float32");
  const auto table = ParseCsv("a,b\n1,2\n1,0.5\n1,0.25\n", "d.csv");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->fraction, "line 3: '0.5'");
}

TEST(CsvTest, SkipsAByteOrderMark) {
  const auto table = ParseCsv(
      "\xEF\xBB\xBF"
      "1,2\n3,4\n",
      "d.csv");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(Elements<float>(table->features), (std::vector<float>{1, 3}));
}

TEST(CsvTest, SkipsAHeader) {
  const auto table = ParseCsv("width,height,class\n1,2,3\n", "f");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(ToString(table->features.type), "f32[1,2]");
}

// Nor is a first line of them a header.
TEST(CsvTest, HexadecimalNumbersAreRefused) {
  EXPECT_ERROR(ParseCsv("1,2\n3,0x10\n", "d.csv"),
               "d.csv: line 2: column 2: '0x10' is not a decimal number");
  EXPECT_ERROR(ParseCsv("-0X1p-2,2\n", "d.csv"),
               "d.csv: line 1: column 1: '-0X1p-2' is not a decimal number");
  EXPECT_ERROR(ParseCsv("0x10,0x11\n1,2\n", "d.csv"), "line 1: column 1");
}

TEST(CsvTest, ErrorsHaveLineAndColumn) {
  EXPECT_ERROR(ParseCsv("1,2\n3,four\n", "d.csv"),
               "d.csv: line 2: column 2: 'four' is not a finite number");
  // A first line with one number in it is no header.
  EXPECT_ERROR(ParseCsv("a,2\n", "f"), "line 1: column 1: 'a'");
  EXPECT_ERROR(ParseCsv("1,2\n\n1,2,3\n", "f"),
               "line 3: has 3 fields, the first line 2");
  EXPECT_ERROR(ParseCsv("1\n", "f"), "line 1: needs a label");
  EXPECT_ERROR(ParseCsv("1,nan\n", "f"), "'nan' is not a finite number");
  EXPECT_ERROR(ParseCsv("1,nan(123)\n", "f"), "is not a finite number");
  EXPECT_ERROR(ParseCsv("1,infinity\n", "f"), "is not a finite number");
  EXPECT_ERROR(ParseCsv("1e300,1\n", "f"), "too large for float32");
  EXPECT_ERROR(ParseCsv("1,\n", "f"), "column 2: ''");
  EXPECT_ERROR(ParseCsv("a,b\n", "f"), "has no row of numbers");
  EXPECT_ERROR(ParseCsv("", "f"), "has no row of numbers");
  EXPECT_ERROR(ParseCsv(absl::string_view("1,\0\n", 4), "f"), "'\\x00'");
}

TEST(GzipTest, ReadsSeveralMembers) {
  const absl::StatusOr<std::string> content =
      Gunzip(absl::StrCat(Gzip("abc"), Gzip(""), Gzip("def")), "f");
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(*content, "abcdef");
}

// 1 MiB is more than one output chunk.
TEST(GzipTest, ReadsContentLargerThanAChunk) {
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(*Gunzip(Gzip(large), "f"), large);
}

TEST(GzipTest, RefusesTrailingBytesAndCorruption) {
  EXPECT_ERROR(Gunzip(absl::StrCat(Gzip("abc"), "xyz"), "d.gz"),
               "d.gz: not a valid gzip stream at byte ");
  std::string wrong_sum = Gzip("abc");
  wrong_sum[wrong_sum.size() - 8] ^= 1;  // the CRC's first byte
  EXPECT_ERROR(Gunzip(wrong_sum, "f"), "incorrect data check");
  EXPECT_ERROR(Gunzip(Gzip("abc").substr(0, 15), "f"),
               "ends too early, after 15 bytes");
}

TEST(GzipTest, NeverCrashes) {
  CheckNeverCrashes(Gzip("some text, some text"), [](absl::string_view file) {
    return Gunzip(file, "f").status();
  });
}

}  // namespace
}  // namespace reprise
