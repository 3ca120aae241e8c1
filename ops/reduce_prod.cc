// ReduceProd over `axes`; 1 of nothing.
//
//   dx = dy times the product of the other elements
//
// which is dy p / x where no element is 0, with p the product; where one is, 0
// but for that one; 0 everywhere where two are. The gradient reads x and takes
// the product again, in double. Tested by tests/ops/reduce_test.cc.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"
#include "ops/lib/reduce.h"
#include "ops/lib/reduce_walk.h"

namespace reprise {
namespace {

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("ReduceProdGrad", {b.out_grad(0), b.in(0)}, b.attrs())};
}

// ReduceProdGrad(dy, x): dx.

InferredTypes GradInfer(const OpArgs& args) {
  return std::vector<TensorType>{args.in[1]};
}

absl::StatusOr<Description> GradDescribe(const Signature& offered,
                                         const OpEnv&) {
  Description d = DescribeRowMajor(offered, "loop:product_grad",
                                   4 * offered.in[1].num_elements());
  // All elements of a product are read before the first is written.
  AllowOverwrite({1}, d);
  return d;
}

// The elements of one product: runs of `inner`.
struct Group {
  const ReduceWalk* walk;
  int64_t offset;
  int64_t inner;
};

template <class F>
void ForEachElement(const Group& group, const F& f) {
  for (int64_t r = 0; r < group.walk->num_reduced; ++r) {
    const int64_t at = group.offset + OffsetOf(group.walk->reduced, r);
    for (int64_t i = 0; i < group.inner; ++i) f(at + i);
  }
}

void GroupGrad(const Group& group, float dy, const float* x, float* dx) {
  double product = 1;  // of the elements that are not 0
  int64_t zeros = 0;
  ForEachElement(group, [&](int64_t i) {
    if (x[i] == 0) {
      ++zeros;
    } else {
      product *= x[i];
    }
  });
  ForEachElement(group, [&](int64_t i) {
    double others = 0;
    if (zeros == 0) others = product / x[i];
    if (zeros == 1 && x[i] == 0) others = product;
    dx[i] = static_cast<float>(dy * others);
  });
}

absl::StatusOr<Kernel> GradBuild(const Signature& s, const OpEnv& env) {
  const ReduceWalk walk = MakeReduceWalk(s.in[1], Layout(), s.attrs);
  const int64_t n = s.in[1].num_elements();
  const int64_t width = walk.inner_reduced ? 1 : walk.inner;
  const int64_t groups = walk.num_kept * width;
  const int64_t size = n == 0 ? 1 : n / groups;
  const int threads = env.threads;
  return Kernel{[=](const Buffers& b) {
    if (n == 0) return;
    const float* dy = static_cast<const float*>(b.in[0]);
    const float* x = static_cast<const float*>(b.in[1]);
    float* dx = static_cast<float*>(b.out[0]);
    ParallelFor(
        threads, groups, GrainOf(4 * size), [&](int64_t begin, int64_t end) {
          for (int64_t k = begin; k < end; ++k) {
            const Group group = {&walk,
                                 OffsetOf(walk.kept, k / width) + k % width,
                                 walk.inner_reduced ? walk.inner : 1};
            GroupGrad(group, dy[k], x, dx);
          }
        });
  }};
}

}  // namespace

std::vector<OpDef> ReduceProdOps() {
  OpDef op = ReduceOp("ReduceProd", Reducing::kProd);
  op.grad = Grad;

  OpDef grad;
  grad.name = "ReduceProdGrad";
  grad.internal = true;
  grad.min_inputs = grad.max_inputs = 2;
  grad.attrs = op.attrs;
  grad.infer = GradInfer;
  grad.describe = GradDescribe;
  grad.build = GradBuild;
  return {op, grad};
}

}  // namespace reprise
