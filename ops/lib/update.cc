#include "ops/lib/update.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/status_macros.h"
#include "ops/lib/describe.h"

namespace reprise {
namespace {

constexpr int kParam = 0;
constexpr int kGrad = 1;
constexpr int kLr = 2;
constexpr int kStep = 3;
constexpr int kGradScale = 4;

InferredTypes InferUpdate(const std::string& name, int required_slots,
                          const OpArgs& args) {
  const absl::Span<const TensorType> in = args.in;
  const TensorType& param = in[kParam];
  RETURN_IF_ERROR(RequireF32(name, "param", param));
  if (in[kGrad] != param) {
    return Invalid(name, ": grad must be ", ToString(param), ", got ",
                   ToString(in[kGrad]));
  }
  const TensorType scalar = {DType::kF32, {}};
  const bool has_scale = in.size() > kGradScale && in[kGradScale].present();
  if (in[kLr] != scalar || (has_scale && in[kGradScale] != scalar)) {
    return Invalid(name, ": lr and grad_scale must be f32[], got ",
                   ToString(in[kLr]),
                   has_scale ? " and " + ToString(in[kGradScale]) : "");
  }
  if (in[kStep] != TensorType{DType::kI64, {}}) {
    return Invalid(name, ": step must be i64[], got ", ToString(in[kStep]));
  }
  std::vector<TensorType> out = {param};
  for (size_t i = kFirstSlot; i < in.size(); ++i) {
    if (in[i].present() && in[i] != param) {
      return Invalid(name, ": slot ", i - kFirstSlot, " must be ",
                     ToString(param), ", got ", ToString(in[i]));
    }
    out.push_back(in[i]);
  }
  for (int i = 0; i < required_slots; ++i) {
    if (!HasSlot(in, i)) return Invalid(name, ": slot ", i, " is required");
  }
  return out;
}

}  // namespace

bool HasSlot(absl::Span<const TensorType> in, int slot) {
  const size_t i = static_cast<size_t>(kFirstSlot + slot);
  return i < in.size() && in[i].present();
}

OpDef UpdateOp(std::string name, int num_slots, int required_slots,
               std::vector<AttrSpec> attrs, int64_t flops) {
  OpDef op;
  op.name = name;
  op.internal = true;
  op.effect = Effect::kUpdate;
  op.min_inputs = kStep + 1;
  op.max_inputs = kFirstSlot + num_slots;
  op.max_outputs = 1 + num_slots;
  op.attrs = std::move(attrs);
  op.attrs.emplace_back("weight_decay", 0.0f);
  op.attrs.emplace_back("lr_factor", 1.0f);
  op.must_overwrite = {{kParam, 0}};
  for (int i = 0; i < num_slots; ++i) {
    op.must_overwrite.push_back({kFirstSlot + i, 1 + i});
  }
  op.infer = [name, required_slots](const OpArgs& args) {
    return InferUpdate(name, required_slots, args);
  };
  op.describe = [flops](const Signature& offered,
                        const OpEnv&) -> absl::StatusOr<Description> {
    return DescribeRowMajor(offered, "hwy:update",
                            flops * offered.in[0].num_elements());
  };
  return op;
}

UpdateOperands ReadOperands(const Buffers& buffers, int num_inputs) {
  UpdateOperands operands;
  operands.param = static_cast<const float*>(buffers.in[kParam]);
  operands.grad = static_cast<const float*>(buffers.in[kGrad]);
  operands.lr = *static_cast<const float*>(buffers.in[kLr]);
  operands.step = *static_cast<const int64_t*>(buffers.in[kStep]);
  operands.new_param = static_cast<float*>(buffers.out[0]);
  if (num_inputs > kGradScale && buffers.in[kGradScale] != nullptr) {
    operands.grad_scale = *static_cast<const float*>(buffers.in[kGradScale]);
  }
  for (int i = 0; kFirstSlot + i < num_inputs; ++i) {
    if (buffers.in[kFirstSlot + i] == nullptr) continue;
    operands.slot[i] = static_cast<const float*>(buffers.in[kFirstSlot + i]);
    operands.new_slot[i] = static_cast<float*>(buffers.out[1 + i]);
  }
  return operands;
}

double AsWritten(float value) {
  char text[32];
  for (int digits = 1; digits <= 9; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits,
                  static_cast<double>(value));
    if (std::strtof(text, nullptr) == value) break;
  }
  return std::strtod(text, nullptr);
}

}  // namespace reprise
