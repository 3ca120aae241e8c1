// Dropout: in a training step each element is dropped with probability `ratio`
// and the others are divided by 1 - ratio; elsewhere the identity.
// training_mode is 1 unless said otherwise (ONNX's operand of that name
// defaults to false): the mode of the step decides.
//
//   y[i] = keep(i) ? x[i] / (1 - ratio) : 0,   dx = the same of dy
//
// No mask is stored. keep(i) is a function of the seed, the node's name, the
// step, the micro-step and the logical (row-major) index i alone, so the
// gradient and every replay draw the same elements again, at any thread count
// and in any layout. A key of 64 bits stands for all but i; i is mixed with
// each half of it by a permutation of the 32-bit words.
//
// Source of the permutation: Wellons (2018), "Prospecting for hash functions".
// Tested by tests/ops/dropout_test.cc.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/random.h"
#include "core/status_macros.h"
#include "ops/lib/channels_last.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"
#include "ops/lib/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dropout.cc"
#include "hwy/foreach_target.h"  // after simd.h
#include "ops/lib/update-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise {
namespace HWY_NAMESPACE {

template <class DU, class VU>
HWY_INLINE VU Mix32(DU du, VU x) {
  x = hn::Xor(x, hn::ShiftRight<16>(x));
  x = hn::Mul(x, hn::Set(du, 0x7FEB352Du));
  x = hn::Xor(x, hn::ShiftRight<15>(x));
  x = hn::Mul(x, hn::Set(du, 0x846CA68Bu));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

// Elements [begin, end) of a run in memory, the first of which has the logical
// index `index`, the others `stride` more each. `y` may be `x`.
void DropoutLoop(const float* x, float* y, uint64_t key, float ratio,
                 int64_t index, int64_t stride, int64_t begin, int64_t end) {
  const DF d;
  const hn::RebindToUnsigned<DF> du;
  const DI di;
  const VF scale = hn::Set(d, 1.0f / (1.0f - ratio));
  const VF threshold = hn::Set(d, ratio);
  const auto key0 = hn::Set(du, static_cast<uint32_t>(key));
  const auto steps =
      hn::Mul(hn::Iota(du, 0), hn::Set(du, static_cast<uint32_t>(stride)));
  const int64_t last_lane = static_cast<int64_t>(hn::Lanes(d)) - 1;
  ForEachVector(begin, end, [&](auto at) HWY_ATTR {
    const int64_t first = index + (at.i - begin) * stride;
    // The upper halves of the indices, which hardly ever differ in a vector.
    auto low = hn::Add(hn::Set(du, static_cast<uint32_t>(first)), steps);
    auto high = hn::Set(du, static_cast<uint32_t>(first >> 32));
    if (((first + last_lane * stride) >> 32) != (first >> 32)) {
      HWY_ALIGN uint32_t each[kLanes];
      for (int64_t j = 0; j <= last_lane; ++j) {
        each[j] = static_cast<uint32_t>((first + j * stride) >> 32);
      }
      high = hn::Load(du, each);
    }
    auto bits = Mix32(du, hn::Add(low, key0));
    const auto key1 = hn::Add(
        hn::Set(du, static_cast<uint32_t>(key >> 32)),
        hn::Mul(high, hn::Set(du, static_cast<uint32_t>(kGoldenGamma >> 32))));
    bits = Mix32(du, hn::Xor(bits, key1));
    // The upper 24 bits as a number in [0, 1).
    const VF unit =
        hn::Mul(hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<8>(bits))),
                hn::Set(d, 0x1p-24f));
    at.Store(
        hn::IfThenElseZero(hn::Ge(unit, threshold), hn::Mul(at.Load(x), scale)),
        y);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {

HWY_EXPORT(DropoutLoop);

namespace {

InferredTypes Infer(const OpArgs& args) {
  RETURN_IF_ERROR(RequireF32("Dropout", "x", args.in[0]));
  const float ratio = args.attrs.Float("ratio");
  if (!(ratio >= 0 && ratio < 1)) {
    return Invalid("Dropout: ratio must be in [0, 1), got ", ratio);
  }
  return std::vector<TensorType>{args.in[0]};
}

absl::Status ExpandMode(ExpandBuilder& b) {
  const float ratio = b.attrs().Float("ratio");
  if (!b.training() || b.attrs().Int("training_mode") == 0 || ratio == 0) {
    b.SetOut(0, b.Add("Identity", {b.in(0)}, {}, 1)[0]);
    return absl::OkStatus();
  }
  const StepScalars& scalars = b.scalars();
  b.SetOut(0, b.Add("DropoutMasked",
                    {b.in(0), scalars.seed, scalars.step, scalars.micro_step},
                    {{"ratio", ratio}, {"key", b.NameHash()}}, 1)[0]);
  return absl::OkStatus();
}

// DropoutMasked(x, seed, step, micro_step).

InferredTypes MaskedInfer(const OpArgs& args) {
  for (const TensorType& scalar : args.in.subspan(1)) {
    if (scalar != TensorType{DType::kI64, {}}) {
      return Invalid("DropoutMasked: seed and steps must be i64[], got ",
                     ToString(scalar));
    }
  }
  return Infer(args);
}

std::vector<ValueId> Grad(GradBuilder& b) {
  return {b.needs_grad(0)
              ? b.Add("DropoutMasked",
                      {b.out_grad(0), b.in(1), b.in(2), b.in(3)}, b.attrs())
              : kNoValue,
          kNoValue, kNoValue, kNoValue};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description d = DescribeRowMajor(offered, "hwy:dropout",
                                   16 * offered.in[0].num_elements());
  const Dims& dims = offered.in[0].dims;
  if (IsChannelsLast(dims, offered.in_layouts[0])) {
    d.in_layouts[0] = offered.in_layouts[0];
    d.out_layouts[0] = offered.in_layouts[0];
  }
  AllowOverwrite({0}, d);
  return d;
}

uint64_t KeyOf(const Buffers& buffers, int64_t name_key) {
  const auto scalar = [&](int i) {
    return static_cast<uint64_t>(*static_cast<const int64_t*>(buffers.in[i]));
  };
  const uint64_t key = RandomKey(scalar(1), static_cast<uint64_t>(name_key));
  return RandomBits(RandomBits(key, scalar(2)), scalar(3));
}

absl::StatusOr<Kernel> Build(const Signature& signature, const OpEnv& env) {
  const float ratio = signature.attrs.Float("ratio");
  const int64_t name_key = signature.attrs.Int("key");
  const Dims& dims = signature.in[0].dims;
  const int64_t n = signature.in[0].num_elements();
  const int threads = env.threads;
  if (signature.in_layouts[0].row_major()) {
    return Kernel{[=](const Buffers& buffers) {
      const uint64_t key = KeyOf(buffers, name_key);
      const float* x = static_cast<const float*>(buffers.in[0]);
      float* y = static_cast<float*>(buffers.out[0]);
      ParallelFor(threads, n, kElementsPerThread,
                  [&](int64_t begin, int64_t end) {
                    HWY_DYNAMIC_DISPATCH(DropoutLoop)
                    (x, y, key, ratio, begin, /*stride=*/1, begin, end);
                  });
    }};
  }
  // [images, pixels, channels] in memory.
  const int64_t channels = dims[1];
  const int64_t pixels = Product(absl::MakeConstSpan(dims).subspan(2));
  return Kernel{[=](const Buffers& buffers) {
    const uint64_t key = KeyOf(buffers, name_key);
    const float* x = static_cast<const float*>(buffers.in[0]);
    float* y = static_cast<float*>(buffers.out[0]);
    ParallelFor(threads, dims[0] * pixels, GrainOf(channels),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t index =
                        i / pixels * channels * pixels + i % pixels;
                    HWY_DYNAMIC_DISPATCH(DropoutLoop)
                    (x, y, key, ratio, index, /*stride=*/pixels, i * channels,
                     (i + 1) * channels);
                  }
                });
  }};
}

}  // namespace

std::vector<OpDef> DropoutOps() {
  OpDef any;
  any.name = "Dropout";
  any.attrs = {AttrSpec("ratio", 0.5f), AttrSpec("training_mode", int64_t{1})};
  any.infer = Infer;
  any.expand = ExpandMode;

  OpDef masked;
  masked.name = "DropoutMasked";
  masked.internal = true;
  masked.min_inputs = 4;
  masked.max_inputs = 4;
  masked.attrs = {AttrSpec("ratio", 0.5f),
                  AttrSpec("key", AttrKind::kInt, AttrSpec::kRequired)};
  masked.no_grad_inputs = {1, 2, 3};
  masked.infer = MaskedInfer;
  masked.grad = Grad;
  masked.describe = Describe;
  masked.build = Build;

  return {any, masked};
}

}  // namespace reprise
#endif  // HWY_ONCE
