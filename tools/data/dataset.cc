#include "tools/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/random.h"
#include "core/status_macros.h"
#include "tools/data/csv.h"
#include "tools/data/gzip.h"
#include "tools/data/idx.h"
#include "tools/data/npy.h"

namespace reprise {
namespace {

// The draws of a split; those of epoch e are stream kFirstEpoch + e.
constexpr uint64_t kSplitStream = 0;
constexpr uint64_t kFirstEpoch = 1;

// Numbers drawn one after the other.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t stream) : key_(RandomKey(seed, stream)) {}

  // Returns a number in [0, bound).
  int64_t Below(int64_t bound) {
    const absl::uint128 bits = RandomBits(key_, index_++);
    return static_cast<int64_t>(
        absl::Uint128High64(bits * static_cast<uint64_t>(bound)));
  }

  void Shuffle(std::vector<int64_t>& rows) {
    for (int64_t i = static_cast<int64_t>(rows.size()) - 1; i > 0; --i) {
      std::swap(rows[i], rows[Below(i + 1)]);
    }
  }

 private:
  uint64_t key_;
  uint64_t index_ = 0;
};

constexpr float kByteScale = 1.0f / 255;

// Returns dims [begin, rank) without those of 1.
Dims Squeezed(const Dims& dims, int begin) {
  Dims squeezed;
  for (size_t i = begin; i < dims.size(); ++i) {
    if (dims[i] != 1) squeezed.push_back(dims[i]);
  }
  return squeezed;
}

std::string Describe(absl::Span<const ModelInput> inputs) {
  return absl::StrJoin(
      inputs, ", ", [](std::string* out, const ModelInput& input) {
        absl::StrAppend(out, "'", input.name, "' ", ToString(input.type));
      });
}

bool IsInteger(const ModelInput& input) {
  return input.type.dtype == DType::kI32 || input.type.dtype == DType::kI64;
}

// Returns which of two inputs takes the labels of a table: the one that a loss
// reads as classes, else the only integer one, else the only one with a single
// element a row. -1: none or not clear.
int LabelIndex(absl::Span<const ModelInput> inputs) {
  if (inputs.size() != 2) return -1;
  const auto only = [&inputs](auto predicate) {
    const bool first = predicate(inputs[0]);
    if (first == predicate(inputs[1])) return -1;
    return first ? 0 : 1;
  };
  int index = only([](const ModelInput& input) { return input.is_label; });
  if (index < 0) index = only(IsInteger);
  if (index < 0) {
    index = only([](const ModelInput& in) { return in.row_elements() == 1; });
  }
  return index;
}

template <typename From, typename To>
void Convert(const char* from, int64_t count, float scale, char* to) {
  for (int64_t i = 0; i < count; ++i) {
    From wide;
    std::memcpy(&wide, from + i * sizeof(From), sizeof(From));
    To narrow = static_cast<To>(wide);
    if constexpr (std::is_same_v<To, float>) narrow *= scale;
    std::memcpy(to + i * sizeof(To), &narrow, sizeof(To));
  }
}

template <typename From>
void ConvertTo(DType dtype, const char* from, int64_t count, float scale,
               char* to) {
  switch (dtype) {
    case DType::kF32:
      return Convert<From, float>(from, count, scale, to);
    case DType::kI32:
      return Convert<From, int32_t>(from, count, scale, to);
    case DType::kI64:
      return Convert<From, int64_t>(from, count, scale, to);
    case DType::kBool:
    case DType::kU8:
      return Convert<From, uint8_t>(from, count, scale, to);
    default:
      REPRISE_CHECK(false);
  }
}

// Returns the integers that a dtype holds, as [first, last].
std::pair<int64_t, int64_t> Range(DType dtype) {
  switch (dtype) {
    case DType::kI32:
      return {std::numeric_limits<int32_t>::min(),
              std::numeric_limits<int32_t>::max()};
    case DType::kBool:
      return {0, 1};
    case DType::kU8:
      return {0, 255};
    default:
      return {std::numeric_limits<int64_t>::min(),
              std::numeric_limits<int64_t>::max()};
  }
}

enum class Format { kNpz, kNpy, kIdx, kCsv, kText };

Format FormatOf(absl::string_view path, absl::string_view content) {
  if (absl::EndsWith(path, ".npz")) return Format::kNpz;
  if (absl::EndsWith(path, ".npy")) return Format::kNpy;
  if (absl::EndsWith(path, ".csv") || absl::EndsWith(path, ".csv.gz")) {
    return Format::kCsv;
  }
  if (absl::EndsWith(path, ".txt")) return Format::kText;
  return LooksLikeIdx(content) ? Format::kIdx : Format::kText;
}

struct DataFile {
  std::string path;
  std::string content;
  Format format;
};

// Reads the one or two files of a dataset.
absl::StatusOr<std::vector<DataFile>> ReadFiles(const DataOptions& options) {
  const std::vector<std::string> paths =
      absl::StrSplit(options.files, ',', absl::SkipEmpty());
  if (paths.empty() || paths.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("data: takes one file, or two with a comma between, got '",
                     options.files, "'"));
  }
  std::vector<DataFile> files;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(std::string content, ReadFileOrGzip(path));
    const Format format = FormatOf(path, content);
    files.push_back({path, std::move(content), format});
  }
  const Format format = files[0].format;
  const bool pairs = format == Format::kIdx || format == Format::kNpy;
  if (files.size() == 2 && (!pairs || files[1].format != format)) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.files,
                     ": two files must be two idx or two .npy files, features "
                     "and labels"));
  }
  if (options.scale.has_value() &&
      (format == Format::kNpz || format == Format::kText)) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.files, ": a scale is for .csv, idx and .npy features"));
  }
  return files;
}

}  // namespace

