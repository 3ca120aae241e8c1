#include "tools/training/batches.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "core/names.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

template <typename T>
absl::StatusOr<absl::Span<char>> BytesOf(const std::string& name, Pass& pass) {
  ASSIGN_OR_RETURN(const absl::Span<T> elements, pass.Input<T>(name));
  return absl::Span<char>(reinterpret_cast<char*>(elements.data()),
                          elements.size() * sizeof(T));
}

}  // namespace

absl::StatusOr<absl::Span<char>> InputBytes(const ModelInput& input,
                                            Pass& pass) {
  switch (input.type.dtype) {
    case DType::kF32:
      return BytesOf<float>(input.name, pass);
    case DType::kI32:
      return BytesOf<int32_t>(input.name, pass);
    case DType::kI64:
      return BytesOf<int64_t>(input.name, pass);
    case DType::kBool:
      return BytesOf<bool>(input.name, pass);
    default:
      return BytesOf<uint8_t>(input.name, pass);
  }
}

int64_t BatchShape::NumBatches(int64_t rows) const {
  return symbol.empty() ? rows / batch : (rows + batch - 1) / batch;
}

absl::Status CheckHasRows(const proto::Graph& model,
                          const std::vector<ModelInput>& inputs) {
  if (inputs.empty() || inputs[0].type.dims[0] > 0) return absl::OkStatus();
  const std::string& symbol = model.input(0).type().dim(0).symbol();
  // The file's own default is not 0.
  return absl::InvalidArgumentError(
      symbol.empty() ? std::string("a batch needs at least 1 row, got 0")
                     : absl::StrCat("--set: symbol ", Quote(symbol),
                                    " must be at least 1, got 0: it counts "
                                    "the rows of a batch"));
}

absl::StatusOr<BatchShape> BatchShapeOf(const proto::Graph& model,
                                        const Graph& graph) {
  BatchShape shape;
  ASSIGN_OR_RETURN(shape.inputs, ModelInputs(graph));
  shape.scores = FindScoresAndLabels(graph);
  if (shape.inputs.empty()) {
    return absl::InvalidArgumentError("the model has no input to feed");
  }
  RETURN_IF_ERROR(CheckHasRows(model, shape.inputs));
  shape.batch = shape.inputs[0].type.dims[0];
  std::set<std::string> symbols;
  for (const proto::Input& input : model.input()) {
    symbols.insert(input.type().dim(0).symbol());
  }
  if (symbols.size() == 1) shape.symbol = *symbols.begin();
  return shape;
}

std::vector<Bindings> PartialBatchBindings(const BatchShape& shape,
                                           absl::Span<const int64_t> num_rows) {
  std::set<int64_t> sizes;
  for (const int64_t rows : num_rows) sizes.insert(rows % shape.batch);
  sizes.erase(0);
  std::vector<Bindings> bindings;
  if (shape.symbol.empty()) return bindings;
  for (const int64_t size : sizes) bindings.push_back({{shape.symbol, size}});
  return bindings;
}

absl::StatusOr<Pass*> BatchRunner::FindPass(PlanMode mode, int64_t rows) {
  if (rows == shape_.batch) return trainer_.Find(mode);
  return trainer_.Find(mode, {{shape_.symbol, rows}});
}

absl::Status BatchRunner::Fill(absl::Span<const int64_t> rows, Pass& pass) {
  for (int i = 0; i < static_cast<int>(shape_.inputs.size()); ++i) {
    ASSIGN_OR_RETURN(const absl::Span<char> bytes,
                     InputBytes(shape_.inputs[i], pass));
    const int64_t row_bytes = dataset_.row_bytes(i);
    REPRISE_CHECK(static_cast<int64_t>(bytes.size()) ==
                  row_bytes * static_cast<int64_t>(rows.size()));
    for (size_t row = 0; row < rows.size(); ++row) {
      dataset_.CopyRow(i, rows[row], bytes.data() + row * row_bytes);
    }
  }
  return absl::OkStatus();
}

absl::Status BatchRunner::AddResults(absl::Span<const int64_t> rows,
                                     const Pass& pass, Metrics& metrics) {
  const int64_t num_rows = static_cast<int64_t>(rows.size());
  metrics.rows += num_rows;
  metrics.loss_sum += static_cast<double>(pass.loss()) * num_rows;
  const ScoresAndLabels& found = shape_.scores;
  if (found.output < 0) return absl::OkStatus();

  const Graph& model = pass.planned().model;
  ASSIGN_OR_RETURN(
      const absl::Span<const float> scores,
      pass.Output<float>(model.values[model.outputs[found.output]].name));
  // The step may have reused the bytes of its labels: they are read again.
  const ModelInput& input = shape_.inputs[found.input];
  const int64_t row_labels = input.row_elements();
  labels_.resize(num_rows * row_labels);
  for (int64_t row = 0; row < num_rows; ++row) {
    if (input.type.dtype == DType::kI64) {
      dataset_.CopyRow(found.input, rows[row], &labels_[row * row_labels]);
    } else {
      std::vector<int32_t> narrow(row_labels);
      dataset_.CopyRow(found.input, rows[row], narrow.data());
      std::copy(narrow.begin(), narrow.end(),
                labels_.begin() + row * row_labels);
    }
  }
  const size_t classes = scores.size() / labels_.size();
  for (size_t i = 0; i < labels_.size(); ++i) {
    if (found.has_ignored && labels_[i] == found.ignored) continue;
    const auto first = scores.begin() + i * classes;
    ++metrics.labels;
    if (std::max_element(first, first + classes) - first == labels_[i]) {
      ++metrics.correct;
    }
  }
  return absl::OkStatus();
}

absl::Status BatchRunner::Train(absl::Span<const int64_t> rows,
                                Metrics& metrics) {
  ASSIGN_OR_RETURN(
      Pass* const pass,
      FindPass(trainer_.next().mode(), static_cast<int64_t>(rows.size())));
  RETURN_IF_ERROR(Fill(rows, *pass));
  RETURN_IF_ERROR(trainer_.Step(*pass));
  return AddResults(rows, *pass, metrics);
}

absl::StatusOr<Metrics> BatchRunner::Evaluate(absl::Span<const int64_t> rows) {
  Metrics metrics;
  const int64_t num_rows = static_cast<int64_t>(rows.size());
  const int64_t batches = shape_.NumBatches(num_rows);
  for (int64_t i = 0; i < batches; ++i) {
    const absl::Span<const int64_t> batch =
        rows.subspan(i * shape_.batch, shape_.batch);
    ASSIGN_OR_RETURN(
        Pass* const pass,
        FindPass(PlanMode::kEvaluate, static_cast<int64_t>(batch.size())));
    RETURN_IF_ERROR(Fill(batch, *pass));
    RETURN_IF_ERROR(trainer_.Run(*pass));
    RETURN_IF_ERROR(AddResults(batch, *pass, metrics));
  }
  return metrics;
}

}  // namespace reprise
