#include "tools/data/array.h"

#include <cstring>

#include "core/status_macros.h"

namespace reprise {
namespace {

template <typename T>
T Element(const Array& array, int64_t index) {
  T element;
  std::memcpy(&element, array.data.data() + index * sizeof(T), sizeof(T));
  return element;
}

}  // namespace

double ElementAsDouble(const Array& array, int64_t index) {
  if (array.type.dtype == DType::kF32) return Element<float>(array, index);
  return static_cast<double>(ElementAsInt(array, index));
}

int64_t ElementAsInt(const Array& array, int64_t index) {
  switch (array.type.dtype) {
    case DType::kI32:
      return Element<int32_t>(array, index);
    case DType::kI64:
      return Element<int64_t>(array, index);
    case DType::kBool:
    case DType::kU8:
      return Element<uint8_t>(array, index);
    default:
      break;
  }
  REPRISE_CHECK(false);
  return 0;
}

}  // namespace reprise
