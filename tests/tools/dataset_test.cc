// Datasets: how files become rows of a model's inputs, how rows are split and
// shuffled, and what does not fit.

#include "tools/data/dataset.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tools/data/npy.h"

namespace reprise {
namespace {

// Writes a file for one test and returns its path.
std::string FileWith(const std::string& name, const std::string& content) {
  const std::string path = absl::StrCat(
      ::testing::TempDir(), "/",
      ::testing::UnitTest::GetInstance()->current_test_info()->name(), "_",
      name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

ModelInput Input(const std::string& name, DType dtype, Dims dims) {
  ModelInput input;
  input.name = name;
  input.type = {dtype, std::move(dims)};
  return input;
}

// Of a classifier: x f32[4,features], label i64[4] in [0, classes).
std::vector<ModelInput> Classifier(int64_t features, int64_t classes) {
  std::vector<ModelInput> inputs = {Input("x", DType::kF32, {4, features}),
                                    Input("label", DType::kI64, {4})};
  inputs[1].is_label = true;
  inputs[1].low = 0;
  inputs[1].high = classes;
  return inputs;
}

// Of a text model: windows of three bytes.
std::vector<ModelInput> TextModel() {
  return {Input("tokens", DType::kI64, {4, 3}),
          Input("targets", DType::kI32, {4, 3})};
}

template <typename T>
std::vector<T> Row(const Dataset& dataset, int input, int64_t row) {
  std::vector<T> elements(dataset.row_bytes(input) / sizeof(T));
  dataset.CopyRow(input, row, elements.data());
  return elements;
}

absl::StatusOr<Dataset> Load(const std::string& files,
                             const std::vector<ModelInput>& inputs) {
  DataOptions options;
  options.files = files;
  return Dataset::Load(options, inputs);
}

#define EXPECT_ERROR(expression, text)                                      \
  do {                                                                      \
    const absl::Status status = (expression).status();                      \
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status; \
    EXPECT_TRUE(absl::StrContains(status.message(), text))                  \
        << "got: " << status;                                               \
  } while (false)

TEST(CsvDatasetTest, FeedsFeaturesAndLabels) {
  const std::string path = FileWith("d.csv", "1,2,0\n3,4,1\n");
  const auto dataset = Load(path, Classifier(2, 2));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->num_rows(), 2);
  EXPECT_EQ(Row<float>(*dataset, 0, 1), (std::vector<float>{3, 4}));
  EXPECT_EQ(Row<int64_t>(*dataset, 1, 1), (std::vector<int64_t>{1}));
}

TEST(CsvDatasetTest, ScalesFeaturesOnly) {
  DataOptions options;
  options.files = FileWith("d.csv", "16,8,1\n");
  options.scale = 0.0625f;  // 1/16
  const auto dataset = Dataset::Load(options, Classifier(2, 2));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(Row<float>(*dataset, 0, 0), (std::vector<float>{1, 0.5f}));
  EXPECT_EQ(Row<int64_t>(*dataset, 1, 0), (std::vector<int64_t>{1}));
}

TEST(CsvDatasetTest, FindsTheTargetOfARegressionByItsSize) {
  const std::string path = FileWith("d.csv", "1,2,0.5\n");
  const auto dataset = Load(
      path, {Input("y", DType::kF32, {4, 1}), Input("x", DType::kF32, {4, 2})});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(Row<float>(*dataset, 0, 0), (std::vector<float>{0.5f}));
  EXPECT_EQ(Row<float>(*dataset, 1, 0), (std::vector<float>{1, 2}));
}

TEST(CsvDatasetTest, RefusalsNameFileInputAndNumbers) {
  const std::string path = FileWith("d.csv", "1,2,0\n3,4,7\n");
  EXPECT_ERROR(Load(path, Classifier(3, 2)),
               "d.csv: features f32[2,2] have 2 elements a row, input 'x' "
               "f32[4,3] takes 3");
  EXPECT_ERROR(Load(path, Classifier(2, 2)),
               "d.csv: row 1 (from 0): input 'label' takes 0 to 1, got 7");
  EXPECT_ERROR(Load(path, {Input("x", DType::kF32, {4, 2})}),
               "gives features and labels, the model has 1 input: 'x' "
               "f32[4,2]");
  EXPECT_ERROR(Load(path, {Input("a", DType::kF32, {4, 2}),
                           Input("b", DType::kF32, {4, 2})}),
               "which input takes the labels is not clear");
  EXPECT_ERROR(Load(path + "," + path, Classifier(2, 2)),
               "two files must be two idx or two .npy files");
}

TEST(CsvDatasetTest, ALabelThatIsNoIntegerIsNamedWithItsLine) {
  const std::string path = FileWith("d.csv", "1,2,0\n3,4,0.5\n");
  EXPECT_ERROR(Load(path, Classifier(2, 2)),
               path +
                   ": line 2: '0.5' is no integer, input 'label' takes "
                   "integers (i64[4])");
}

TEST(CsvDatasetTest, AcceptsTheIgnoredLabel) {
  std::vector<ModelInput> inputs = Classifier(2, 2);
  inputs[1].has_ignored = true;
  inputs[1].ignored = -100;
  EXPECT_TRUE(Load(FileWith("d.csv", "1,2,-100\n"), inputs).ok());
}

// Four images of 2x1 bytes; 255 is 1.
TEST(IdxDatasetTest, BytesBecomeFractions) {
  const std::string images = FileWith(
      "x", std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x01", 16) +
               std::string("\x00\xff\x33\x66", 4));
  const std::string labels =
      FileWith("y", std::string("\0\0\x08\x01\0\0\0\x02\x01\x00", 10));
  std::vector<ModelInput> inputs = Classifier(2, 2);
  inputs[0].type.dims = {4, 1, 2, 1};
  const auto dataset = Load(images + "," + labels, inputs);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(Row<float>(*dataset, 0, 0), (std::vector<float>{0, 1}));
  // 0x33 / 255 = 0.2, 0x66 / 255 = 0.4
  EXPECT_FLOAT_EQ(Row<float>(*dataset, 0, 1)[0], 0.2f);
  EXPECT_FLOAT_EQ(Row<float>(*dataset, 0, 1)[1], 0.4f);
  EXPECT_EQ(Row<int64_t>(*dataset, 1, 0), (std::vector<int64_t>{1}));

  EXPECT_ERROR(Load(images + "," + images, inputs),
               "labels u8[2,2,1] have 2 elements a row");
  EXPECT_ERROR(Load(images, inputs), "gives features, the model has 2 inputs");
}

TEST(NpyDatasetTest, OneFileFeedsAModelWithOneInput) {
  const Array array = {{DType::kU8, {2, 3}}, "abcdef"};
  const auto dataset =
      Load(FileWith("x.npy", ToNpy(array)), {Input("x", DType::kF32, {4, 3})});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(Row<float>(*dataset, 0, 1), (std::vector<float>{100, 101, 102}));
}

TEST(NpyDatasetTest, IntegersMustFitTheInput) {
  const int64_t large = int64_t{1} << 31;
  Array array = {{DType::kI64, {1}}, std::string(8, '\0')};
  std::memcpy(&array.data[0], &large, 8);
  EXPECT_ERROR(
      Load(FileWith("x.npy", ToNpy(array)), {Input("x", DType::kI32, {4})}),
      "takes -2147483648 to 2147483647, got 2147483648");
}

TEST(NpyDatasetTest, AFileWithoutRowsIsRefused) {
  const Array array = {{DType::kU8, {0, 3}}, ""};
  EXPECT_ERROR(
      Load(FileWith("x.npy", ToNpy(array)), {Input("x", DType::kF32, {4, 3})}),
      "has no rows");
}

// A zip archive with one stored member.
std::string ZipWith(const std::string& name, const std::string& content) {
  std::string zip(1 << 12, '\0');
  size_t used = 0;
  archive* const a = archive_write_new();
  archive_write_set_format_zip(a);
  archive_write_zip_set_compression_store(a);
  archive_write_set_bytes_in_last_block(a, 1);
  archive_write_open_memory(a, &zip[0], zip.size(), &used);
  archive_entry* const entry = archive_entry_new();
  archive_entry_set_pathname(entry, name.c_str());
  archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_header(a, entry);
  archive_write_data(a, content.data(), content.size());
  archive_entry_free(entry);
  archive_write_close(a);
  archive_write_free(a);
  zip.resize(used);
  return zip;
}

TEST(NpzDatasetTest, FeedsInputsByNameUpToDimsOfOne) {
  const Array array = {{DType::kU8, {2, 1, 3}}, "abcdef"};
  const std::string path = FileWith("d.npz", ZipWith("x.npy", ToNpy(array)));
  const auto dataset = Load(path, {Input("x", DType::kF32, {4, 3})});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->num_rows(), 2);
  EXPECT_EQ(Row<float>(*dataset, 0, 1), (std::vector<float>{100, 101, 102}));

  EXPECT_ERROR(Load(path, {Input("y", DType::kF32, {4, 3})}),
               "has no array 'y' for the input of that name; it has 'x'");
  EXPECT_ERROR(Load(path, {Input("x", DType::kF32, {4, 4})}),
               "array 'x' is u8[2,1,3], the input takes rows of f32[4,4]");
  DataOptions options;
  options.files = path;
  options.scale = 2.0f;
  EXPECT_ERROR(Dataset::Load(options, {Input("x", DType::kF32, {4, 3})}),
               "a scale is for .csv, idx and .npy features");
}

// "abcdefgh": windows abc, def; with their targets bcd, efg.
TEST(TextDatasetTest, TargetsAreShiftedByOne) {
  const auto dataset = Load(FileWith("t.txt", "abcdefgh"), TextModel());
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->num_rows(), 2);
  EXPECT_EQ(dataset->All().InOrder(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(Row<int64_t>(*dataset, 0, 3),
            (std::vector<int64_t>{100, 101, 102}));
  EXPECT_EQ(Row<int32_t>(*dataset, 1, 3),
            (std::vector<int32_t>{101, 102, 103}));
}

TEST(TextDatasetTest, AWindowNeedsOneByteMore) {
  EXPECT_ERROR(Load(FileWith("t.txt", "abc"), TextModel()),
               "has 3 bytes, a window of input 'tokens' and its target take 4");
  EXPECT_TRUE(Load(FileWith("t.txt", "abcd"), TextModel()).ok());
}

TEST(TextDatasetTest, BytesMustBeInTheModelsAlphabet) {
  std::vector<ModelInput> inputs = TextModel();
  inputs[0].high = 'd';
  EXPECT_ERROR(Load(FileWith("t.txt", "abcd"), inputs),
               "t.txt: byte 3 (from 0): input 'tokens' takes ");
}

// 20 bytes, a fifth held out: bytes 16 to 19 are targets of the held-out
// windows and of no window of training.
TEST(TextDatasetTest, TheLastBytesAreHeldOut) {
  const auto dataset =
      Load(FileWith("t.txt", std::string(20, 'a')), TextModel());
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto split = dataset->SplitRows(0.2, /*seed=*/1);
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(split->held_out.InOrder(), (std::vector<int64_t>{15}));
  for (int64_t epoch = 0; epoch < 50; ++epoch) {
    for (const int64_t row : split->train.Shuffled(/*seed=*/1, epoch)) {
      EXPECT_LE(row + 3, 15) << "epoch " << epoch;
    }
  }
}

TEST(TextDatasetTest, EpochsCutAtDifferentPlaces) {
  const RowSet rows(0, 100, 10);
  std::vector<bool> seen(10, false);
  for (int64_t epoch = 0; epoch < 200; ++epoch) {
    const std::vector<int64_t> starts = rows.Shuffled(/*seed=*/1, epoch);
    EXPECT_GE(starts.size(), 8u);
    for (const int64_t start : starts) {
      EXPECT_EQ(start % 10, starts[0] % 10);
    }
    seen[starts[0] % 10] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 10);
}

// Windows of 10 in 100 bytes: a first window at byte 0 leaves room for 9 (the
// last byte is only a target), one at byte 9 for 9 too; in 95 bytes 9 and 8.
TEST(TextDatasetTest, EpochsAreEquallyLong) {
  for (const int64_t bytes : {11, 15, 20, 21, 95, 100}) {
    const RowSet rows(0, bytes, 10);
    for (int64_t epoch = 0; epoch < 100; ++epoch) {
      ASSERT_EQ(static_cast<int64_t>(rows.Shuffled(/*seed=*/1, epoch).size()),
                rows.epoch_size())
          << bytes << " bytes, epoch " << epoch;
    }
  }
  EXPECT_EQ(RowSet(0, 95, 10).epoch_size(), 8);
}

TEST(SplitTest, EveryRowIsOnOneSide) {
  std::string csv;
  for (int row = 0; row < 10; ++row) absl::StrAppend(&csv, row, ",1,0\n");
  const auto dataset = Load(FileWith("d.csv", csv), Classifier(2, 2));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto split = dataset->SplitRows(0.2, /*seed=*/7);
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(split->train.size(), 8);
  EXPECT_EQ(split->held_out.size(), 2);
  std::vector<int64_t> rows = split->train.InOrder();
  for (const int64_t row : split->held_out.InOrder()) rows.push_back(row);
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, dataset->All().InOrder());
}

TEST(SplitTest, TheSeedDecides) {
  std::string csv;
  for (int row = 0; row < 100; ++row) absl::StrAppend(&csv, row, ",1,0\n");
  const auto dataset = Load(FileWith("d.csv", csv), Classifier(2, 2));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto held_out = [&dataset](uint64_t seed) {
    return dataset->SplitRows(0.2, seed)->held_out.InOrder();
  };
  EXPECT_EQ(held_out(1), held_out(1));
  EXPECT_NE(held_out(1), held_out(2));
}

TEST(SplitTest, NeitherSideIsEmpty) {
  const auto dataset =
      Load(FileWith("d.csv", "1,2,0\n3,4,1\n"), Classifier(2, 2));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  // round(0.1 * 2) = 0
  EXPECT_ERROR(dataset->SplitRows(0.1, 1),
               "holding out 0.1 of 2 rows leaves 2 and 0; either side needs "
               "1");
}

TEST(ShuffleTest, EachEpochHasItsOwnOrderOfAllRows) {
  std::vector<int64_t> all(50);
  for (int64_t i = 0; i < 50; ++i) all[i] = i;
  const RowSet rows(all);
  const std::vector<int64_t> first = rows.Shuffled(/*seed=*/1, /*epoch=*/0);
  EXPECT_EQ(first, rows.Shuffled(1, 0));
  EXPECT_NE(first, rows.Shuffled(1, 1));
  EXPECT_NE(first, rows.Shuffled(2, 0));
  std::vector<int64_t> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, all);
}

}  // namespace
}  // namespace reprise
