// Attention: y = softmax(scale q k^T, capped and masked) v, for each head.
//
// Operands are [batch, heads, length, size], or [batch, length, heads * size]
// with q_num_heads and kv_num_heads. Several heads of q may share one of k and
// v: head i of q goes with head i / (q_num_heads / kv_num_heads). attn_mask
// broadcasts to the scores [batch, heads, q length, k length]: floats are
// added, and where bools are false, or a key comes after its query and
// is_causal, a key has no weight. A query without any key by bools has a y of
// zeros.
//
// In the step graph it is that formula: MatMul, AttentionMask, Softmax, MatMul.
// Heads of q that share a key become rows of one product; nothing is repeated.
//
//   AttentionMask: y = x where a key may be seen, `fill` elsewhere;
//                  dx = dy there, 0 elsewhere
//
// Tested by tests/ops/attention_test.cc.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

struct Shape {
  int64_t batch = 0;
  int64_t heads = 0;     // of q
  int64_t kv_heads = 0;  // of k and v
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t size = 0;     // of a query and a key
  int64_t v_size = 0;   // of a value
  bool packed = false;  // rank 3

  Dims scores() const { return {batch, heads, queries, keys}; }
};

absl::StatusOr<Shape> ShapeOf(absl::Span<const TensorType> in,
                              const Attrs& attrs) {
  const TensorType& q = in[0];
  const TensorType& k = in[1];
  const TensorType& v = in[2];
  for (const TensorType& type : in.first(3)) {
    RETURN_IF_ERROR(RequireF32("Attention", "q, k and v", type));
    if (type.rank() != q.rank() || (q.rank() != 3 && q.rank() != 4)) {
      return Invalid("Attention: q, k and v must be of one rank, 3 or 4, got ",
                     ToString(q), ", ", ToString(k), " and ", ToString(v));
    }
  }
  Shape s;
  s.packed = q.rank() == 3;
  s.batch = q.dims[0];
  s.queries = s.packed ? q.dims[1] : q.dims[2];
  s.keys = s.packed ? k.dims[1] : k.dims[2];
  if (s.packed) {
    s.heads = attrs.Int("q_num_heads");
    s.kv_heads = attrs.Int("kv_num_heads");
    if (s.heads < 1 || s.kv_heads < 1 || q.dims[2] % s.heads != 0 ||
        k.dims[2] % s.kv_heads != 0 || v.dims[2] % s.kv_heads != 0) {
      return Invalid("Attention: of rank 3, q_num_heads and kv_num_heads must ",
                     "divide the last axes of ", ToString(q), ", ", ToString(k),
                     " and ", ToString(v), ", got ", s.heads, " and ",
                     s.kv_heads);
    }
    s.size = q.dims[2] / s.heads;
    s.v_size = v.dims[2] / s.kv_heads;
    if (k.dims[2] / s.kv_heads != s.size) s.size = -1;
  } else {
    s.heads = q.dims[1];
    s.kv_heads = k.dims[1];
    s.size = q.dims[3] == k.dims[3] ? q.dims[3] : -1;
    s.v_size = v.dims[3];
    if (v.dims[1] != s.kv_heads) s.size = -1;
    const int64_t q_attr = attrs.Int("q_num_heads");
    const int64_t kv_attr = attrs.Int("kv_num_heads");
    if ((q_attr != 0 && q_attr != s.heads) ||
        (kv_attr != 0 && kv_attr != s.kv_heads)) {
      return Invalid("Attention: q_num_heads and kv_num_heads must be ",
                     s.heads, " and ", s.kv_heads, ", got ", q_attr, " and ",
                     kv_attr);
    }
  }
  const int64_t v_keys = s.packed ? v.dims[1] : v.dims[2];
  if (s.size < 1 || k.dims[0] != s.batch || v.dims[0] != s.batch ||
      v_keys != s.keys || s.keys < 1) {
    return Invalid("Attention: q, k and v must agree in batch and key size, k ",
                   "and v in heads and length, got ", ToString(q), ", ",
                   ToString(k), " and ", ToString(v));
  }
  if (s.kv_heads < 1 || s.heads % s.kv_heads != 0) {
    return Invalid("Attention: the heads of k must divide those of q, got ",
                   s.kv_heads, " and ", s.heads);
  }
  if (in.size() > 3 && in[3].present()) {
    const TensorType& mask = in[3];
    const absl::StatusOr<Dims> dims =
        BroadcastDims(s.scores(), mask.dims, "Attention: attn_mask");
    if ((mask.dtype != DType::kF32 && mask.dtype != DType::kBool) ||
        !dims.ok() || *dims != s.scores()) {
      return Invalid("Attention: attn_mask must be f32 or bool and broadcast ",
                     "to ", DimsToString(s.scores()), ", got ", ToString(mask));
    }
  }
  return s;
}