std::vector<int64_t> RowSet::Windows(int64_t phase) const {
  std::vector<int64_t> starts;
  for (int64_t at = begin_ + phase; at + window_ < end_; at += window_) {
    starts.push_back(at);
  }
  return starts;
}

std::vector<int64_t> RowSet::InOrder() const {
  return window_ > 0 ? Windows(/*phase=*/0) : rows_;
}

std::vector<int64_t> RowSet::Shuffled(uint64_t seed, int64_t epoch) const {
  Draws draws(seed, kFirstEpoch + static_cast<uint64_t>(epoch));
  std::vector<int64_t> rows;
  if (window_ > 0) {
    // The last start at which a window and its successor still fit.
    const int64_t last = end_ - begin_ - window_ - 1;
    rows = Windows(draws.Below(std::min(window_, last + 1)));
  } else {
    rows = rows_;
  }
  draws.Shuffle(rows);
  rows.resize(epoch_size());
  return rows;
}

int64_t RowSet::size() const {
  if (window_ == 0) return static_cast<int64_t>(rows_.size());
  return std::max<int64_t>(0, (end_ - begin_ - 1) / window_);
}

int64_t RowSet::epoch_size() const {
  if (window_ == 0) return size();
  // The latest first window starts at byte window - 1.
  return std::max<int64_t>(1, (end_ - begin_ - window_) / window_);
}

absl::StatusOr<Dataset> Dataset::Load(const DataOptions& options,
                                      absl::Span<const ModelInput> inputs) {
  if (inputs.empty()) {
    return absl::InvalidArgumentError("the model has no input to feed");
  }
  ASSIGN_OR_RETURN(const std::vector<DataFile> files, ReadFiles(options));
  const std::string& source = options.files;
  const Format format = files[0].format;
  float scale = options.scale.value_or(1);
  Dataset dataset;
  if (format == Format::kNpz) {
    ASSIGN_OR_RETURN(auto arrays, ParseNpz(files[0].content, source));
    std::vector<std::string> names;
    for (auto& [name, array] : arrays) {
      names.push_back(name);
      dataset.arrays_.push_back(std::move(array));
    }
    RETURN_IF_ERROR(dataset.BindNamed(source, names, inputs));
  } else if (format == Format::kText) {
    const int64_t bytes = static_cast<int64_t>(files[0].content.size());
    dataset.arrays_.push_back({{DType::kU8, {bytes}}, files[0].content});
    RETURN_IF_ERROR(dataset.BindText(source, inputs));
  } else {
    if (format == Format::kCsv) {
      ASSIGN_OR_RETURN(LabelledTable table, ParseCsv(files[0].content, source));
      dataset.arrays_.push_back(std::move(table.features));
      dataset.arrays_.push_back(std::move(table.labels));
      dataset.fraction_ = std::move(table.fraction);
    } else {
      for (const DataFile& file : files) {
        ASSIGN_OR_RETURN(Array array, format == Format::kIdx
                                          ? ParseIdx(file.content, file.path)
                                          : ParseNpy(file.content, file.path));
        dataset.arrays_.push_back(std::move(array));
      }
      const bool bytes = dataset.arrays_[0].type.dtype == DType::kU8;
      if (format == Format::kIdx && bytes && !options.scale.has_value()) {
        scale = kByteScale;
      }
    }
    RETURN_IF_ERROR(dataset.BindFeaturesAndLabels(source, inputs, scale));
  }
  if (dataset.num_rows() < 1) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": has no rows"));
  }
  return dataset;
}

