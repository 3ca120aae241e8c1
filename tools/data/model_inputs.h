// What a model wants to be fed.

#ifndef TOOLS_DATA_MODEL_INPUTS_H_
#define TOOLS_DATA_MODEL_INPUTS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/graph.h"

namespace reprise {

struct ModelInput {
  std::string name;
  TensorType type;  // dim 0 counts the rows of a batch

  // Read, maybe through views, as class indices by a loss.
  bool is_label = false;

  // Integer content c must obey low <= c < high, or be `ignored`: what the
  // readers (losses and lookups) allow.
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  bool has_ignored = false;
  int64_t ignored = 0;

  // Elements in one row.
  int64_t row_elements() const {
    return Product(absl::MakeConstSpan(type.dims).subspan(1));
  }
};

// Returns the inputs of a model, in its order.
//
//   errors: InvalidArgument if an input is a scalar, or two inputs differ in
//           dim 0, which then does not count rows.
absl::StatusOr<std::vector<ModelInput>> ModelInputs(const Graph& graph);

// Returns the output of `graph` that its only SoftmaxCrossEntropyLoss reads as
// scores [rows, classes] and the input that it reads as labels, by their
// indices among outputs and inputs; {-1, -1} if there is no such pair.
struct ScoresAndLabels {
  int output = -1;
  int input = -1;
  bool has_ignored = false;
  int64_t ignored = 0;
};
ScoresAndLabels FindScoresAndLabels(const Graph& graph);

}  // namespace reprise

#endif  // TOOLS_DATA_MODEL_INPUTS_H_
