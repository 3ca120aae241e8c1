// Tensors of doubles, in which the operator harness states definitions.

#ifndef TESTS_TESTING_HOST_TENSOR_H_
#define TESTS_TESTING_HOST_TENSOR_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/tensor_type.h"

namespace reprise {

// Elements in row-major order, whatever the element type.
struct HostTensor {
  TensorType type;
  std::vector<double> data;
};
using HostTensors = std::vector<HostTensor>;

// Short for types.
TensorType F32(Dims dims);
TensorType I32(Dims dims);
TensorType I64(Dims dims);

// Returns the tensor with f of each element.
HostTensor MapElements(const HostTensor& x, double (*f)(double));

// Returns f of the elements of a and b that broadcast to each other.
HostTensor BroadcastElements(const HostTensor& a, const HostTensor& b,
                             const std::function<double(double, double)>& f);

// Returns a tensor of `type` whose element at each index is f(index).
HostTensor FromIndex(TensorType type,
                     const std::function<double(const Dims& index)>& f);

// Returns the element at `index`.
double At(const HostTensor& x, const Dims& index);

// Calls f with every index of `dims`, in row-major order.
void ForEachIndex(const Dims& dims, const std::function<void(const Dims&)>& f);

// Returns the elements as a kernel gets them, in the tensor's element type.
std::vector<char> Pack(const HostTensor& tensor);

// Returns the tensor of `type` whose elements are at `bytes`.
HostTensor Unpack(const TensorType& type, const char* bytes);

// Expects |got - want| <= tolerance * max(1, |want|) of every element; one
// message, which begins with `what`, for the first one that is off.
void ExpectNear(const HostTensor& got, const HostTensor& want, double tolerance,
                absl::string_view what);

}  // namespace reprise

#endif  // TESTS_TESTING_HOST_TENSOR_H_
