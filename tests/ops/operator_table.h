// The table of docs/operator_table.md, from the operators themselves.

#ifndef TESTS_OPS_OPERATOR_TABLE_H_
#define TESTS_OPS_OPERATOR_TABLE_H_

#include <string>

namespace reprise {

// Returns the whole page. What an operator accepts is tried on its cases, and
// what a gradient reads is read off their step graphs.
std::string OperatorTable();

}  // namespace reprise

#endif  // TESTS_OPS_OPERATOR_TABLE_H_
