#include "tools/importer/recurrent_rule.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

// Operands, by ONNX's positions.
constexpr size_t kR = 2;
constexpr size_t kLengths = 4;
constexpr size_t kInitialStates[] = {5, 6};

bool IsZero(const ImportValue& value) {
  const std::string& data = value.content.data;
  return value.known && value.unbound.empty() &&
         std::all_of(data.begin(), data.end(), [](char c) { return c == 0; });
}

// Whether all lengths are that of x.
bool AreFull(const ImportValue& lengths, int64_t steps) {
  if (!lengths.known || lengths.type.dtype != DType::kI32) return false;
  for (int64_t i = 0; i < lengths.type.num_elements(); ++i) {
    if (ElementAsInt(lengths.content, i) != steps) return false;
  }
  return true;
}

}  // namespace

absl::Status RuleRecurrent(GraphImporter& graph, ImportNode& node) {
  if (node.in.size() <= kR || node.in[kR] == kAbsent) return absl::OkStatus();
  const TensorType& x = graph.value(node.in[0]).type;
  const TensorType& r = graph.value(node.in[kR]).type;
  // The operator itself says what is wrong with them.
  if (x.rank() != 3 || r.rank() != 3) return absl::OkStatus();
  const auto layout = node.attrs.values().find("layout");
  const bool batch_first = layout != node.attrs.values().end() &&
                           layout->second == AttrValue(int64_t{1});
  const int64_t steps = x.dims[batch_first ? 1 : 0];
  Dims state_dims = {r.dims[0], x.dims[1], r.dims[2]};
  if (batch_first) state_dims = {x.dims[0], r.dims[0], r.dims[2]};
  for (const size_t i : kInitialStates) {
    if (i >= node.in.size() || node.in[i] == kAbsent) continue;
    const ImportValue& state = graph.value(node.in[i]);
    if (IsZero(state) && state.type.dims == state_dims &&
        !graph.MustTrain(state)) {
      node.in[i] = kAbsent;
    }
  }
  if (node.in.size() <= kLengths || node.in[kLengths] == kAbsent) {
    return absl::OkStatus();
  }
  const absl::Status known = graph.MustBeKnown(node.in[kLengths]).status();
  if (!known.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("operand 'sequence_lens' ", known.message()));
  }
  if (AreFull(graph.value(node.in[kLengths]), steps)) {
    node.in[kLengths] = kAbsent;
  }
  return absl::OkStatus();
}

}  // namespace reprise
