// Writes a C++ file that compiles only if every operator that a file can name
// has a line in the table of op_cases.h.

#include <iostream>

#include "core/op.h"
#include "ops/all_ops.h"

int main() {
  std::cout << "#include \"absl/strings/string_view.h\"\n"
               "#include \"tests/ops/op_cases.h\"\n"
               "namespace reprise {\n"
               "namespace {\n"
               "constexpr bool HasCase(absl::string_view op) {\n"
               "  for (const OpCases& cases : kOpCases) {\n"
               "    if (op == cases.op) return true;\n"
               "  }\n"
               "  return false;\n"
               "}\n";
  for (const reprise::OpDef& op : reprise::AllOps()) {
    if (op.internal) continue;
    std::cout << "static_assert(HasCase(\"" << op.name << "\"),\n"
              << "              \"operator " << op.name
              << " has no case in tests/ops/op_cases.h\");\n";
  }
  std::cout << "}  // namespace\n}  // namespace reprise\n";
}
