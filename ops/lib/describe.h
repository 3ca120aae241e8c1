// What the `describe` functions of operators with loops of their own share.

#ifndef OPS_LIB_DESCRIBE_H_
#define OPS_LIB_DESCRIBE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/op.h"
#include "core/tensor_type.h"

namespace reprise {

// Returns a description with every operand row-major: its bytes, and the
// traffic of reading and writing each operand once.
Description DescribeRowMajor(const Signature& signature,
                             std::string implementation, int64_t flops);

// Returns the layout that a loop which only needs all its operands in the same
// order asks for: the first offered one that is a permutation other than
// row-major, among operands with the dims of output 0; row-major if none is.
Layout CommonLayout(const Signature& offered);

// Lets any of the inputs be overwritten by output 0.
void AllowOverwrite(const std::vector<int>& inputs, Description& description);

}  // namespace reprise

#endif  // OPS_LIB_DESCRIBE_H_
