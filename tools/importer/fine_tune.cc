// A loss behind the first output, and a new last layer in place of the model's.

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/initialize.h"
#include "core/names.h"
#include "core/node_appender.h"
#include "core/status_macros.h"
#include "tools/importer/graph_importer.h"

namespace reprise {
namespace {

// Operators that only give their operand another shape.
bool IsView(const std::string& op) {
  return op == "Reshape" || op == "Flatten" || op == "Squeeze" ||
         op == "Unsqueeze" || op == "Identity";
}

// Which axes of an operand are axes of the model's output, given which of the
// result of `made` are.
std::vector<bool> AxesBefore(const ImportNode& made, const TensorType& operand,
                             const TensorType& result,
                             const std::vector<bool>& axes) {
  std::vector<bool> before(operand.rank(), false);
  if (made.op == "Transpose") {
    const Ints perm = made.attrs.IntList("perm");
    for (size_t i = 0; i < axes.size(); ++i) before[perm[i]] = axes[i];
    return before;
  }
  // The same elements ahead of it, and as many along it.
  const absl::Span<const int64_t> from = operand.dims;
  const absl::Span<const int64_t> to = result.dims;
  for (size_t j = 0; j < from.size(); ++j) {
    for (size_t i = 0; i < to.size(); ++i) {
      before[j] = before[j] || (axes[i] && from[j] == to[i] &&
                                Product(from.first(j)) == Product(to.first(i)));
    }
  }
  return before;
}

}  // namespace

GraphImporter::Scores GraphImporter::FindScores(ImportId y) {
  const Scores as_they_are = {y, 1};
  std::vector<bool> axes(values_[y].type.rank(), true);
  ImportId at = y;
  while (values_[at].producer >= 0) {
    const ImportNode& made = made_[values_[at].producer];
    if (made.op == "Softmax" || made.op == "LogSoftmax") {
      const TensorType& type = values_[made.in[0]].type;
      const int64_t given = made.attrs.Int("axis");
      const int64_t axis = given < 0 ? given + type.rank() : given;
      // Of a matrix that is reshaped at the end the rows are what is judged.
      if (axis == 1 || (axis > 1 && axes[axis])) {
        result_.notes.push_back(
            absl::StrCat("the loss reads what goes into the last ", made.op,
                         ", classes along axis ", axis));
        return {made.in[0], axis};
      }
      result_.notes.push_back(
          absl::StrCat("the loss has a softmax of its own, along axis 1 of "
                       "output ",
                       Quote(values_[y].theirs), ": the model's last ", made.op,
                       ", along axis ", axis, " of ", ToString(type),
                       ", stays ahead of it"));
      return as_they_are;
    }
    if (!IsView(made.op) && made.op != "Transpose") break;
    axes = AxesBefore(made, values_[made.in[0]].type, values_[at].type, axes);
    at = made.in[0];
  }
  return as_they_are;
}

absl::Status GraphImporter::AddLoss() {
  if (outputs_.empty() || outputs_[0] == kAbsent) {
    return absl::InvalidArgumentError("the model has no output to judge");
  }
  ImportNode near;
  near.who = "loss";
  ImportId y = outputs_[0];
  TensorType label = values_[y].type;
  std::string op = "MeanSquaredError";
  if (label.dtype != DType::kF32 || label.rank() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("output ", Quote(values_[y].theirs),
                     " must be FLOAT and no scalar, got ", ToString(label)));
  }
  if (options_.loss == "softmax_cross_entropy" || options_.loss == "nll") {
    op = options_.loss == "nll" ? "NegativeLogLikelihoodLoss"
                                : "SoftmaxCrossEntropyLoss";
    Scores scores = {y, 1};
    if (op == "SoftmaxCrossEntropyLoss") scores = FindScores(y);
    const int64_t classes_axis = scores.classes_axis;
    y = scores.value;
    if (values_[y].type.rank() < 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "scores are [rows, classes, ...], got ", ToString(values_[y].type)));
    }
    if (classes_axis != 1) {
      Ints perm;
      for (int64_t a = 0; a < values_[y].type.rank(); ++a) {
        if (a == 1) perm.push_back(classes_axis);
        if (a != classes_axis) perm.push_back(a);
      }
      near.out = {y};
      ASSIGN_OR_RETURN(y, AddNode(near, "Transpose", {y}, {{"perm", perm}}));
      near.out.clear();
    }
    label = values_[y].type;
    label.dtype = DType::kI64;
    label.dims.erase(label.dims.begin() + 1);
  } else if (options_.loss != "mse") {
    return absl::InvalidArgumentError(
        absl::StrCat("there are softmax_cross_entropy, nll and mse, got ",
                     Quote(options_.loss)));
  }
  const ImportId input = static_cast<ImportId>(values_.size());
  values_.emplace_back();
  ImportValue& value = values_[input];
  value.ours = names_.Fresh("label");
  value.kind = ImportValue::Kind::kInput;
  value.type = label;
  value.symbols.assign(label.rank(), "");
  // The rows of a label are the rows of what it judges, and its other dims the
  // model's where they agree.
  for (const ImportId id : inputs_) {
    if (id == kAbsent || values_[id].symbols.empty()) continue;
    const TensorType& type = values_[id].type;
    const std::vector<std::string>& symbols = values_[id].symbols;
    const size_t both = std::min(label.dims.size(), symbols.size());
    for (size_t i = 0; i < both; ++i) {
      if (type.dims[i] == label.dims[i]) {
        value.symbols[i] = symbols[i];
      }
    }
    break;
  }
  inputs_.push_back(input);
  const ImportId loss = static_cast<ImportId>(values_.size());
  values_.emplace_back();
  values_.back().ours = names_.Fresh("loss");
  RETURN_IF_ERROR(AddNamed(near, op, {y, input}, {}, loss));
  losses_.push_back(loss);
  return absl::OkStatus();
}

