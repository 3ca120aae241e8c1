// Random cases of matrix products.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor_type.h"
#include "tests/ops/layer_cases.h"
#include "tests/ops/op_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

// numpy's matmul: 1-D operands get an axis, batch axes broadcast.
HostTensors MatMulDefinition(const HostTensors& in, const Attrs&) {
  HostTensor a = in[0];
  HostTensor b = in[1];
  const bool row = a.type.rank() == 1;
  const bool column = b.type.rank() == 1;
  if (row) a.type.dims.insert(a.type.dims.begin(), 1);
  if (column) b.type.dims.push_back(1);
  const Dims& a_dims = a.type.dims;
  const Dims& b_dims = b.type.dims;
  Dims dims = *BroadcastDims(Dims(a_dims.begin(), a_dims.end() - 2),
                             Dims(b_dims.begin(), b_dims.end() - 2), "");
  const size_t batch_rank = dims.size();
  dims.push_back(a_dims[a_dims.size() - 2]);
  dims.push_back(b_dims.back());

  // The index of an operand's matrix for a matrix of y.
  const auto batch_index = [&](const Dims& index, const Dims& operand) {
    Dims result;
    const size_t rank = operand.size() - 2;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t at = index[batch_rank - rank + i];
      result.push_back(operand[i] == 1 ? 0 : at);
    }
    return result;
  };
  HostTensor y = FromIndex({DType::kF32, dims}, [&](const Dims& index) {
    double sum = 0;
    for (int64_t k = 0; k < a_dims.back(); ++k) {
      Dims a_index = batch_index(index, a_dims);
      a_index.push_back(index[batch_rank]);
      a_index.push_back(k);
      Dims b_index = batch_index(index, b_dims);
      b_index.push_back(k);
      b_index.push_back(index[batch_rank + 1]);
      sum += At(a, a_index) * At(b, b_index);
    }
    return sum;
  });
  if (column) y.type.dims.pop_back();
  if (row) y.type.dims.erase(y.type.dims.begin() + batch_rank);
  return {y};
}

HostTensors GemmDefinition(const HostTensors& in, const Attrs& attrs) {
  const bool trans_a = attrs.Int("transA") != 0;
  const bool trans_b = attrs.Int("transB") != 0;
  const Dims& a = in[0].type.dims;
  const Dims& b = in[1].type.dims;
  const int64_t m = a[trans_a ? 1 : 0];
  const int64_t terms = a[trans_a ? 0 : 1];
  const int64_t n = b[trans_b ? 0 : 1];
  const HostTensor product =
      FromIndex({DType::kF32, {m, n}}, [&](const Dims& index) {
        double sum = 0;
        for (int64_t k = 0; k < terms; ++k) {
          sum += At(in[0], trans_a ? Dims{k, index[0]} : Dims{index[0], k}) *
                 At(in[1], trans_b ? Dims{index[1], k} : Dims{k, index[1]});
        }
        return double{attrs.Float("alpha")} * sum;
      });
  if (in.size() < 3 || !in[2].type.present()) return {product};
  const double beta = attrs.Float("beta");
  return {BroadcastElements(
      product, in[2], [beta](double ab, double c) { return ab + beta * c; })};
}

}  // namespace

OpCase MatMulOf(Dims a, Dims b) {
  OpCase c;
  c.op = "MatMul";
  c.in = {F32(std::move(a)), F32(std::move(b))};
  c.definition = MatMulDefinition;
  // Up to 60 terms below 4, summed in float: 60 * 4 * 2^-24.
  c.tolerance = 1.5e-5;
  c.gradient_tolerance = 1e-4;
  return c;
}

OpCase GemmOf(std::vector<TensorType> in, Attrs attrs) {
  OpCase c;
  c.op = "Gemm";
  c.in = std::move(in);
  c.attrs = std::move(attrs);
  c.definition = GemmDefinition;
  // Up to 40 terms below 4, summed in float: 40 * 4 * 2^-24.
  c.tolerance = 1e-5;
  c.gradient_tolerance = 1e-4;
  return c;
}

OpCase MatMulCase(CaseRandom& random) {
  Dims batch;
  const int64_t batch_rank = random.Int(0, 2);
  for (int64_t i = 0; i < batch_rank; ++i) batch.push_back(random.Int(1, 3));
  Dims a = random.Narrowed(batch);
  Dims b = random.Narrowed(batch);
  const int64_t k = random.Int(0, 20);
  // A vector now and then, where there is no batch.
  if (!a.empty() || random.Int(0, 3) > 0) a.push_back(random.Int(1, 5));
  a.push_back(k);
  b.push_back(k);
  if (b.size() > 1 || random.Int(0, 3) > 0) b.push_back(random.Int(1, 5));
  return MatMulOf(std::move(a), std::move(b));
}

OpCase GemmCase(CaseRandom& random) {
  const int64_t m = random.Int(1, 8);
  const int64_t k = random.Int(0, 20);
  const int64_t n = random.Int(1, 20);
  const int64_t trans_a = random.Int(0, 1);
  const int64_t trans_b = random.Int(0, 1);
  std::vector<TensorType> in = {F32(trans_a != 0 ? Dims{k, m} : Dims{m, k}),
                                F32(trans_b != 0 ? Dims{n, k} : Dims{k, n})};
  if (random.Int(0, 3) > 0) in.push_back(F32(random.Narrowed({m, n})));
  Attrs attrs = {{"transA", trans_a}, {"transB", trans_b}};
  if (random.Bool()) attrs.Set("alpha", 0.5f);
  if (random.Bool()) attrs.Set("beta", random.Pick<float>({0.0f, 2.0f}));
  return GemmOf(std::move(in), std::move(attrs));
}

}  // namespace reprise
