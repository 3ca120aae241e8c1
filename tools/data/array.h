// A dense array read from a data file.

#ifndef TOOLS_DATA_ARRAY_H_
#define TOOLS_DATA_ARRAY_H_

#include <cstdint>
#include <string>

#include "core/tensor_type.h"

namespace reprise {

struct Array {
  TensorType type;   // kF32, kI32, kI64, kBool or kU8
  std::string data;  // row-major, little-endian; type.bytes() of them
};

// Returns element `index` as a number, exactly but for integers of 2^53 and
// more.
double ElementAsDouble(const Array& array, int64_t index);

// Returns element `index` of an array that is not kF32, exactly.
int64_t ElementAsInt(const Array& array, int64_t index);

}  // namespace reprise

#endif  // TOOLS_DATA_ARRAY_H_
