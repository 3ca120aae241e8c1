// LpNormalization, y = x / |x|_p along `axis`, p 1 or 2; 0 where the norm is.
//
// In the step graph it is ReduceL1 or ReduceL2 and a quotient, whose gradient
// reads the norm and y. Tested by tests/ops/group_norm_test.cc.

#include <vector>

#include "absl/status/status.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/infer.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  RETURN_IF_ERROR(RequireF32("LpNormalization", "x", args.in[0]));
  RETURN_IF_ERROR(NormalizeAxis(args.attrs.Int("axis"), args.in[0].rank(),
                                "LpNormalization")
                      .status());
  const int64_t p = args.attrs.Int("p");
  if (p != 1 && p != 2) {
    return Invalid("LpNormalization: p must be 1 or 2, got ", p);
  }
  return std::vector<TensorType>{args.in[0]};
}

absl::Status ExpandNode(ExpandBuilder& b) {
  const ValueId norm =
      b.Add(b.attrs().Int("p") == 1 ? "ReduceL1" : "ReduceL2", {b.in(0)},
            {{"axes", Ints{b.attrs().Int("axis")}}, {"keepdims", int64_t{1}}},
            /*num_outputs=*/1)[0];
  b.SetOut(0, b.Add("QuotientOrZero", {b.in(0), norm}, {},
                    /*num_outputs=*/1)[0]);
  return absl::OkStatus();
}

}  // namespace

std::vector<OpDef> LpNormalizationOps() {
  OpDef op;
  op.name = "LpNormalization";
  op.attrs = {AttrSpec("axis", int64_t{-1}), AttrSpec("p", int64_t{2})};
  op.infer = Infer;
  op.expand = ExpandNode;
  return {op};
}

}  // namespace reprise
