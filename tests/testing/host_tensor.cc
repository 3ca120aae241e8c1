#include "tests/testing/host_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/status/statusor.h"
#include "core/op.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

template <class T>
std::vector<char> PackAs(const std::vector<double>& data) {
  std::vector<char> bytes(data.size() * sizeof(T));
  for (size_t i = 0; i < data.size(); ++i) {
    const T element = static_cast<T>(data[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return bytes;
}

template <class T>
std::vector<double> UnpackAs(const char* bytes, int64_t n) {
  std::vector<double> data(n);
  for (int64_t i = 0; i < n; ++i) {
    T element;
    std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
    data[i] = static_cast<double>(element);
  }
  return data;
}

}  // namespace

TensorType F32(Dims dims) { return {DType::kF32, std::move(dims)}; }
TensorType I32(Dims dims) { return {DType::kI32, std::move(dims)}; }
TensorType I64(Dims dims) { return {DType::kI64, std::move(dims)}; }

HostTensor MapElements(const HostTensor& x, double (*f)(double)) {
  HostTensor y = x;
  for (double& element : y.data) element = f(element);
  return y;
}

void ForEachIndex(const Dims& dims, const std::function<void(const Dims&)>& f) {
  if (Product(dims) == 0) return;
  Dims index(dims.size(), 0);
  while (true) {
    f(index);
    size_t i = dims.size();
    while (i > 0 && ++index[i - 1] == dims[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

double At(const HostTensor& x, const Dims& index) {
  int64_t at = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    at = at * x.type.dims[i] + index[i];
  }
  return x.data[at];
}

HostTensor FromIndex(TensorType type,
                     const std::function<double(const Dims& index)>& f) {
  HostTensor y{std::move(type), {}};
  ForEachIndex(y.type.dims,
               [&](const Dims& index) { y.data.push_back(f(index)); });
  return y;
}

HostTensor BroadcastElements(const HostTensor& a, const HostTensor& b,
                             const std::function<double(double, double)>& f) {
  const absl::StatusOr<Dims> dims =
      BroadcastDims(a.type.dims, b.type.dims, "test");
  EXPECT_TRUE(dims.ok()) << dims.status();
  const auto at = [](const HostTensor& x, const Dims& index) {
    const size_t skip = index.size() - x.type.dims.size();
    Dims own;
    for (size_t i = 0; i < x.type.dims.size(); ++i) {
      own.push_back(x.type.dims[i] == 1 ? 0 : index[skip + i]);
    }
    return At(x, own);
  };
  return FromIndex({a.type.dtype, *dims}, [&](const Dims& index) {
    return f(at(a, index), at(b, index));
  });
}

std::vector<char> Pack(const HostTensor& tensor) {
  switch (tensor.type.dtype) {
    case DType::kF32:
      return PackAs<float>(tensor.data);
    case DType::kI32:
      return PackAs<int32_t>(tensor.data);
    case DType::kI64:
      return PackAs<int64_t>(tensor.data);
    case DType::kBool:
    case DType::kU8:
      return PackAs<uint8_t>(tensor.data);
    case DType::kNone:
    case DType::kOpaque:
      break;
  }
  return {};
}

HostTensor Unpack(const TensorType& type, const char* bytes) {
  const int64_t n = type.num_elements();
  switch (type.dtype) {
    case DType::kF32:
      return {type, UnpackAs<float>(bytes, n)};
    case DType::kI32:
      return {type, UnpackAs<int32_t>(bytes, n)};
    case DType::kI64:
      return {type, UnpackAs<int64_t>(bytes, n)};
    case DType::kBool:
    case DType::kU8:
      return {type, UnpackAs<uint8_t>(bytes, n)};
    case DType::kNone:
    case DType::kOpaque:
      break;
  }
  return {type, {}};
}

void ExpectNear(const HostTensor& got, const HostTensor& want, double tolerance,
                absl::string_view what) {
  ASSERT_EQ(ToString(got.type), ToString(want.type)) << what;
  ASSERT_EQ(got.data.size(), want.data.size()) << what;
  for (size_t i = 0; i < want.data.size(); ++i) {
    const double w = want.type.dtype == DType::kF32
                         ? static_cast<double>(static_cast<float>(want.data[i]))
                         : want.data[i];
    const double g = got.data[i];
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    const double allowed = tolerance * std::max(1.0, std::abs(w));
    if (std::abs(g - w) <= allowed) continue;
    FAIL() << what << ", element " << i << " of " << ToString(want.type)
           << ": got " << g << ", want " << w << ", allowed " << allowed;
  }
}

}  // namespace reprise