InferredTypes Infer(const OpArgs& args) {
  ASSIGN_OR_RETURN(const Shape s, ShapeOf(args.in, args.attrs));
  const float cap = args.attrs.Float("softcap");
  if (!(cap >= 0)) return Invalid("Attention: softcap must be >= 0, got ", cap);
  if (args.attrs.Int("softmax_precision") != 1) {
    return Invalid("Attention: softmax_precision must be 1 (FLOAT32), got ",
                   args.attrs.Int("softmax_precision"));
  }
  const Dims y = s.packed ? Dims{s.batch, s.queries, s.heads * s.v_size}
                          : Dims{s.batch, s.heads, s.queries, s.v_size};
  return OneType("Attention", DType::kF32, y);
}

class Lowering {
 public:
  Lowering(ExpandBuilder& b, const Shape& shape) : b_(b), s_(shape) {}

  ValueId Run() {
    const Attrs& attrs = b_.attrs();
    const float scale = attrs.Has("scale")
                            ? attrs.Float("scale")
                            : 1.0f / std::sqrt(static_cast<float>(s_.size));
    const int64_t shared = s_.heads / s_.kv_heads;
    // The scale goes to the smaller factor.
    const ValueId q = Viewed(
        Scaled(Unpacked(b_.in(0), s_.queries, s_.heads, {0, 2, 1, 3}), scale),
        {s_.batch, s_.kv_heads, shared * s_.queries, s_.size});
    const ValueId k =
        s_.packed ? Unpacked(b_.in(1), s_.keys, s_.kv_heads, {0, 2, 3, 1})
                  : Transposed(b_.in(1), {0, 1, 3, 2});
    const ValueId v = Unpacked(b_.in(2), s_.keys, s_.kv_heads, {0, 2, 1, 3});
    ValueId x = Viewed(Add("MatMul", {q, k}), s_.scores());
    const float cap = attrs.Float("softcap");
    if (cap > 0) x = Scaled(Add("Tanh", {Scaled(x, 1.0f / cap)}), cap);
    const ValueId mask = b_.in(3);
    const bool selects =
        mask != kNoValue && b_.type(mask).dtype == DType::kBool;
    if (mask != kNoValue && !selects) x = Add("Add", {x, mask});
    const int64_t causal = attrs.Int("is_causal");
    const auto masked = [&](ValueId value, float fill) {
      std::vector<ValueId> in = {value};
      if (selects) in.push_back(mask);
      return b_.Add("AttentionMask", std::move(in),
                    {{"is_causal", causal}, {"fill", fill}}, 1)[0];
    };
    if (selects || causal != 0) {
      x = masked(x, -std::numeric_limits<float>::infinity());
    }
    x = b_.Add("Softmax", {x}, {{"axis", int64_t{3}}}, 1)[0];
    // Of a query that sees nothing, Softmax makes NaN.
    if (selects) x = masked(x, 0.0f);
    x = Viewed(x, {s_.batch, s_.kv_heads, shared * s_.queries, s_.keys});
    const ValueId y = Viewed(Add("MatMul", {x, v}),
                             {s_.batch, s_.heads, s_.queries, s_.v_size});
    if (!s_.packed) return y;
    return Viewed(Transposed(y, {0, 2, 1, 3}),
                  {s_.batch, s_.queries, s_.heads * s_.v_size});
  }

 private:
  ValueId Add(const char* op, std::vector<ValueId> in) {
    return b_.Add(op, std::move(in), {}, 1)[0];
  }

  ValueId Viewed(ValueId value, const Dims& dims) {
    if (b_.type(value).dims == dims) return value;
    return b_.Add("Reshape", {value},
                  {{"shape", dims}, {"allowzero", int64_t{1}}}, 1)[0];
  }

  ValueId Transposed(ValueId value, Ints perm) {
    return b_.Add("Transpose", {value}, {{"perm", std::move(perm)}}, 1)[0];
  }

  // [batch, length, heads * size] seen by heads and transposed; a value of
  // rank 4 as it is.
  ValueId Unpacked(ValueId value, int64_t length, int64_t heads, Ints perm) {
    if (!s_.packed) return value;
    const int64_t size = b_.type(value).dims[2] / heads;
    return Transposed(Viewed(value, {s_.batch, length, heads, size}),
                      std::move(perm));
  }

