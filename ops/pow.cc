// Pow, y = a^b with broadcasting.
//
//   da = dy b a^(b-1), db = dy a^b ln a, each summed over broadcast axes
//
// Where b is 0, da is 0; where a is 0 and b is not negative, db is 0, as
// PyTorch has it. The gradient reads a and b. Tested by tests/ops/pow_test.cc.

#include <cmath>
#include <utility>
#include <vector>

#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/broadcast.h"
#include "ops/lib/grad.h"

namespace reprise {
namespace {

// std::pow is right to the last bits over its whole domain; powers that need no
// more than a product or a root, as constant exponents mostly are, skip it.
float Power(float a, float b) {
  if (b == 2.0f) return a * a;
  if (b == 1.0f) return a;
  if (b == 3.0f) return a * a * a;
  if (b == -1.0f) return 1.0f / a;
  return std::pow(a, b);
}

float DerivativeOfA(float a, float b) {
  return b == 0 ? 0.0f : b * Power(a, b - 1);
}

float DerivativeOfB(float a, float b) {
  return a == 0 && b >= 0 ? 0.0f : std::pow(a, b) * std::log(a);
}

template <float (*f)(float, float)>
RowLoop Loop(DType dtype) {
  if (dtype != DType::kF32) return nullptr;
  return ScalarRowLoop<float>([](float a, float b) { return f(a, b); });
}

template <float (*f)(float, float)>
OpDef PowLikeOp(std::string name) {
  BinarySpec spec;
  spec.name = std::move(name);
  spec.flops_per_element = 40;
  spec.loop = Loop<f>;
  return BinaryOp(std::move(spec));
}

std::vector<ValueId> Grad(GradBuilder& b) {
  const char* const ops[] = {"PowGradA", "PowGradB"};
  std::vector<ValueId> grads(2, kNoValue);
  for (int i = 0; i < 2; ++i) {
    if (!b.needs_grad(i)) continue;
    const ValueId derivative = b.Add(ops[i], {b.in(0), b.in(1)});
    grads[i] = SumToInput(b, b.Add("Mul", {b.out_grad(0), derivative}), i);
  }
  return grads;
}

}  // namespace

std::vector<OpDef> PowOps() {
  OpDef op = PowLikeOp<Power>("Pow");
  op.grad = Grad;
  OpDef of_a = PowLikeOp<DerivativeOfA>("PowGradA");
  of_a.internal = true;
  OpDef of_b = PowLikeOp<DerivativeOfB>("PowGradB");
  of_b.internal = true;
  return {op, of_a, of_b};
}

}  // namespace reprise
