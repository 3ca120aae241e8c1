// Mod, the remainder of a / b with broadcasting: with the sign of b, or, where
// fmod is 1, of a. FLOAT32 has fmod 1, as in ONNX. Integers by 0: 0.
//
//   da = dy, db = -trunc(a / b) dy, each summed over the axes that were
//   broadcast
//
// The gradient reads a and b. Tested by tests/ops/variadic_test.cc.

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/grad.h"
#include "ops/lib/infer.h"

namespace reprise {
namespace {

template <class T>
T Remainder(T a, T b, bool sign_of_a) {
  // -1 divides everything; the quotient of the lowest number does not exist.
  if (b == 0 || b == -1) return 0;
  const T rest = static_cast<T>(a % b);
  return !sign_of_a && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <class T>
RowLoop IntegerLoop(bool sign_of_a) {
  return ScalarRowLoop<T>(
      [sign_of_a](T a, T b) { return Remainder(a, b, sign_of_a); });
}

RowLoop FloatLoop() {
  return ScalarRowLoop<float>([](float a, float b) { return std::fmod(a, b); });
}

RowLoop GradLoop(DType dtype) {
  if (dtype != DType::kF32) return nullptr;
  return ScalarRowLoop<float>(
      [](float a, float b) { return -std::trunc(a / b); });
}

RowKind KindOf(unsigned scalars) {
  return (scalars & 1u) != 0   ? RowKind::kScalarA
         : (scalars & 2u) != 0 ? RowKind::kScalarB
                               : RowKind::kBoth;
}

absl::StatusOr<DType> Result(const OpArgs& args) {
  const TensorType& a = args.in[0];
  const TensorType& b = args.in[1];
  const bool integers = a.dtype == DType::kI32 || a.dtype == DType::kI64;
  if (a.dtype != b.dtype || (!integers && a.dtype != DType::kF32)) {
    return Invalid("Mod: operands must be of one type that it takes, got ",
                   ToString(a), " and ", ToString(b));
  }
  if (!integers && args.attrs.Int("fmod") != 1) {
    return Invalid("Mod: fmod must be 1 for f32, got ", args.attrs.Int("fmod"));
  }
  return a.dtype;
}

BroadcastRow Row(const Signature& s) {
  const bool sign_of_a = s.attrs.Int("fmod") != 0;
  const RowLoop loop =
      s.in[0].dtype == DType::kI32   ? IntegerLoop<int32_t>(sign_of_a)
      : s.in[0].dtype == DType::kI64 ? IntegerLoop<int64_t>(sign_of_a)
                                     : FloatLoop();
  return [loop](unsigned scalars, const void* const* in, void* y, int64_t n) {
    loop(KindOf(scalars), in[0], in[1], y, n);
  };
}

std::vector<ValueId> Grad(GradBuilder& b) {
  std::vector<ValueId> grads(2, kNoValue);
  const ValueId dy = b.out_grad(0);
  if (b.needs_grad(0)) grads[0] = SumToInput(b, dy, 0);
  if (b.needs_grad(1)) {
    const ValueId quotient = b.Add("ModGrad", {b.in(0), b.in(1)});
    grads[1] = SumToInput(b, b.Add("Mul", {dy, quotient}), 1);
  }
  return grads;
}

}  // namespace

std::vector<OpDef> ModOps() {
  BroadcastSpec spec;
  spec.name = "Mod";
  spec.attrs = {AttrSpec("fmod", int64_t{0})};
  spec.flops_per_element = 20;
  spec.result = Result;
  spec.row = Row;
  OpDef op = BroadcastOp(std::move(spec));
  op.grad = Grad;

  BinarySpec quotient;
  quotient.name = "ModGrad";
  quotient.loop = GradLoop;
  OpDef grad = BinaryOp(std::move(quotient));
  grad.internal = true;
  return {op, grad};
}

}  // namespace reprise
