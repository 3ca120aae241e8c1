// Trilu: the upper (or lower) triangle of each matrix of x, diagonal `k`
// included, zeros elsewhere.
//
//   y[.., i, j] = x[.., i, j] where j - i >= k (upper), j - i <= k (lower)
//   dx          = the same of dy
//
// The gradient reads no forward value. Tested by tests/ops/shape_test.cc.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/autodiff.h"
#include "core/op.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/parallel.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  if (args.in[0].rank() < 2) {
    return Invalid("Trilu: x must be of rank 2 or more, got ",
                   ToString(args.in[0]));
  }
  return std::vector<TensorType>{args.in[0]};
}

std::vector<ValueId> Grad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  return {b.Add("Trilu", {b.out_grad(0)}, b.attrs())};
}

absl::StatusOr<Description> Describe(const Signature& offered, const OpEnv&) {
  Description d = DescribeRowMajor(offered, "loop:trilu", /*flops=*/0);
  AllowOverwrite({0}, d);
  return d;
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  const Dims& dims = s.in[0].dims;
  const int64_t columns = dims[dims.size() - 1];
  const int64_t rows = dims[dims.size() - 2];
  const int64_t all_rows =
      Product(absl::MakeConstSpan(dims).first(dims.size() - 1));
  const int64_t size = SizeOf(s.in[0].dtype);
  const bool upper = s.attrs.Int("upper") != 0;
  // Beyond the last row or column every diagonal is like the next one.
  const int64_t k =
      std::clamp<int64_t>(s.attrs.Int("k"), -rows - 1, columns + 1);
  const int threads = env.threads;
  if (s.in[0].num_elements() == 0) return Kernel{[](const Buffers&) {}};
  return Kernel{[=](const Buffers& b) {
    const char* x = static_cast<const char*>(b.in[0]);
    char* y = static_cast<char*>(b.out[0]);
    ParallelFor(
        threads, all_rows, GrainOf(columns), [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const int64_t i = row % rows;
            // Kept: [edge, columns) or [0, edge).
            const int64_t edge =
                std::clamp<int64_t>(i + k + (upper ? 0 : 1), 0, columns);
            const int64_t first = upper ? edge : 0;
            const int64_t count = upper ? columns - edge : edge;
            char* to = y + row * columns * size;
            if (x != y) {
              std::memcpy(to + first * size, x + (row * columns + first) * size,
                          static_cast<size_t>(count * size));
            }
            const int64_t zero = upper ? 0 : edge;
            std::memset(to + zero * size, 0,
                        static_cast<size_t>((columns - count) * size));
          }
        });
  }};
}

}  // namespace

std::vector<OpDef> TriluOps() {
  OpDef op;
  op.name = "Trilu";
  op.attrs = {AttrSpec("k", int64_t{0}), AttrSpec("upper", int64_t{1})};
  op.infer = Infer;
  op.grad = Grad;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
