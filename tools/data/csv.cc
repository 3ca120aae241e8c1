#include "tools/data/csv.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

// Beyond these, float64 does not hold every integer.
constexpr double kMaxExactInteger = 9007199254740992.0;  // 2^53

constexpr size_t kMaxShownBytes = 40;

// Reads a whole field as a finite number.
bool ParseNumber(absl::string_view field, double& number) {
  // from_chars knows no plus sign.
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') {
    field.remove_prefix(1);
  }
  const absl::from_chars_result result =
      absl::from_chars(field.data(), field.data() + field.size(), number);
  return result.ec == std::errc() &&
         result.ptr == field.data() + field.size() && std::isfinite(number);
}

// Returns whether a field, which ParseNumber accepts, is not decimal:
// from_chars reads 0x, too.
bool IsHexadecimal(absl::string_view field) {
  return field.find_first_of("xX") != absl::string_view::npos;
}

// Returns a field as an error message can show it.
std::string Shown(absl::string_view field) {
  const bool cut = field.size() > kMaxShownBytes;
  return absl::StrCat("'", absl::CHexEscape(field.substr(0, kMaxShownBytes)),
                      cut ? "...'" : "'");
}

template <typename T>
void Append(T element, std::string& data) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &element, sizeof(T));
  data.append(bytes, sizeof(T));
}

// Collects rows and judges them.
class TableReader {
 public:
  explicit TableReader(absl::string_view source) : source_(source) {}

  absl::Status AddLine(int64_t line, absl::string_view text) {
    fields_ = absl::StrSplit(text, ',');
    if (num_columns_ == 0) {
      num_columns_ = static_cast<int64_t>(fields_.size());
      if (num_columns_ < 2) {
        return Error(line, absl::StrCat("needs a label and at least one "
                                        "feature, got 1 column"));
      }
      if (IsHeader()) return absl::OkStatus();
    }
    if (static_cast<int64_t>(fields_.size()) != num_columns_) {
      return Error(
          line, absl::StrCat("has ", fields_.size(), " fields, the first line ",
                             num_columns_));
    }
    for (int64_t column = 0; column < num_columns_; ++column) {
      const absl::string_view field =
          absl::StripAsciiWhitespace(fields_[column]);
      double number = 0;
      if (!ParseNumber(field, number)) {
        return Error(line,
                     absl::StrCat("column ", column + 1, ": ", Shown(field),
                                  " is not a finite number"));
      }
      if (IsHexadecimal(field)) {
        return Error(line,
                     absl::StrCat("column ", column + 1, ": ", Shown(field),
                                  " is not a decimal number"));
      }
      const bool label = column + 1 == num_columns_;
      const bool integer =
          std::trunc(number) == number && std::fabs(number) <= kMaxExactInteger;
      if (!(label && integer) && !(std::fabs(number) <= FLT_MAX)) {
        return Error(line,
                     absl::StrCat("column ", column + 1, ": ", Shown(field),
                                  " is too large for float32"));
      }
      if (!label) {
        Append(static_cast<float>(number), features_);
        continue;
      }
      labels_.push_back(number);
      if (!integer && fraction_.empty()) {
        fraction_ = absl::StrCat("line ", line, ": ", Shown(field));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<LabelledTable> Finish() && {
    const int64_t rows = static_cast<int64_t>(labels_.size());
    if (rows == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(source_, ": has no row of numbers"));
    }
    LabelledTable table;
    table.features.type = {DType::kF32, {rows, num_columns_ - 1}};
    table.features.data = std::move(features_);
    const bool integers = fraction_.empty();
    table.fraction = std::move(fraction_);
    table.labels.type = {integers ? DType::kI64 : DType::kF32, {rows}};
    for (const double label : labels_) {
      if (integers) {
        Append(static_cast<int64_t>(label), table.labels.data);
      } else {
        Append(static_cast<float>(label), table.labels.data);
      }
    }
    return table;
  }

 private:
  bool IsHeader() const {
    for (const absl::string_view field : fields_) {
      double number = 0;
      if (ParseNumber(absl::StripAsciiWhitespace(field), number)) return false;
    }
    return true;
  }

  absl::Status Error(int64_t line, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(source_, ": line ", line, ": ", what));
  }

  absl::string_view source_;
  int64_t num_columns_ = 0;  // 0: no line yet
  std::vector<absl::string_view> fields_;
  std::string features_;
  std::vector<double> labels_;
  std::string fraction_;  // the first label that is no integer, and its line
};

}  // namespace

absl::StatusOr<LabelledTable> ParseCsv(absl::string_view content,
                                       absl::string_view source) {
  // A byte order mark, which some programs put before UTF-8.
  absl::ConsumePrefix(&content, "\xEF\xBB\xBF");
  TableReader reader(source);
  int64_t line = 0;
  while (!content.empty()) {
    ++line;
    const size_t end = content.find('\n');
    const absl::string_view text = content.substr(0, end);
    content.remove_prefix(end == absl::string_view::npos ? content.size()
                                                         : end + 1);
    if (absl::StripAsciiWhitespace(text).empty()) continue;
    RETURN_IF_ERROR(reader.AddLine(line, text));
  }
  return std::move(reader).Finish();
}

}  // namespace reprise