  ValueId Scaled(ValueId value, float factor) {
    if (factor == 1) return value;
    const ValueId scalar =
        b_.Add("Fill", {}, {{"dims", Dims{}}, {"value", factor}}, 1)[0];
    return Add("Mul", {value, scalar});
  }

  ExpandBuilder& b_;
  const Shape& s_;
};

absl::Status ExpandToProducts(ExpandBuilder& b) {
  std::vector<TensorType> types;
  for (int i = 0; i < 4; ++i) {
    types.push_back(b.in(i) == kNoValue ? TensorType{} : b.type(b.in(i)));
  }
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(types, b.attrs()));
  b.SetOut(0, Lowering(b, shape).Run());
  return absl::OkStatus();
}

// AttentionMask(x, mask?).

InferredTypes MaskInfer(const OpArgs& args) {
  RETURN_IF_ERROR(RequireF32("AttentionMask", "x", args.in[0]));
  return std::vector<TensorType>{args.in[0]};
}

std::vector<ValueId> MaskGrad(GradBuilder& b) {
  std::vector<ValueId> grads(b.num_inputs(), kNoValue);
  if (!b.needs_grad(0)) return grads;
  std::vector<ValueId> in = {b.out_grad(0)};
  if (b.num_inputs() > 1) in.push_back(b.in(1));
  Attrs attrs = b.attrs();
  attrs.Set("fill", 0.0f);
  grads[0] = b.Add("AttentionMask", std::move(in), std::move(attrs));
  return grads;
}

absl::StatusOr<Description> MaskDescribe(const Signature& offered,
                                         const OpEnv&) {
  Description d = DescribeRowMajor(offered, "loop:attentionmask", /*flops=*/0);
  AllowOverwrite({0}, d);
  return d;
}

absl::StatusOr<Kernel> MaskBuild(const Signature& s, const OpEnv& env) {
  const Dims& dims = s.in[0].dims;
  const bool has_mask = s.in.size() > 1 && s.in[1].present();
  // Strides of the mask along the axes of x; 0 where it broadcasts.
  Dims strides(4, 0);
  if (has_mask) {
    const Dims& mask = s.in[1].dims;
    const Dims own = StridesOf(mask, Layout());
    for (size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] != 1) strides[4 - mask.size() + i] = own[i];
    }
  }
  const bool causal = s.attrs.Int("is_causal") != 0;
  const float fill = s.attrs.Float("fill");
  const int threads = env.threads;
  return Kernel{[=](const Buffers& b) {
    const float* x = static_cast<const float*>(b.in[0]);
    const bool* mask = has_mask ? static_cast<const bool*>(b.in[1]) : nullptr;
    float* y = static_cast<float*>(b.out[0]);
    const int64_t keys = dims[3];
    ParallelFor(threads, dims[0] * dims[1] * dims[2], GrainOf(keys),
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    const int64_t query = row % dims[2];
                    const int64_t head = row / dims[2] % dims[1];
                    const int64_t image = row / dims[2] / dims[1];
                    const float* from = x + row * keys;
                    float* to = y + row * keys;
                    const int64_t seen =
                        causal ? std::min<int64_t>(query + 1, keys) : keys;
                    if (mask == nullptr) {
                      if (from != to) std::copy(from, from + seen, to);
                    } else {
                      const bool* may = mask + image * strides[0] +
                                        head * strides[1] + query * strides[2];
                      for (int64_t j = 0; j < seen; ++j) {
                        to[j] = may[j * strides[3]] ? from[j] : fill;
                      }
                    }
                    std::fill(to + seen, to + keys, fill);
                  }
                });
  }};
}

}  // namespace

std::vector<OpDef> AttentionOps() {
  OpDef op;
  op.name = "Attention";
  op.min_inputs = 3;
  op.max_inputs = 4;
  op.attrs = {AttrSpec("is_causal", int64_t{0}),
              AttrSpec("q_num_heads", int64_t{0}),
              AttrSpec("kv_num_heads", int64_t{0}),
              AttrSpec("scale", AttrKind::kFloat),
              AttrSpec("softcap", 0.0f),
              AttrSpec("softmax_precision", int64_t{1})};
  op.infer = Infer;
  op.expand = ExpandToProducts;

  OpDef mask;
  mask.name = "AttentionMask";
  mask.internal = true;
  mask.max_inputs = 2;
  mask.attrs = {AttrSpec("is_causal", int64_t{0}),
                AttrSpec("fill", AttrKind::kFloat, AttrSpec::kRequired)};
  mask.no_grad_inputs = {1};
  mask.infer = MaskInfer;
  mask.grad = MaskGrad;
  mask.describe = MaskDescribe;
  mask.build = MaskBuild;
  return {op, mask};
}

}  // namespace reprise
