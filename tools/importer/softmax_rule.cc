#include "tools/importer/softmax_rule.h"

#include <string>
#include <utility>
#include <vector>

#include "core/status_macros.h"
#include "tools/importer/fold.h"

namespace reprise {
namespace {

// What the newest form works on.
struct Rows {
  ImportId x = kAbsent;
  int64_t axis = 0;
  Dims dims;
  bool reshaped = false;  // the result needs the operand's dims again
};

absl::StatusOr<Rows> RowsOf(GraphImporter& graph, const ImportNode& node) {
  const TensorType type = graph.value(node.in[0]).type;
  const bool one_row = graph.version() < 13;
  const int64_t given =
      node.attrs.Has("axis") ? node.attrs.Int("axis") : (one_row ? 1 : -1);
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, type.rank(), node.op));
  Rows rows = {node.in[0], axis, type.dims, one_row && axis + 1 < type.rank()};
  if (!rows.reshaped) return rows;
  rows.dims.resize(axis);
  rows.dims.push_back(Product(absl::MakeConstSpan(type.dims).subspan(axis)));
  ASSIGN_OR_RETURN(
      rows.x, graph.AddNode(node, "Reshape", {rows.x},
                            {{"shape", rows.dims}, {"allowzero", int64_t{1}}}));
  return rows;
}

// Makes `node` the operator `op` of `in`, with the dims of its operand.
absl::Status Become(GraphImporter& graph, const Rows& rows, const char* op,
                    std::vector<ImportId> in, Attrs attrs, ImportNode& node) {
  const Dims dims = graph.value(node.in[0]).type.dims;
  node.op = op;
  node.in = std::move(in);
  node.attrs = std::move(attrs);
  if (!rows.reshaped) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ImportId y,
                   graph.AddNode(node, node.op, node.in, node.attrs));
  node.op = "Reshape";
  node.in = {y};
  node.attrs = {{"shape", dims}, {"allowzero", int64_t{1}}};
  return absl::OkStatus();
}

}  // namespace

absl::Status RuleSoftmax(GraphImporter& graph, ImportNode& node) {
  ASSIGN_OR_RETURN(const Rows rows, RowsOf(graph, node));
  const std::string op = node.op;
  return Become(graph, rows, op.c_str(), {rows.x}, {{"axis", rows.axis}}, node);
}

absl::Status RuleHardmax(GraphImporter& graph, ImportNode& node) {
  ASSIGN_OR_RETURN(const Rows rows, RowsOf(graph, node));
  ASSIGN_OR_RETURN(
      const ImportId largest,
      graph.AddNode(node, "ArgMax", {rows.x},
                    {{"axis", rows.axis}, {"keepdims", int64_t{0}}}));
  const ImportId numbers = graph.AddConstant(node, VectorOfInts({0, 1}));
  ASSIGN_OR_RETURN(const ImportId values, graph.AddNode(node, "Cast", {numbers},
                                                        {{"to", DType::kF32}}));
  return Become(graph, rows, "OneHot", {largest, values},
                {{"axis", rows.axis}, {"depth", rows.dims[rows.axis]}}, node);
}

}  // namespace reprise
