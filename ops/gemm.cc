// Gemm: y = alpha op(a) op(b) + beta c, where op transposes if asked, and c is
// broadcast to [m, n].
//
// The gradients of a and b are products of the other operand with dy, that of c
// is a sum of dy; none reads y or c.
// Tested by tests/ops/gemm_test.cc.

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/batched_product.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"
#include "ops/lib/relu.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  const TensorType& a = args.in[0];
  const TensorType& b = args.in[1];
  if (a.dtype != DType::kF32 || b.dtype != DType::kF32 || a.rank() != 2 ||
      b.rank() != 2) {
    return Invalid("Gemm: a and b must be f32 matrices, got ", ToString(a),
                   " x ", ToString(b));
  }
  ASSIGN_OR_RETURN(
      const BatchedProduct p,
      MakeBatchedProduct(a.dims, args.attrs.Int("transA") != 0, b.dims,
                         args.attrs.Int("transB") != 0, "Gemm"));
  const TensorType y = {DType::kF32, {p.m, p.n}};
  if (args.in.size() > 2 && args.in[2].present()) {
    const TensorType& c = args.in[2];
    const absl::StatusOr<Dims> dims = BroadcastDims(c.dims, y.dims, "Gemm");
    if (c.dtype != DType::kF32 || !dims.ok() || *dims != y.dims) {
      return Invalid("Gemm: c must be broadcastable to ", ToString(y), ", got ",
                     ToString(c));
    }
  }
  return std::vector<TensorType>{y};
}

std::vector<ValueId> Grad(GradBuilder& b) {
  const bool trans_a = b.attrs().Int("transA") != 0;
  const bool trans_b = b.attrs().Int("transB") != 0;
  const float alpha = b.attrs().Float("alpha");
  const float beta = b.attrs().Float("beta");
  const ValueId dy = b.out_grad(0);

  const auto product = [&](ValueId left, bool trans_left, ValueId right,
                           bool trans_right, ValueId of) {
    Attrs attrs = {
        {"a_dims", b.type(left).dims}, {"b_dims", b.type(right).dims},
        {"dims", b.type(of).dims},     {"trans_a", trans_left},
        {"trans_b", trans_right},      {"alpha", alpha}};
    return b.Add("MatMulT", {left, right}, std::move(attrs));
  };
  std::vector<ValueId> grads(b.num_inputs(), kNoValue);
  if (b.needs_grad(0)) {
    grads[0] = trans_a ? product(b.in(1), trans_b, dy, true, b.in(0))
                       : product(dy, false, b.in(1), !trans_b, b.in(0));
  }
  if (b.needs_grad(1)) {
    grads[1] = trans_b ? product(dy, true, b.in(0), trans_a, b.in(1))
                       : product(b.in(0), !trans_a, dy, false, b.in(1));
  }
  if (b.num_inputs() > 2 && b.needs_grad(2)) {
    const TensorType c = b.type(b.in(2));
    const ValueId sum = b.SumTo(dy, c);
    grads[2] = beta == 1
                   ? sum
                   : b.Add("WeightedSum", {sum}, {{"weights", Floats{beta}}});
  }
  return grads;
}

// What the kernel does beside the product.
struct GemmForm {
  BatchedProduct product;
  // beta * c is added by a loop of ours: it is no bias of oneDNN's.
  bool add_c = false;
  float beta = 1;
  int64_t c_row = 0;     // distance between elements of c along m, and n;
  int64_t c_column = 0;  // 0 where it is broadcast
};

GemmForm FormOf(const Signature& signature) {
  const Attrs& attrs = signature.attrs;
  GemmForm form;
  form.product = *MakeBatchedProduct(
      signature.in[0].dims, attrs.Int("transA") != 0, signature.in[1].dims,
      attrs.Int("transB") != 0, "Gemm");
  form.product.alpha = attrs.Float("alpha");
  form.beta = attrs.Float("beta");
  const bool has_c = signature.in.size() > 2 && signature.in[2].present();
  if (has_c && form.beta != 0) {
    const Dims& c = signature.in[2].dims;
    const int64_t n = form.product.n;
    const int64_t columns = c.empty() ? 1 : c.back();
    const int64_t rows = c.size() < 2 ? 1 : c[0];
    form.product.bias =
        rows == 1 && columns == n && form.beta == 1 && form.product.alpha == 1;
    form.add_c = !form.product.bias;
    form.c_row = rows == 1 ? 0 : columns;
    form.c_column = columns == 1 ? 0 : 1;
  }
  return form;
}

void AddC(const GemmForm& form, const float* c, float* y, int64_t begin,
          int64_t end) {
  const int64_t n = form.product.n;
  for (int64_t i = begin; i < end; ++i) {
    float* row = y + i * n;
    const float* from = c + i * form.c_row;
    for (int64_t j = 0; j < n; ++j)
      row[j] += form.beta * from[j * form.c_column];
  }
}

absl::StatusOr<Description> Describe(const Signature& offered,
                                     const OpEnv& env) {
  const GemmForm form = FormOf(offered);
  Description description = DescribeRowMajor(offered, "", 0);
  if (form.add_c) description.bytes_moved += 2 * offered.out[0].bytes();
  RETURN_IF_ERROR(
      DescribeBatchedProduct(form.product, env, "Gemm", description));
  if (form.add_c) description.implementation += "+c";
  if (HasActivation(offered)) DescribeThenRelu(offered.out[0], description);
  return description;
}

absl::StatusOr<Kernel> BuildLinear(const Signature& signature,
                                   const OpEnv& env) {
  const GemmForm form = FormOf(signature);
  ASSIGN_OR_RETURN(
      Kernel product,
      BuildBatchedProduct(form.product, ProductOperands(), env, "Gemm"));
  if (!form.add_c) return product;
  const int threads = env.threads;
  return Kernel{[form, product, threads](const Buffers& buffers) {
    product.run(buffers);
    const float* c = static_cast<const float*>(buffers.in[2]);
    float* y = static_cast<float*>(buffers.out[0]);
    ParallelFor(
        threads, form.product.m, GrainOf(form.product.n),
        [&](int64_t begin, int64_t end) { AddC(form, c, y, begin, end); });
  }};
}

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  ASSIGN_OR_RETURN(Kernel linear, BuildLinear(signature, env));
  if (!HasActivation(signature)) return linear;
  return ThenRelu(std::move(linear), signature.out[0].num_elements(), env);
}

}  // namespace

std::vector<OpDef> GemmOps() {
  OpDef gemm;
  gemm.name = "Gemm";
  gemm.min_inputs = 2;
  gemm.max_inputs = 3;
  gemm.attrs = {AttrSpec("alpha", 1.0f), AttrSpec("beta", 1.0f),
                AttrSpec("transA", int64_t{0}), AttrSpec("transB", int64_t{0})};
  gemm.matmul = MatmulKind::kGemm;
  gemm.fusable_activations = {"Relu"};
  gemm.infer = Infer;
  gemm.grad = Grad;
  gemm.describe = Describe;
  gemm.build = Build;
  return {gemm};
}

}  // namespace reprise
