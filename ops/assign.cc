// Assign: a state takes over a value that the step has computed.
//
//   state' = value
//
// Tested by tests/flow/train_step_test.cc.

#include <cstring>
#include <vector>

#include "absl/status/statusor.h"
#include "core/op.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  if (args.in[0] != args.in[1]) {
    return Invalid("Assign: state and value must have one type, got ",
                   ToString(args.in[0]), " and ", ToString(args.in[1]));
  }
  return std::vector<TensorType>{args.in[0]};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  return DescribeRowMajor(offered, "loop:copy", /*flops=*/0);
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  const int64_t bytes = s.in[0].bytes();
  const int threads = env.threads;
  return Kernel{[bytes, threads](const Buffers& b) {
    char* const to = static_cast<char*>(b.out[0]);
    const char* const from = static_cast<const char*>(b.in[1]);
    ParallelFor(threads, bytes, 4 * kElementsPerThread,
                [to, from](int64_t begin, int64_t end) {
                  std::memcpy(to + begin, from + begin, end - begin);
                });
  }};
}

}  // namespace

std::vector<OpDef> AssignOps() {
  OpDef op;
  op.name = "Assign";
  op.internal = true;
  op.min_inputs = op.max_inputs = 2;
  op.effect = Effect::kUpdate;
  op.must_overwrite = {{0, 0}};
  op.infer = Infer;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
