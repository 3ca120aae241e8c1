// Tested by tests/tools/offsets_bench_test.cc.

#include "tools/bench/offsets_file.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

constexpr int64_t kMaxSum = int64_t{1} << 62;
constexpr absl::string_view kOffset = "offset";

struct Position {
  absl::string_view source;
  size_t line = 0;  // from 1
};

// A field of the file as part of an error: what is too long is cut, and what is
// no printable text is escaped.
std::string Quoted(absl::string_view field) {
  constexpr size_t kLongest = 40;
  const std::string text =
      absl::StrCat("'", absl::CHexEscape(field.substr(0, kLongest)), "'");
  return field.size() > kLongest ? absl::StrCat(text, "...") : text;
}

absl::Status ErrorAt(const Position& position, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(position.source, ":", position.line, ": ", what));
}

std::vector<std::string> Fields(absl::string_view line) {
  std::vector<std::string> fields;
  for (const absl::string_view field : absl::StrSplit(line, ',')) {
    fields.emplace_back(absl::StripAsciiWhitespace(field));
  }
  return fields;
}

absl::StatusOr<size_t> ColumnOf(const std::vector<std::string>& columns,
                                absl::string_view name,
                                const Position& position) {
  const auto it = std::find(columns.begin(), columns.end(), name);
  if (it != columns.end()) return static_cast<size_t>(it - columns.begin());
  return ErrorAt(position,
                 absl::StrCat("the header has no column '", name, "', got ",
                              Quoted(absl::StrJoin(columns, ","))));
}

absl::Status CheckColumns(const std::vector<std::string>& columns,
                          const Position& position) {
  absl::flat_hash_set<absl::string_view> seen;
  for (const std::string& column : columns) {
    if (!seen.insert(column).second) {
      return ErrorAt(position, absl::StrCat("the header has column ",
                                            Quoted(column), " twice"));
    }
    if (column == "alignment" || column == "gaps") {
      return ErrorAt(position,
                     absl::StrCat("column '", column, "' is not supported"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Number(const std::string& field,
                               absl::string_view column,
                               const Position& position) {
  int64_t number = 0;
  const bool digits = !field.empty() && std::all_of(field.begin(), field.end(),
                                                    absl::ascii_isdigit);
  if (digits && absl::SimpleAtoi(field, &number)) return number;
  return ErrorAt(position,
                 absl::StrCat(column, " must be an integer from 0 to ",
                              INT64_MAX, ", got ", Quoted(field)));
}

// Replaces times by their ranks.
std::vector<Lifetime> Lifetimes(
    const std::vector<std::pair<int64_t, int64_t>>& times) {
  std::vector<int64_t> all;
  for (const auto& [lower, upper] : times) {
    all.push_back(lower);
    all.push_back(upper);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto rank = [&all](int64_t time) {
    return static_cast<int32_t>(std::lower_bound(all.begin(), all.end(), time) -
                                all.begin());
  };
  std::vector<Lifetime> lifetimes;
  lifetimes.reserve(times.size());
  for (const auto& [lower, upper] : times) {
    lifetimes.push_back({rank(lower), rank(upper)});
  }
  return lifetimes;
}

}  // namespace

absl::StatusOr<OffsetsFile> ParseOffsets(absl::string_view content,
                                         absl::string_view source) {
  OffsetsFile file;
  Position position{source};
  size_t id_column = 0;
  size_t lower_column = 0;
  size_t upper_column = 0;
  size_t size_column = 0;
  absl::flat_hash_set<std::string> ids;
  std::vector<int64_t> sizes;
  std::vector<std::pair<int64_t, int64_t>> times;
  int64_t sum = 0;
  absl::ConsumePrefix(&content, "\xef\xbb\xbf");  // byte order mark
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    ++position.line;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    std::vector<std::string> fields = Fields(line);
    if (file.columns.empty()) {
      RETURN_IF_ERROR(CheckColumns(fields, position));
      ASSIGN_OR_RETURN(id_column, ColumnOf(fields, "id", position));
      ASSIGN_OR_RETURN(lower_column, ColumnOf(fields, "lower", position));
      ASSIGN_OR_RETURN(upper_column, ColumnOf(fields, "upper", position));
      ASSIGN_OR_RETURN(size_column, ColumnOf(fields, "size", position));
      file.columns = std::move(fields);
      continue;
    }
    if (fields.size() != file.columns.size()) {
      return ErrorAt(
          position,
          absl::StrCat("a line must have ", file.columns.size(),
                       " fields, as the header has, got ", fields.size()));
    }
    if (!ids.insert(fields[id_column]).second) {
      return ErrorAt(position, absl::StrCat("id ", Quoted(fields[id_column]),
                                            " is there twice"));
    }
    ASSIGN_OR_RETURN(const int64_t lower,
                     Number(fields[lower_column], "lower", position));
    ASSIGN_OR_RETURN(const int64_t upper,
                     Number(fields[upper_column], "upper", position));
    ASSIGN_OR_RETURN(const int64_t size,
                     Number(fields[size_column], "size", position));
    if (lower >= upper) {
      return ErrorAt(position, absl::StrCat("lower must be below upper, got ",
                                            lower, " and ", upper));
    }
    if (size > kMaxSum - sum) {
      return ErrorAt(position,
                     absl::StrCat("the sum of sizes must not exceed ", kMaxSum,
                                  ", got ", sum, " + ", size));
    }
    sum += size;
    file.rows.push_back(std::move(fields));
    sizes.push_back(size);
    times.emplace_back(lower, upper);
  }
  if (file.columns.empty()) {
    return ErrorAt({source, 1},
                   "the file is empty, a header 'id,lower,upper,size' must "
                   "come first");
  }
  const std::vector<Lifetime> lifetimes = Lifetimes(times);
  for (size_t r = 0; r < sizes.size(); ++r) {
    if (sizes[r] == 0) {
      file.buffer_of.push_back(-1);
      continue;
    }
    file.buffer_of.push_back(static_cast<int32_t>(file.buffers.size()));
    file.buffers.push_back({sizes[r], lifetimes[r]});
  }
  return file;
}

std::string WithOffsets(const OffsetsFile& file,
                        absl::Span<const int64_t> offsets) {
  std::vector<std::string> fields = file.columns;
  size_t column = static_cast<size_t>(
      std::find(fields.begin(), fields.end(), kOffset) - fields.begin());
  if (column == fields.size()) fields.emplace_back(kOffset);
  std::string text = absl::StrCat(absl::StrJoin(fields, ","), "\n");
  for (size_t r = 0; r < file.rows.size(); ++r) {
    fields = file.rows[r];
    fields.resize(std::max(fields.size(), column + 1));
    const int32_t b = file.buffer_of[r];
    fields[column] = absl::StrCat(b < 0 ? 0 : offsets[b]);
    absl::StrAppend(&text, absl::StrJoin(fields, ","), "\n");
  }
  return text;
}

}  // namespace reprise
