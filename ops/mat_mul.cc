// MatMul: numpy's matrix product of tensors of any rank; MatMulT, a product of
// transposed and reshaped operands, of which the gradients are made.
//
//   y[.., m, n]  = sum_k a[.., m, k] b[.., k, n]
//   da[.., m, k] = sum_n dy[.., m, n] b[.., k, n]
//   db[.., k, n] = sum_m a[.., m, k] dy[.., m, n]
//
// A 1-D `a` is a row, a 1-D `b` a column, and that axis is not in y. Batch dims
// broadcast; gradients are summed along the axes where they did. Each gradient
// reads the other operand, and neither reads y.
// Tested by tests/ops/mat_mul_test.cc.

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/batched_product.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/relu.h"

namespace reprise {
namespace {

Dims LeftMatrices(const Dims& a) { return a.size() == 1 ? Dims{1, a[0]} : a; }

Dims RightMatrices(const Dims& b) { return b.size() == 1 ? Dims{b[0], 1} : b; }

// The dims of a stack of matrices.
Dims Stack(Dims batch, int64_t rows, int64_t cols) {
  batch.push_back(rows);
  batch.push_back(cols);
  return batch;
}

Dims BatchOf(const Dims& matrices) {
  return Dims(matrices.begin(), matrices.end() - 2);
}

InferredTypes Infer(const OpArgs& args) {
  const TensorType& a = args.in[0];
  const TensorType& b = args.in[1];
  if (a.dtype != DType::kF32 || b.dtype != DType::kF32 || a.rank() < 1 ||
      b.rank() < 1) {
    return Invalid("MatMul: operands must be f32 of rank >= 1, got ",
                   ToString(a), " x ", ToString(b));
  }
  const Dims left = LeftMatrices(a.dims);
  const Dims right = RightMatrices(b.dims);
  if (left.back() != right[right.size() - 2]) {
    return Invalid("MatMul: inner dims must agree, got ", ToString(a), " x ",
                   ToString(b));
  }
  ASSIGN_OR_RETURN(Dims dims, BroadcastDims(BatchOf(left), BatchOf(right),
                                            "MatMul: batch dims"));
  if (a.rank() > 1) dims.push_back(left[left.size() - 2]);
  if (b.rank() > 1) dims.push_back(right.back());
  return std::vector<TensorType>{{DType::kF32, std::move(dims)}};
}

std::vector<ValueId> Grad(GradBuilder& b) {
  const TensorType a_type = b.type(b.in(0));
  const TensorType b_type = b.type(b.in(1));
  const Dims left = LeftMatrices(a_type.dims);
  const Dims right = RightMatrices(b_type.dims);
  const int64_t m = left[left.size() - 2];
  const int64_t k = left.back();
  const int64_t n = right.back();
  const Dims batch = *BroadcastDims(BatchOf(left), BatchOf(right), "MatMul");
  const Dims dy_dims = Stack(batch, m, n);
  const ValueId dy = b.out_grad(0);

  std::vector<ValueId> grads = {kNoValue, kNoValue};
  if (b.needs_grad(0)) {
    const bool whole = BatchOf(left) == batch;
    Dims dims = whole ? a_type.dims : Stack(batch, m, k);
    // The axis of size 1 that a row vector does not have.
    if (!whole && a_type.rank() == 1) dims.erase(dims.end() - 2);
    const ValueId da = b.Add("MatMulT", {dy, b.in(1)},
                             {{"a_dims", dy_dims},
                              {"b_dims", right},
                              {"trans_b", true},
                              {"dims", dims}});
    grads[0] = b.SumTo(da, a_type);
  }
  if (b.needs_grad(1)) {
    const int64_t rows = Product(batch) * m;
    Attrs attrs = {{"trans_a", true}};
    if (Product(BatchOf(right)) == 1 &&
        Product(BatchOf(left)) == Product(batch)) {
      // One matrix for the whole batch: the batch is more rows to sum over.
      attrs.Set("a_dims", Dims{rows, k});
      attrs.Set("b_dims", Dims{rows, n});
      attrs.Set("dims", b_type.dims);
    } else {
      const bool whole = BatchOf(right) == batch;
      Dims dims = whole ? b_type.dims : Stack(batch, k, n);
      if (!whole && b_type.rank() == 1) dims.pop_back();
      attrs.Set("a_dims", left);
      attrs.Set("b_dims", dy_dims);
      attrs.Set("dims", dims);
    }
    grads[1] =
        b.SumTo(b.Add("MatMulT", {b.in(0), dy}, std::move(attrs)), b_type);
  }
  return grads;
}

absl::StatusOr<BatchedProduct> ForwardProduct(const Signature& signature) {
  return MakeBatchedProduct(LeftMatrices(signature.in[0].dims),
                            /*trans_a=*/false,
                            RightMatrices(signature.in[1].dims),
                            /*trans_b=*/false, "MatMul");
}

// MatMulT's.

absl::StatusOr<BatchedProduct> TransposedProduct(const Attrs& attrs) {
  ASSIGN_OR_RETURN(
      BatchedProduct product,
      MakeBatchedProduct(attrs.IntList("a_dims"), attrs.Bool("trans_a"),
                         attrs.IntList("b_dims"), attrs.Bool("trans_b"),
                         "MatMulT"));
  product.alpha = attrs.Float("alpha");
  return product;
}

InferredTypes TransposedInfer(const OpArgs& args) {
  const Dims& a = args.attrs.IntList("a_dims");
  const Dims& b = args.attrs.IntList("b_dims");
  const Dims& dims = args.attrs.IntList("dims");
  if (a.size() < 2 || b.size() < 2 || Product(a) != args.in[0].num_elements() ||
      Product(b) != args.in[1].num_elements()) {
    return Invalid("MatMulT: cannot read ", ToString(args.in[0]), " x ",
                   ToString(args.in[1]), " as ", DimsToString(a), " x ",
                   DimsToString(b));
  }
  ASSIGN_OR_RETURN(const BatchedProduct p, TransposedProduct(args.attrs));
  if (Product(dims) != p.batch() * p.m * p.n) {
    return Invalid("MatMulT: cannot write a product of ", p.batch() * p.m,
                   " x ", p.n, " as ", DimsToString(dims));
  }
  return std::vector<TensorType>{{DType::kF32, dims}};
}

// Both operators.

using ProductOf = absl::StatusOr<BatchedProduct> (*)(const Signature&);

absl::StatusOr<BatchedProduct> ProductOfMatMulT(const Signature& signature) {
  return TransposedProduct(signature.attrs);
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv& env,
                                     ProductOf product_of) {
  Description description = DescribeRowMajor(offered, "", 0);
  ASSIGN_OR_RETURN(const BatchedProduct product, product_of(offered));
  RETURN_IF_ERROR(
      DescribeBatchedProduct(product, env, offered.op->name, description));
  if (HasActivation(offered)) DescribeThenRelu(offered.out[0], description);
  return description;
}

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env,
                             ProductOf product_of) {
  ASSIGN_OR_RETURN(const BatchedProduct product, product_of(signature));
  ASSIGN_OR_RETURN(
      Kernel kernel,
      BuildBatchedProduct(product, ProductOperands(), env, signature.op->name));
  if (!HasActivation(signature)) return kernel;
  return ThenRelu(std::move(kernel), signature.out[0].num_elements(), env);
}

void SetKernel(OpDef& op, ProductOf product_of) {
  op.describe = [product_of](const Signature& offered, const OpEnv& env) {
    return Describe(offered, env, product_of);
  };
  op.build = [product_of](const Signature& signature, const OpEnv& env) {
    return Build(signature, env, product_of);
  };
}

}  // namespace

std::vector<OpDef> MatMulOps() {
  OpDef forward;
  forward.name = "MatMul";
  forward.min_inputs = 2;
  forward.max_inputs = 2;
  forward.matmul = MatmulKind::kDot;
  forward.fusable_activations = {"Relu"};
  forward.infer = Infer;
  forward.grad = Grad;
  SetKernel(forward, ForwardProduct);

  // op(a read with a_dims) x op(b read with b_dims), times alpha, written with
  // `dims`: reshapes are free.
  OpDef transposed;
  transposed.name = "MatMulT";
  transposed.internal = true;
  transposed.min_inputs = 2;
  transposed.max_inputs = 2;
  transposed.attrs = {
      AttrSpec("a_dims", AttrKind::kInts, AttrSpec::kRequired),
      AttrSpec("b_dims", AttrKind::kInts, AttrSpec::kRequired),
      AttrSpec("dims", AttrKind::kInts, AttrSpec::kRequired),
      AttrSpec("trans_a", false),
      AttrSpec("trans_b", false),
      AttrSpec("alpha", 1.0f),
  };
  transposed.infer = TransposedInfer;
  SetKernel(transposed, ProductOfMatMulT);

  return {forward, transposed};
}

}  // namespace reprise
