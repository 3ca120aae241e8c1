// Tables of numbers in text, the label in the last column.

#ifndef TOOLS_DATA_CSV_H_
#define TOOLS_DATA_CSV_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/data/array.h"

namespace reprise {

struct LabelledTable {
  Array features;  // f32[rows, columns - 1]
  Array labels;    // [rows]: i64 if all of them are integers, otherwise f32

  // The first label that is no integer, e.g. "line 3: '0.5'"; else empty.
  std::string fraction;
};

// Returns the table in a CSV file: fields between commas, spaces around them
// ignored, lines that end in \n or \r\n, empty lines skipped. A first line
// without a single number in it is a header. A UTF-8 byte order mark at the
// begin is ignored.
//
//   source: named at the start of every error.
//   errors: InvalidArgument with line and column, counted from 1, of a field
//           that is not a finite decimal number, or with the line that has
//           another number of fields than the first one; fewer than two columns
//           or no row.
absl::StatusOr<LabelledTable> ParseCsv(absl::string_view content,
                                       absl::string_view source);

}  // namespace reprise

#endif  // TOOLS_DATA_CSV_H_