int32_t GraphImporter::LastDense() const {
  int32_t conv = -1;
  for (int32_t n = static_cast<int32_t>(made_.size()); n-- > 0;) {
    const ImportNode& node = made_[n];
    if (!kept_[n] || node.in.size() < 2 || node.in[1] == kAbsent) continue;
    const ImportValue& weight = values_[node.in[1]];
    if (weight.kind != ImportValue::Kind::kParameter) continue;
    if ((node.op == "Gemm" || node.op == "MatMul") && weight.type.rank() == 2) {
      return n;
    }
    const absl::Span<const int64_t> dims = weight.type.dims;
    if (conv < 0 && node.op == "Conv" && Product(dims.subspan(2)) == 1) {
      conv = n;
    }
  }
  return conv;
}

absl::Status GraphImporter::Widen(ImportId parameter, int axis, int64_t from,
                                  int64_t to) {
  ImportValue& value = values_[parameter];
  if (value.type.dims[axis] != from) return absl::OkStatus();
  Dims dims = value.type.dims;
  dims[axis] = to;
  ASSIGN_OR_RETURN(value.type, TensorType::Make(DType::kF32, std::move(dims)));
  if (value.type.bytes() > kMostFilledBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("new weights have at most ", kMostFilledBytes, " bytes, ",
                     ToString(value.type), " is beyond that"));
  }
  value.content.type = value.type;
  try {
    value.content.data.assign(value.type.bytes(), '\0');
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for new weights ", ToString(value.type)));
  }
  if (value.content.data.empty()) return absl::OkStatus();
  return FillInitial(
      proto::Initializer(), value.ours, value.type, /*seed=*/0,
      absl::Span<char>(&value.content.data[0], value.content.data.size()));
}

// Infers the types of nodes from `first` on, after `from` classes became `to`.
absl::Status GraphImporter::InferAgain(int32_t first, int64_t from,
                                       int64_t to) {
  for (size_t n = first; n < made_.size(); ++n) {
    ImportNode& node = made_[n];
    if (!kept_[n]) continue;
    std::vector<TensorType> in;
    for (const ImportId id : node.in) {
      in.push_back(id == kAbsent ? TensorType{} : values_[id].type);
    }
    const OpDef& op = *ops_.Find(node.op);
    const ImportId named =
        *std::find_if(node.out.begin(), node.out.end(),
                      [](ImportId id) { return id != kAbsent; });
    const std::string& name = values_[named].ours;
    absl::StatusOr<std::vector<TensorType>> types =
        InferTypes(name, op, node.attrs, in);
    if (!types.ok() && node.attrs.Has("shape")) {
      Ints shape = node.attrs.IntList("shape");
      std::replace(shape.begin(), shape.end(), from, to);
      node.attrs.Set("shape", shape);
      types = InferTypes(name, op, node.attrs, in);
    }
    RETURN_IF_ERROR(types.status());
    for (size_t i = 0; i < node.out.size(); ++i) {
      if (node.out[i] != kAbsent) values_[node.out[i]].type = (*types)[i];
    }
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::ReplaceHead() {
  if (options_.head < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a layer has at least 1 result, got ", options_.head));
  }
  KeepWhatIsRead();
  const int32_t n = LastDense();
  if (n < 0) {
    return absl::InvalidArgumentError(
        "there is no dense layer: a Gemm, MatMul or Conv of kernel 1 with a "
        "parameter");
  }
  const ImportNode node = made_[n];
  const bool rows =
      node.op == "Conv" || (node.op == "Gemm" && node.attrs.Int("transB") != 0);
  const int axis = rows ? 0 : 1;
  const int64_t from = values_[node.in[1]].type.dims[axis];
  std::vector<std::pair<ImportId, int>> parameters = {{node.in[1], axis}};
  const auto add_bias = [this, from, &parameters](ImportId id, int axis) {
    if (id == kAbsent) return;
    const ImportValue& value = values_[id];
    if (value.kind != ImportValue::Kind::kParameter || axis < 0 ||
        value.type.dims[axis] != from) {
      return;
    }
    parameters.emplace_back(id, axis);
  };
  if (node.in.size() > 2 && node.in[2] != kAbsent) {
    add_bias(node.in[2], values_[node.in[2]].type.rank() - 1);
  }
  // A bias of its own node.
  for (const ImportNode& after : made_) {
    if (after.op != "Add") continue;
    for (int i = 0; i < 2; ++i) {
      if (after.in[i] != node.out[0]) continue;
      const ImportId bias = after.in[1 - i];
      add_bias(bias, values_[bias].type.rank() - 1);
    }
  }
  for (const auto& [id, id_axis] : parameters) {
    for (size_t other = 0; other < made_.size(); ++other) {
      const std::vector<ImportId>& in = made_[other].in;
      if (!kept_[other] || made_[other].out == node.out ||
          made_[other].op == "Add" ||
          std::find(in.begin(), in.end(), id) == in.end()) {
        continue;
      }
      return absl::InvalidArgumentError(absl::StrCat(
          "parameter ", Quote(values_[id].theirs),
          " of the last layer has another reader, ", made_[other].who));
    }
    RETURN_IF_ERROR(Widen(id, id_axis, from, options_.head));
    values_[id].trainable = true;
  }
  result_.notes.push_back(absl::StrCat("the head ", node.who, " has ",
                                       options_.head, " results in place of ",
                                       from, ", and new weights"));
  return InferAgain(n, from, options_.head);
}

}  // namespace reprise
