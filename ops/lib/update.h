// What the optimizers' update operators share. All take
//
//   param, grad, lr, step, grad_scale?, slot...
//
// and overwrite the parameter (output 0) and the slots (outputs 1, ...): lr is
// an f32 scalar, step an i64 scalar that counts completed steps, grad_scale an
// f32 scalar that multiplies the gradient first (clipping).

#ifndef OPS_LIB_UPDATE_H_
#define OPS_LIB_UPDATE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/op.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"

namespace reprise {

inline constexpr int kFirstSlot = 5;
inline constexpr int kMaxSlots = 3;

// One run's operands. Old and new content of a tensor have one address.
struct UpdateOperands {
  const float* grad = nullptr;
  const float* param = nullptr;
  float* new_param = nullptr;
  std::array<const float*, kMaxSlots> slot = {};  // nullptr: absent
  std::array<float*, kMaxSlots> new_slot = {};
  double lr = 0;
  int64_t step = 0;
  float grad_scale = 1;
};

// Returns the operator but for its kernel.
//
//   num_slots:      slots it can have.
//   required_slots: slots that must be there, from the first on.
//   attrs:          beside weight_decay and lr_factor, which all have.
//   flops:          per element.
OpDef UpdateOp(std::string name, int num_slots, int required_slots,
               std::vector<AttrSpec> attrs, int64_t flops);

// Whether slot i is among the operands.
bool HasSlot(absl::Span<const TensorType> in, int slot);

// Returns the operands of one run.
UpdateOperands ReadOperands(const Buffers& buffers, int num_inputs);

// Returns the number whose shortest decimal form `value` has: 0.999 for
// 0.999f. PyTorch's hyperparameters are doubles, and 1 - 0.999f would be off by
// 1e-5 of itself.
double AsWritten(float value);

// Returns a kernel that calls, in each run, run = prepare(operands) once and
// loop(operands, run, begin, end) for chunks of the elements.
template <class Prepare, class Loop>
Kernel UpdateKernel(const Signature& signature, const OpEnv& env,
                    const Prepare& prepare, const Loop& loop) {
  const int num_inputs = static_cast<int>(signature.in.size());
  const int64_t n = signature.in[0].num_elements();
  const double lr_factor = AsWritten(signature.attrs.Float("lr_factor"));
  const int threads = env.threads;
  return Kernel{[=](const Buffers& buffers) {
    UpdateOperands operands = ReadOperands(buffers, num_inputs);
    operands.lr *= lr_factor;
    const auto run = prepare(operands);
    ParallelFor(
        threads, n, kElementsPerThread,
        [&](int64_t begin, int64_t end) { loop(operands, run, begin, end); });
  }};
}

}  // namespace reprise

#endif  // OPS_LIB_UPDATE_H_
