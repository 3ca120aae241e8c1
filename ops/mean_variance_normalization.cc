// MeanVarianceNormalization, y = (x - mean) / (deviation + 1e-9) over `axes`,
// the deviation being that of the population.
//
// In the step graph it is a composition of reductions and arithmetic.
// Tested by tests/ops/group_norm_test.cc.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/infer.h"

namespace reprise {
namespace {

constexpr char kName[] = "MeanVarianceNormalization";

InferredTypes Infer(const OpArgs& args) {
  RETURN_IF_ERROR(RequireF32(kName, "x", args.in[0]));
  RETURN_IF_ERROR(
      NormalizeAxes(kName, args.attrs.IntList("axes"), args.in[0].rank())
          .status());
  return std::vector<TensorType>{args.in[0]};
}

absl::Status ExpandNode(ExpandBuilder& b) {
  const auto add = [&](const std::string& op, std::vector<ValueId> in,
                       Attrs attrs = {}) {
    return b.Add(op, std::move(in), std::move(attrs), /*num_outputs=*/1)[0];
  };
  const auto mean_of = [&](ValueId value) {
    return add("ReduceMean", {value},
               {{"axes", b.attrs().IntList("axes")},
                {"keepdims", int64_t{1}},
                {"noop_with_empty_axes", int64_t{0}}});
  };
  const ValueId centered = add("Sub", {b.in(0), mean_of(b.in(0))});
  const ValueId deviation = add("Sqrt", {mean_of(add("Square", {centered}))});
  const ValueId tiny = add(
      "Fill", {}, {{"dims", Dims{}}, {"dtype", DType::kF32}, {"value", 1e-9f}});
  b.SetOut(0, add("Div", {centered, add("Add", {deviation, tiny})}));
  return absl::OkStatus();
}

}  // namespace

std::vector<OpDef> MeanVarianceNormalizationOps() {
  OpDef op;
  op.name = kName;
  op.attrs = {AttrSpec("axes", Ints{0, 2, 3})};
  op.infer = Infer;
  op.expand = ExpandNode;
  return {op};
}

}  // namespace reprise
