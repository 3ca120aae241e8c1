// Every operator, found at build time: a file foo_bar.cc in this folder defines
// FooBarOps() and is part of the table.

#ifndef OPS_ALL_OPS_H_
#define OPS_ALL_OPS_H_

#include <string>
#include <vector>

#include "core/op.h"

namespace reprise {

// Returns the operators in the order of their files' names.
std::vector<OpDef> AllOps();

// Returns e.g. "oneDNN 2.6.3, ISA 39": the library of kernels and its number
// for the instruction set that it uses here.
std::string KernelLibrary();

}  // namespace reprise

#endif  // OPS_ALL_OPS_H_