absl::Status Dataset::BindNamed(absl::string_view source,
                                absl::Span<const std::string> names,
                                absl::Span<const ModelInput> inputs) {
  for (const ModelInput& input : inputs) {
    const auto found = std::find(names.begin(), names.end(), input.name);
    if (found == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": has no array '", input.name,
                       "' for the input of that name; it has '",
                       absl::StrJoin(names, "', '"), "'"));
    }
    const int array = static_cast<int>(found - names.begin());
    const TensorType& type = arrays_[array].type;
    if (type.rank() == 0 ||
        Squeezed(type.dims, 1) != Squeezed(input.type.dims, 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": array '", input.name, "' is ", ToString(type),
                       ", the input takes rows of ", ToString(input.type)));
    }
    if (&input == &inputs[0]) num_table_rows_ = type.dims[0];
    if (type.dims[0] != num_table_rows_) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": arrays must have equally many rows, got ",
                       num_table_rows_, " of '", inputs[0].name, "' and ",
                       type.dims[0], " of '", input.name, "'"));
    }
    Column column;
    column.array = array;
    column.dtype = input.type.dtype;
    column.elements = input.row_elements();
    column.stride = column.elements;
    RETURN_IF_ERROR(CheckContent(source, input, column));
    columns_.push_back(column);
  }
  return absl::OkStatus();
}

absl::Status Dataset::BindFeaturesAndLabels(absl::string_view source,
                                            absl::Span<const ModelInput> inputs,
                                            float scale) {
  if (inputs.size() != arrays_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": gives ",
        arrays_.size() == 1 ? "features" : "features and labels",
        ", the model has ", inputs.size(),
        inputs.size() == 1 ? " input: " : " inputs: ", Describe(inputs)));
  }
  const int label = LabelIndex(inputs);
  if (inputs.size() == 2 && label < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": which input takes the labels is not clear from ",
        Describe(inputs), "; an .npz file names them"));
  }
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    const ModelInput& input = inputs[i];
    Column column;
    column.array = i == label ? 1 : 0;
    column.dtype = input.type.dtype;
    column.scale = i == label ? 1 : scale;
    column.elements = input.row_elements();
    column.stride = column.elements;
    const TensorType& type = arrays_[column.array].type;
    const absl::string_view what = i == label ? "labels" : "features";
    const int64_t elements =
        type.rank() == 0 ? 0
                         : Product(absl::MakeConstSpan(type.dims).subspan(1));
    if (elements != column.elements) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": ", what, " ", ToString(type), " have ",
                       elements, " elements a row, input '", input.name, "' ",
                       ToString(input.type), " takes ", column.elements));
    }
    if (i == 0) num_table_rows_ = type.dims[0];
    if (type.dims[0] != num_table_rows_) {
      return absl::InvalidArgumentError(absl::StrCat(
          source, ": ", arrays_[0].type.dims[0], " rows of features and ",
          arrays_[1].type.dims[0], " of labels"));
    }
    RETURN_IF_ERROR(CheckContent(source, input, column));
    columns_.push_back(column);
  }
  return absl::OkStatus();
}

absl::Status Dataset::BindText(absl::string_view source,
                               absl::Span<const ModelInput> inputs) {
  if (inputs.size() != 2 || !IsInteger(inputs[0]) || !IsInteger(inputs[1]) ||
      inputs[0].row_elements() != inputs[1].row_elements()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source,
        ": text needs two integer inputs of one length, tokens and targets; "
        "the model has ",
        Describe(inputs)));
  }
  window_ = inputs[0].row_elements();
  if (window_ < 1 || num_rows() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": has ", arrays_[0].type.dims[0],
                     " bytes, a window of input '", inputs[0].name,
                     "' and its target take ", window_ + 1));
  }
  const int target = inputs[0].is_label && !inputs[1].is_label ? 0 : 1;
  for (int i = 0; i < 2; ++i) {
    Column column;
    column.array = 0;
    column.dtype = inputs[i].type.dtype;
    column.elements = window_;
    column.stride = 1;
    column.first = i == target ? 1 : 0;
    RETURN_IF_ERROR(CheckContent(source, inputs[i], column));
    columns_.push_back(column);
  }
  return absl::OkStatus();
}

