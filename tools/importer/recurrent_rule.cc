#include "tools/importer/recurrent_rule.h"

#include <algorithm>
#include <string>

namespace reprise {
namespace {

// Operands, by ONNX's positions.
constexpr size_t kLengths = 4;
constexpr size_t kInitialStates[] = {5, 6};

bool IsZero(const ImportValue& value) {
  const std::string& data = value.content.data;
  return value.known && value.unbound.empty() &&
         std::all_of(data.begin(), data.end(), [](char c) { return c == 0; });
}

// Whether all lengths are that of x.
bool AreFull(const ImportValue& lengths, int64_t steps) {
  if (!lengths.constant() || lengths.type.dtype != DType::kI32) return false;
  for (int64_t i = 0; i < lengths.type.num_elements(); ++i) {
    if (ElementAsInt(lengths.content, i) != steps) return false;
  }
  return true;
}

}  // namespace

absl::Status RuleRecurrent(GraphImporter& graph, ImportNode& node) {
  for (const size_t i : kInitialStates) {
    if (i >= node.in.size() || node.in[i] == kAbsent) continue;
    const ImportValue& state = graph.value(node.in[i]);
    if (IsZero(state) && !graph.MustTrain(state)) node.in[i] = kAbsent;
  }
  if (node.in.size() > kLengths && node.in[kLengths] != kAbsent) {
    const TensorType& x = graph.value(node.in[0]).type;
    const auto layout = node.attrs.values().find("layout");
    const bool batch_first = layout != node.attrs.values().end() &&
                             layout->second == AttrValue(int64_t{1});
    if (x.rank() == 3 &&
        AreFull(graph.value(node.in[kLengths]), x.dims[batch_first ? 1 : 0])) {
      node.in[kLengths] = kAbsent;
    }
  }
  return absl::OkStatus();
}

}  // namespace reprise
