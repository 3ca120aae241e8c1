#include "ops/lib/views.h"

#include <cstring>
#include <utility>

#include "core/autodiff.h"
#include "ops/lib/describe.h"

namespace reprise {
namespace {

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  const TensorType& x = b.type(b.in(0));
  const ValueId dy = b.out_grad(0);
  if (b.type(dy) == x) return {dy};
  Attrs attrs{{"shape", Ints(x.dims)}};
  // In a shape, 0 would mean "as in the operand".
  attrs.Set("allowzero", int64_t{1});
  return {b.Add("Reshape", {dy}, std::move(attrs))};
}

// For callers that run a view as a node, e.g. where an output must not share
// its operand's bytes.
absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description d = DescribeRowMajor(offered, "copy", /*flops=*/0);
  AllowOverwrite({0}, d);
  return d;
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv&) {
  const size_t bytes = static_cast<size_t>(s.out[0].bytes());
  return Kernel{[bytes](const Buffers& b) {
    if (bytes > 0 && b.in[0] != b.out[0]) {
      std::memcpy(b.out[0], b.in[0], bytes);
    }
  }};
}

}  // namespace

OpDef ViewOp(std::string name) {
  OpDef op;
  op.name = std::move(name);
  op.is_view = true;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;
  return op;
}

}  // namespace reprise
