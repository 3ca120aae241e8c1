#include "ops/lib/batched_product.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "core/tensor_type.h"
#include "ops/lib/onednn.h"

namespace reprise {
namespace {

// Descriptors of the operands, all of one rank.
struct Operands {
  onednn::Md a;
  onednn::Md b;
  onednn::Md bias;
  onednn::Md y;
};

// A dense [batch.., rows, cols] tensor, stored as [batch.., cols, rows] if
// `transposed`.
onednn::Md MatricesDesc(const Dims& batch, int64_t rows, int64_t cols,
                        bool transposed) {
  Dims dims = batch;
  dims.push_back(rows);
  dims.push_back(cols);
  const size_t rank = dims.size();
  Dims strides(rank);
  strides[rank - 2] = transposed ? 1 : cols;
  strides[rank - 1] = transposed ? rows : 1;
  int64_t stride = rows * cols;
  for (size_t i = rank - 2; i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return onednn::StridedDesc(DType::kF32, dims, strides);
}

Operands OperandDescs(const BatchedProduct& p) {
  Dims y_batch(p.a_batch.size());
  for (size_t i = 0; i < y_batch.size(); ++i) {
    y_batch[i] = std::max(p.a_batch[i], p.b_batch[i]);
  }
  Operands operands;
  operands.a = MatricesDesc(p.a_batch, p.m, p.k, p.trans_a);
  operands.b = MatricesDesc(p.b_batch, p.k, p.n, p.trans_b);
  operands.y = MatricesDesc(y_batch, p.m, p.n, /*transposed=*/false);
  operands.bias =
      MatricesDesc(Dims(y_batch.size(), 1), 1, p.n, /*transposed=*/false);
  return operands;
}

dnnl::matmul::primitive_desc ProductDesc(const onednn::Session& session,
                                         const BatchedProduct& p) {
  dnnl::primitive_attr attr = onednn::UserScratchpad();
  dnnl::post_ops post_ops;
  // Not oneDNN's scaling attribute: its meaning differs between the versions,
  // and the order here is the one of the formula only without a bias.
  if (p.alpha != 1) {
    REPRISE_CHECK(!p.bias);
    onednn::AppendEltwise(post_ops, dnnl::algorithm::eltwise_linear, p.alpha,
                          0);
  }
  attr.set_post_ops(post_ops);
  const Operands md = OperandDescs(p);
  auto pd = p.bias ? onednn::ForwardDesc<dnnl::matmul>(session, attr, md.a,
                                                       md.b, md.bias, md.y)
                   : onednn::ForwardDesc<dnnl::matmul>(session, attr, md.a,
                                                       md.b, md.y);
  return pd;
}

bool IsEmpty(const BatchedProduct& p) {
  return p.batch() == 0 || p.m == 0 || p.n == 0;
}

// One axis of the batch, as each operand sees it.
struct BatchAxis {
  int64_t a = 1;
  int64_t b = 1;
};

// Whether two neighbouring axes can be one: neither operand, or the same one,
// repeats its matrices along both.
bool CanMerge(const BatchAxis& outer, const BatchAxis& inner) {
  return (outer.a == 1) == (inner.a == 1) && (outer.b == 1) == (inner.b == 1);
}

}  // namespace

int64_t BatchedProduct::batch() const {
  int64_t count = 1;
  for (size_t i = 0; i < a_batch.size(); ++i) {
    count *= a_batch[i] == 1 ? b_batch[i] : a_batch[i];
  }
  return count;
}

absl::StatusOr<BatchedProduct> MakeBatchedProduct(const Dims& a, bool trans_a,
                                                  const Dims& b, bool trans_b,
                                                  absl::string_view who) {
  BatchedProduct p;
  p.trans_a = trans_a;
  p.trans_b = trans_b;
  p.m = a[a.size() - (trans_a ? 1 : 2)];
  p.k = a[a.size() - (trans_a ? 2 : 1)];
  p.n = b[b.size() - (trans_b ? 2 : 1)];
  const int64_t b_rows = b[b.size() - (trans_b ? 1 : 2)];
  if (b_rows != p.k) {
    return absl::InvalidArgumentError(absl::StrCat(
        who, ": inner dims must agree, got ", DimsToString(a),
        trans_a ? "^T" : "", " x ", DimsToString(b), trans_b ? "^T" : ""));
  }
  const Dims a_batch(a.begin(), a.end() - 2);
  const Dims b_batch(b.begin(), b.end() - 2);
  ASSIGN_OR_RETURN(const Dims batch, BroadcastDims(a_batch, b_batch, who));

  std::vector<BatchAxis> axes;
  for (size_t i = 0; i < batch.size(); ++i) {
    const size_t lead_a = batch.size() - a_batch.size();
    const size_t lead_b = batch.size() - b_batch.size();
    const BatchAxis axis = {i < lead_a ? 1 : a_batch[i - lead_a],
                            i < lead_b ? 1 : b_batch[i - lead_b]};
    if (axis.a == 1 && axis.b == 1) continue;
    if (!axes.empty() && CanMerge(axes.back(), axis)) {
      axes.back().a *= axis.a;
      axes.back().b *= axis.b;
    } else {
      axes.push_back(axis);
    }
  }
  // A right operand without this axis: its rows follow each other in `a`.
  if (!axes.empty() && axes.back().b == 1 && !trans_a) {
    p.m *= axes.back().a;
    axes.pop_back();
  }
  for (const BatchAxis& axis : axes) {
    p.a_batch.push_back(axis.a);
    p.b_batch.push_back(axis.b);
  }
  return p;
}

absl::Status DescribeBatchedProduct(const BatchedProduct& product,
                                    const OpEnv& env, absl::string_view who,
                                    Description& description) {
  description.rate = Rate::kMatmul;
  description.flops = product.flops();
  if (IsEmpty(product) || product.k == 0) {
    description.implementation = "hwy:fill";
    return absl::OkStatus();
  }
  const onednn::Session session(env);
  ASSIGN_OR_RETURN(const dnnl::matmul::primitive_desc pd, onednn::Try(who, [&] {
                     return ProductDesc(session, product);
                   }));
  description.implementation = pd.impl_info_str();
  description.scratchpad_bytes = onednn::BytesOf(pd.scratchpad_desc());
  const int64_t operand_bytes =
      4 * (product.batch() * product.m * product.n +
           Product(product.a_batch) * product.m * product.k +
           Product(product.b_batch) * product.k * product.n);
  description.library_heap_bytes =
      onednn::HiddenHeapBytes(description.implementation, operand_bytes);
  return absl::OkStatus();
}

absl::StatusOr<Kernel> BuildBatchedProduct(const BatchedProduct& product,
                                           const ProductOperands& operands,
                                           const OpEnv& env,
                                           absl::string_view who) {
  if (IsEmpty(product)) return Kernel{[](const Buffers&) {}};
  if (product.k == 0) {
    // oneDNN leaves the output unwritten, or divides by zero.
    const BatchedProduct p = product;
    const int bias = operands.bias;
    return Kernel{[p, bias](const Buffers& buffers) {
      float* y = static_cast<float*>(buffers.out[0]);
      const float* row =
          p.bias ? static_cast<const float*>(buffers.in[bias]) : nullptr;
      for (int64_t i = 0; i < p.batch() * p.m; ++i) {
        for (int64_t j = 0; j < p.n; ++j) {
          y[i * p.n + j] = row == nullptr ? 0.0f : row[j];
        }
      }
    }};
  }
  const onednn::Session session(env);
  return onednn::Try(who, [&] {
    const dnnl::matmul::primitive_desc pd = ProductDesc(session, product);
    onednn::Execution matmul(session, dnnl::matmul(pd));
    matmul.In(DNNL_ARG_SRC, operands.a, pd.src_desc());
    matmul.In(DNNL_ARG_WEIGHTS, operands.b, pd.weights_desc());
    if (product.bias) {
      matmul.In(DNNL_ARG_BIAS, operands.bias, OperandDescs(product).bias);
    }
    matmul.Out(DNNL_ARG_DST, 0, pd.dst_desc());
    matmul.Scratchpad(pd.scratchpad_desc());
    return Kernel{[matmul](const Buffers& buffers) { matmul.Run(buffers); }};
  });
}

}  // namespace reprise
