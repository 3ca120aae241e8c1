// How operators of ONNX's sets 7 to 25 are written in the form that ours have:
// attributes where older versions, or newer ones, have operands; one meaning
// where versions differ.

#ifndef TOOLS_IMPORTER_OPSET_RULES_H_
#define TOOLS_IMPORTER_OPSET_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tools/importer/graph_importer.h"

namespace reprise {

// Returns the operator that stands for one of `domain`; empty if the domain is
// not ONNX's.
std::string NewestName(absl::string_view domain, const std::string& op_type);

// Returns whether an operator that is not in the table may come out as other
// nodes or as constants.
bool IsKnownWithoutOperator(const std::string& op);

// The name of an operand in ONNX, which is that of the attribute it becomes.
struct OperandName {
  std::string attribute;
  bool fixes_shape = false;  // an attribute even without an operator of ours
};

// Returns the names of an operator's operands, of those at least that can
// become attributes; the rest have names that no attribute has.
std::vector<OperandName> OperandNames(const std::string& op_type,
                                      int64_t version);

// Takes away attributes that ApplyRule would judge by what the operands are,
// for nodes whose operands are not known.
void DropJudgedAttrs(const std::string& op, Attrs& attrs);

// Brings `node` into the newest form, adding nodes before it where one is not
// enough. An empty operator afterwards: there is nothing left to add.
//
//   errors: InvalidArgument, without the node's name.
absl::Status ApplyRule(GraphImporter& graph, ImportNode& node);

}  // namespace reprise

#endif  // TOOLS_IMPORTER_OPSET_RULES_H_
