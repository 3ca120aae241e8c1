// Data files as rows of a model's inputs: reading, splitting, shuffling.
//
// Which files serve which model (docs/cli.md says it for users):
//   .npz                    arrays named like the inputs
//   .csv[.gz]               features and, last, the label
//   idx[.gz], .npy          two files, features and labels
//   anything else           text: windows of bytes, targets shifted by one

#ifndef TOOLS_DATA_DATASET_H_
#define TOOLS_DATA_DATASET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "tools/data/array.h"
#include "tools/data/model_inputs.h"

namespace reprise {

struct DataOptions {
  // One path, or two with a comma between.
  std::string files;

  // Factor of features that are not in an .npz file. Absent: 1/255 for the
  // unsigned bytes of an idx file, otherwise 1.
  absl::optional<float> scale;
};

// Rows that serve one purpose. A row is named by its number; of a text, by the
// byte at which its window starts.
class RowSet {
 public:
  // Rows of a table.
  explicit RowSet(std::vector<int64_t> rows) : rows_(std::move(rows)) {}

  // Windows of `window` bytes, each with the byte that follows it, in bytes
  // [begin, end) of a text; window >= 1.
  RowSet(int64_t begin, int64_t end, int64_t window)
      : begin_(begin), end_(end), window_(window) {}

  // Returns the rows in the order of the file; windows do not overlap.
  std::vector<int64_t> InOrder() const;

  // Returns the rows of one epoch in an order drawn from seed and epoch. The
  // first window of a text starts at a byte drawn likewise, so that epochs cut
  // the text at different places.
  std::vector<int64_t> Shuffled(uint64_t seed, int64_t epoch) const;

  int64_t size() const;  // of InOrder()

  // Of Shuffled(), in every epoch: of a text, as many windows as fit wherever
  // the first one starts.
  int64_t epoch_size() const;

 private:
  std::vector<int64_t> Windows(int64_t phase) const;

  std::vector<int64_t> rows_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
  int64_t window_ = 0;  // 0: rows of a table
};

struct Split {
  RowSet train;
  RowSet held_out;
};

class Dataset {
 public:
  // Reads files and checks every row of them against the inputs.
  //
  //   inputs: of the model that is fed, see ModelInputs.
  //   errors: InvalidArgument naming file, input and numbers.
  static absl::StatusOr<Dataset> Load(const DataOptions& options,
                                      absl::Span<const ModelInput> inputs);

  bool is_text() const { return window_ > 0; }
  int64_t num_rows() const { return All().size(); }

  // All rows.
  RowSet All() const;

  // Returns a split in which round(holdout * rows) rows, and at least one on
  // either side, are held out: drawn from the seed; of a text, the last ones.
  //
  //   holdout: in (0, 1).
  //   errors:  InvalidArgument if there are too few rows.
  absl::StatusOr<Split> SplitRows(double holdout, uint64_t seed) const;

  // Writes one row of an input, in the input's dtype.
  //
  //   input: index into the `inputs` that the dataset was loaded for.
  //   row:   of a RowSet of this dataset.
  void CopyRow(int input, int64_t row, void* to) const;

  // Returns the bytes that CopyRow writes.
  int64_t row_bytes(int input) const {
    return columns_[input].elements * SizeOf(columns_[input].dtype);
  }

 private:
  // One input's rows: row r is elements [first + r * stride, + elements) of an
  // array.
  struct Column {
    int array = 0;
    DType dtype = DType::kNone;  // of the input
    float scale = 1;             // of f32 content
    int64_t first = 0;
    int64_t stride = 0;
    int64_t elements = 0;
  };

  absl::Status BindNamed(absl::string_view source,
                         absl::Span<const std::string> names,
                         absl::Span<const ModelInput> inputs);
  absl::Status BindFeaturesAndLabels(absl::string_view source,
                                     absl::Span<const ModelInput> inputs,
                                     float scale);
  absl::Status BindText(absl::string_view source,
                        absl::Span<const ModelInput> inputs);
  absl::Status CheckContent(absl::string_view source, const ModelInput& input,
                            const Column& column) const;

  std::vector<Array> arrays_;
  std::vector<Column> columns_;  // one for each input
  int64_t num_table_rows_ = 0;
  int64_t window_ = 0;    // of a text; 0: a table
  std::string fraction_;  // see LabelledTable
};

}  // namespace reprise

#endif  // TOOLS_DATA_DATASET_H_
