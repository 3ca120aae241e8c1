// What losses against class labels share: scores [n, c, d1, ..], labels
// [n, d1, ..], optional class weights [c], an ignored label, and ONNX's three
// reductions.
//
// A label that is neither a class nor the ignored one makes its loss NaN, so
// that a training step stops there; no memory outside the operands is touched.
// The mean over positions without weight is NaN, as in PyTorch.

#ifndef OPS_LIB_LABEL_LOSS_H_
#define OPS_LIB_LABEL_LOSS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/op.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"

namespace reprise {

enum class Reduction : uint8_t { kNone, kSum, kMean };

// Returns the reduction of that name.
//
//   errors: InvalidArgument starting with `op`.
absl::StatusOr<Reduction> ReductionOf(absl::string_view op,
                                      const std::string& name);

// The attributes `reduction` and `ignore_index`.
std::vector<AttrSpec> LabelLossAttrs();

// What a loop needs to know. Positions are the elements of the labels, in
// row-major order; position i has its score of class c at
// scores[(i / d * classes + c) * d + i % d].
struct LabelLoss {
  int64_t positions = 0;
  int64_t classes = 0;
  int64_t d = 1;  // elements between two classes of a position
  Reduction reduction = Reduction::kMean;
  bool labels_are_i64 = true;
  bool ignores = false;
  int64_t ignore_index = 0;

  // Positions summed up before the sums are added: a function of the shape,
  // so that the result does not depend on the number of threads.
  int64_t block() const {
    return std::max<int64_t>(
        1, kElementsPerThread / std::max<int64_t>(1, classes));
  }
  int64_t num_blocks() const { return (positions + block() - 1) / block(); }
};

// Returns the form of a loss.
//
//   channels_last: the scores lie in memory as [n, d1, .., c].
LabelLoss LabelLossOf(const Attrs& attrs, const TensorType& scores,
                      const TensorType& labels, bool channels_last);

// Judges scores, labels and weights, the first three of `in`.
//
//   returns: the type of the loss.
InferredTypes InferLabelLoss(absl::string_view op,
                             absl::Span<const TensorType> in,
                             const Attrs& attrs);

struct LabelOperands {
  const float* scores = nullptr;
  const void* labels = nullptr;
  const float* weights = nullptr;  // nullptr: 1 for each class
};

// The class of a position and the weight of its loss.
struct Target {
  int64_t label = 0;  // always a class
  float weight = 0;   // NaN if the label is invalid
  bool ignored = false;
};

inline Target TargetAt(const LabelLoss& loss, const LabelOperands& operands,
                       int64_t position) {
  const int64_t label =
      loss.labels_are_i64
          ? static_cast<const int64_t*>(operands.labels)[position]
          : static_cast<const int32_t*>(operands.labels)[position];
  if (loss.ignores && label == loss.ignore_index) return {0, 0, true};
  if (label < 0 || label >= loss.classes) {
    return {0, std::numeric_limits<float>::quiet_NaN(), false};
  }
  return {label, operands.weights == nullptr ? 1.0f : operands.weights[label],
          false};
}

// Returns the factor of each position's weight in the gradient.
//
//   dy: gradient of the loss; not read where nothing is reduced.
float GradientScale(const LabelLoss& loss, const LabelOperands& operands,
                    const float* dy);

// Bytes of the scratchpad of ReduceLoss.
int64_t LossScratchpadBytes(const LabelLoss& loss);

// Returns the weight of all positions together.
double TotalWeight(const LabelLoss& loss, const LabelOperands& operands);

// Runs loss_of(begin, end, losses) for short runs of positions, and reduces.
//
//   y:          the loss: one element, or one for each position.
//   scratchpad: LossScratchpadBytes().
//   loss_of:    writes the weighted losses of positions [begin, end) to
//               losses[0 ..].
template <class LossOf>
void ReduceLoss(const LabelLoss& loss, const LabelOperands& operands,
                int threads, float* y, void* scratchpad,
                const LossOf& loss_of) {
  if (loss.reduction == Reduction::kNone) {
    ParallelFor(
        threads, loss.positions, loss.block(),
        [&](int64_t begin, int64_t end) { loss_of(begin, end, y + begin); });
    return;
  }
  double* sums = static_cast<double*>(scratchpad);
  const auto sum_of = [&](int64_t begin, int64_t end) {
    constexpr int64_t kRun = 256;
    float losses[kRun];
    double sum = 0;
    for (int64_t from = begin; from < end; from += kRun) {
      const int64_t to = std::min(end, from + kRun);
      loss_of(from, to, losses);
      for (int64_t i = 0; i < to - from; ++i) sum += losses[i];
    }
    return sum;
  };
  ParallelFor(
      threads, loss.num_blocks(), /*grain=*/1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t from = i * loss.block();
          sums[i] = sum_of(from, std::min(loss.positions, from + loss.block()));
        }
      });
  double total = 0;
  for (int64_t i = 0; i < loss.num_blocks(); ++i) total += sums[i];
  if (loss.reduction == Reduction::kMean) {
    total /= TotalWeight(loss, operands);
  }
  *y = static_cast<float>(total);
}

}  // namespace reprise

#endif  // OPS_LIB_LABEL_LOSS_H_
