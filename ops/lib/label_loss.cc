#include "ops/lib/label_loss.h"

#include <utility>

#include "core/status_macros.h"

namespace reprise {

absl::StatusOr<Reduction> ReductionOf(absl::string_view op,
                                      const std::string& name) {
  if (name == "none") return Reduction::kNone;
  if (name == "sum") return Reduction::kSum;
  if (name == "mean") return Reduction::kMean;
  return Invalid(op, ": reduction must be none, sum or mean, got '", name, "'");
}

std::vector<AttrSpec> LabelLossAttrs() {
  return {AttrSpec("reduction", std::string("mean")),
          AttrSpec("ignore_index", AttrKind::kInt)};
}

LabelLoss LabelLossOf(const Attrs& attrs, const TensorType& scores,
                      const TensorType& labels, bool channels_last) {
  LabelLoss loss;
  loss.positions = labels.num_elements();
  loss.classes = scores.dims[1];
  loss.d =
      channels_last ? 1 : Product(absl::MakeConstSpan(scores.dims).subspan(2));
  loss.reduction = *ReductionOf("", attrs.String("reduction"));
  loss.labels_are_i64 = labels.dtype == DType::kI64;
  loss.ignores = attrs.Has("ignore_index");
  if (loss.ignores) loss.ignore_index = attrs.Int("ignore_index");
  return loss;
}

InferredTypes InferLabelLoss(absl::string_view op,
                             absl::Span<const TensorType> in,
                             const Attrs& attrs) {
  const TensorType& scores = in[0];
  const TensorType& labels = in[1];
  RETURN_IF_ERROR(RequireF32(op, "scores", scores));
  if (scores.rank() < 2 || scores.dims[1] < 1) {
    return Invalid(op, ": scores must be [n, c, ..] with c >= 1, got ",
                   ToString(scores));
  }
  if (labels.dtype != DType::kI32 && labels.dtype != DType::kI64) {
    return Invalid(op, ": labels must be i32 or i64, got ", ToString(labels));
  }
  Dims expected = scores.dims;
  expected.erase(expected.begin() + 1);
  if (labels.dims != expected) {
    return Invalid(op, ": labels of scores ", ToString(scores), " must be ",
                   DimsToString(expected), ", got ", ToString(labels));
  }
  if (in.size() > 2 && in[2].present() &&
      in[2] != TensorType{DType::kF32, {scores.dims[1]}}) {
    return Invalid(op, ": weights must be f32[", scores.dims[1], "], got ",
                   ToString(in[2]));
  }
  ASSIGN_OR_RETURN(const Reduction reduction,
                   ReductionOf(op, attrs.String("reduction")));
  if (reduction != Reduction::kNone) expected.clear();
  return std::vector<TensorType>{{DType::kF32, std::move(expected)}};
}

double TotalWeight(const LabelLoss& loss, const LabelOperands& operands) {
  double total = 0;
  for (int64_t i = 0; i < loss.positions; ++i) {
    total += TargetAt(loss, operands, i).weight;
  }
  return total;
}

float GradientScale(const LabelLoss& loss, const LabelOperands& operands,
                    const float* dy) {
  if (loss.reduction == Reduction::kNone) return 1;
  if (loss.reduction == Reduction::kSum) return *dy;
  return static_cast<float>(*dy / TotalWeight(loss, operands));
}

int64_t LossScratchpadBytes(const LabelLoss& loss) {
  if (loss.reduction == Reduction::kNone) return 0;
  return loss.num_blocks() * static_cast<int64_t>(sizeof(double));
}

}  // namespace reprise