absl::Status Dataset::CheckContent(absl::string_view source,
                                   const ModelInput& input,
                                   const Column& column) const {
  const Array& array = arrays_[column.array];
  if (column.dtype == DType::kF32) return absl::OkStatus();
  if (array.type.dtype == DType::kF32) {
    if (column.array == 1 && !fraction_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          source, ": ", fraction_, " is no integer, input '", input.name,
          "' takes integers (", ToString(input.type), ")"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": input '", input.name, "' takes integers (",
        ToString(input.type), "), the file has ", ToString(array.type)));
  }
  const auto [first, last] = Range(column.dtype);
  const int64_t elements = array.type.num_elements();
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t element = ElementAsInt(array, i);
    if (input.has_ignored && element == input.ignored) continue;
    const bool fits = element >= first && element <= last;
    if (fits && element >= input.low && element < input.high) continue;
    const std::string where =
        is_text()
            ? absl::StrCat("byte ", i)
            : absl::StrCat("row ", i / std::max<int64_t>(1, column.elements));
    const int64_t low = std::max(first, input.low);
    const int64_t high = std::min(last, input.high - 1);
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": ", where, " (from 0): input '", input.name,
                     "' takes ", low, " to ", high, ", got ", element));
  }
  return absl::OkStatus();
}

RowSet Dataset::All() const {
  if (is_text()) return RowSet(0, arrays_[0].type.dims[0], window_);
  std::vector<int64_t> rows(num_table_rows_);
  std::iota(rows.begin(), rows.end(), 0);
  return RowSet(std::move(rows));
}

absl::StatusOr<Split> Dataset::SplitRows(double holdout, uint64_t seed) const {
  const int64_t rows = is_text() ? arrays_[0].type.dims[0] : num_table_rows_;
  const int64_t held = std::llround(holdout * static_cast<double>(rows));
  const int64_t least = is_text() ? window_ + 1 : 1;
  if (held < least || rows - held < least) {
    return absl::InvalidArgumentError(absl::StrCat(
        "holding out ", holdout, " of ", rows, is_text() ? " bytes" : " rows",
        " leaves ", rows - held, " and ", held, "; either side needs ", least));
  }
  if (is_text()) {
    const int64_t cut = rows - held;
    // The first target that is held out follows the last byte of training.
    return Split{RowSet(0, cut, window_), RowSet(cut - 1, rows, window_)};
  }
  std::vector<int64_t> order = All().InOrder();
  Draws(seed, kSplitStream).Shuffle(order);
  std::vector<int64_t> held_out(order.begin(), order.begin() + held);
  std::vector<int64_t> train(order.begin() + held, order.end());
  std::sort(held_out.begin(), held_out.end());
  std::sort(train.begin(), train.end());
  return Split{RowSet(std::move(train)), RowSet(std::move(held_out))};
}

void Dataset::CopyRow(int input, int64_t row, void* to) const {
  const Column& column = columns_[input];
  const Array& array = arrays_[column.array];
  const char* from = array.data.data() + (column.first + row * column.stride) *
                                             SizeOf(array.type.dtype);
  char* bytes = static_cast<char*>(to);
  switch (array.type.dtype) {
    case DType::kF32:
      return ConvertTo<float>(column.dtype, from, column.elements, column.scale,
                              bytes);
    case DType::kI32:
      return ConvertTo<int32_t>(column.dtype, from, column.elements,
                                column.scale, bytes);
    case DType::kI64:
      return ConvertTo<int64_t>(column.dtype, from, column.elements,
                                column.scale, bytes);
    case DType::kBool:
    case DType::kU8:
      return ConvertTo<uint8_t>(column.dtype, from, column.elements,
                                column.scale, bytes);
    default:
      REPRISE_CHECK(false);
  }
}

}  // namespace reprise
