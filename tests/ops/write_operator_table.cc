// Writes docs/operator_table.md to standard output.

#include <iostream>

#include "tests/ops/operator_table.h"

int main() { std::cout << reprise::OperatorTable(); }
