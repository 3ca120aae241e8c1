#include "core/plan_file.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/check_plan.h"
#include "core/load.h"
#include "core/sha256.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

constexpr int kFormatVersion = 1;

proto::Plan::Mode ToProto(PlanMode mode) {
  switch (mode) {
    case PlanMode::kTrain:
      return proto::Plan::TRAIN;
    case PlanMode::kTrainAccumulate:
      return proto::Plan::TRAIN_ACCUMULATE;
    case PlanMode::kEvaluate:
      return proto::Plan::EVALUATE;
    case PlanMode::kForward:
      return proto::Plan::FORWARD;
    case PlanMode::kGradients:
      return proto::Plan::GRADIENTS;
  }
  return proto::Plan::MODE_UNSPECIFIED;
}

void ToProto(const Operand& operand, proto::Operand& out) {
  out.set_value(operand.value);
  out.set_offset(operand.offset);
  out.set_bytes(operand.bytes);
}

Operand FromProto(const proto::Operand& operand) {
  return {operand.value(), operand.offset(), operand.bytes()};
}

template <typename Repeated>
std::vector<Operand> FromProto(const Repeated& operands) {
  std::vector<Operand> out;
  out.reserve(operands.size());
  for (const proto::Operand& operand : operands) {
    out.push_back(FromProto(operand));
  }
  return out;
}

proto::Plan ToProto(const PlannedPass& pass) {
  proto::Plan out;
  const Plan& plan = pass.plan;
  out.set_mode(ToProto(pass.mode));
  for (const auto& [name, value] : pass.model.symbols) {
    (*out.mutable_symbol())[name] = value;
  }
  for (const Operand& operand : plan.inputs) ToProto(operand, *out.add_input());
  for (const Operand& operand : plan.results) {
    ToProto(operand, *out.add_result());
  }
  for (const Step& step : plan.steps) {
    proto::Step& to = *out.add_step();
    to.set_node(step.node);
    to.set_run(step.run);
    for (const Operand& operand : step.in) ToProto(operand, *to.add_in());
    for (const Operand& operand : step.out) ToProto(operand, *to.add_out());
    if (step.scratchpad.bytes > 0) {
      ToProto(step.scratchpad, *to.mutable_scratchpad());
    }
  }
  out.set_guard_step(plan.guard_step);
  out.set_end_bytes(plan.end_bytes);
  out.set_peak_live_bytes(plan.peak_live_bytes);
  out.set_working_set_bytes(plan.working_set_bytes);
  out.set_peak_step(plan.peak_step);
  return out;
}

Plan FromProto(const proto::Plan& in, const PlannedPass& pass,
               const std::vector<Operand>& persistent,
               int64_t persistent_bytes) {
  Plan plan;
  plan.mode = pass.mode;
  plan.persistent = persistent;
  plan.inputs = FromProto(in.input());
  plan.results = FromProto(in.result());
  plan.steps.reserve(in.step_size());
  for (const proto::Step& from : in.step()) {
    Step step;
    step.node = from.node();
    step.run = from.run();
    step.in = FromProto(from.in());
    step.out = FromProto(from.out());
    if (from.has_scratchpad()) step.scratchpad = FromProto(from.scratchpad());
    plan.steps.push_back(std::move(step));
  }
  plan.guard_step = in.guard_step();
  plan.persistent_bytes = persistent_bytes;
  plan.end_bytes = in.end_bytes();
  plan.peak_live_bytes = in.peak_live_bytes();
  plan.working_set_bytes = in.working_set_bytes();
  plan.peak_step = in.peak_step();
  return plan;
}

absl::Status Differs(absl::string_view what, absl::string_view file,
                     absl::string_view here) {
  return absl::FailedPreconditionError(
      absl::StrCat("plan file: ", what, " differs: ", file, " in the file, ",
                   here, " here"));
}

// The persistent operands of a pass, at the places that `plan` gives them.
std::vector<Operand> PersistentOperands(const TrainerPlan& plan,
                                        const PlannedPass& pass) {
  std::map<std::string, const PersistentValue*> by_name;
  for (const PersistentValue& value : plan.persistent) {
    by_name[value.name] = &value;
  }
  std::vector<Operand> operands;
  for (const LoweredValueId v : pass.lowered.persistent) {
    const ValueId logical = pass.lowered.values[v].logical[0];
    const PersistentValue& value =
        *by_name.at(pass.step.graph.values[logical].name);
    operands.push_back({v, value.offset, value.bytes});
  }
  return operands;
}

}  // namespace

std::string LayoutsFingerprint(const TrainerPlan& plan) {
  Sha256 sha;
  for (const std::unique_ptr<PlannedPass>& pass : plan.passes) {
    const LoweredGraph& lowered = pass->lowered;
    for (const LoweredSignature& entry : lowered.signatures) {
      sha.Update(absl::StrCat(SignatureKey(entry.signature), " ",
                              entry.description.implementation, " ",
                              entry.description.scratchpad_bytes, "\n"));
    }
    for (const LoweredValue& value : lowered.values) {
      sha.Update(absl::StrCat(value.bytes, " ", value.producer, " ",
                              value.copy_of, "\n"));
    }
    for (const LoweredNode& node : lowered.nodes) {
      std::string text = absl::StrCat(node.signature, ":");
      for (const LoweredValueId v : node.in) absl::StrAppend(&text, v, ",");
      absl::StrAppend(&text, ">");
      for (const LoweredValueId v : node.out) absl::StrAppend(&text, v, ",");
      sha.Update(text);
    }
  }
  return sha.Finish();
}

std::string PlanFingerprint(const TrainerPlan& plan) {
  Sha256 sha;
  std::string config;
  plan.config.SerializeToString(&config);
  const proto::PlanOptions& options = plan.options;
  sha.Update(absl::StrCat(
      "threads ", plan.env.threads, "\n", Sha256Hex(config), "\n", plan.library,
      "\nbudget ", options.budget_bytes(), " ", options.process_budget_bytes(),
      " strict ", options.strict(), " work ", options.work_limit(), " machine ",
      options.machine(), "\n"));
  for (const std::unique_ptr<PlannedPass>& pass : plan.passes) {
    sha.Update(FingerprintsOf(pass->model).math);
    for (const Region& region : pass->model.regions) {
      sha.Update(absl::StrCat(region.name, " ", region.parent, " ",
                              ToString(region.policy), "\n"));
    }
    for (const Node& node : pass->model.nodes) {
      sha.Update(absl::StrCat(node.name, " ", node.region, "\n"));
    }
    for (const auto& [value, keep] : pass->model.annotations) {
      sha.Update(absl::StrCat(value, " ", static_cast<int>(keep), "\n"));
    }
  }
  return sha.Finish();
}

proto::PlanSet ToProto(const TrainerPlan& plan) {
  proto::PlanSet set;
  set.set_format_version(kFormatVersion);
  set.set_plan_fingerprint(PlanFingerprint(plan));
  set.set_layouts_sha256(LayoutsFingerprint(plan));
  *set.mutable_options() = plan.options;
  set.set_library(plan.library);
  set.set_threads(plan.env.threads);
  set.set_alignment(kArenaAlignment);
  set.set_arena_bytes(plan.arena_bytes);
  set.set_persistent_bytes(plan.persistent_bytes);
  for (size_t i = 0; i < plan.persistent.size(); ++i) {
    const PersistentValue& value = plan.persistent[i];
    ToProto(Operand{static_cast<LoweredValueId>(i), value.offset, value.bytes},
            *set.add_persistent());
  }
  for (const std::unique_ptr<PlannedPass>& pass : plan.passes) {
    *set.add_plan() = ToProto(*pass);
  }
  return set;
}

absl::Status AdoptPlans(const proto::PlanSet& file, TrainerPlan& plan) {
  if (file.format_version() != kFormatVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan file: format_version ", file.format_version(),
                     " is not the known ", kFormatVersion));
  }
  if (file.threads() != plan.env.threads) {
    return Differs("the number of threads", absl::StrCat(file.threads()),
                   absl::StrCat(plan.env.threads));
  }
  if (file.library() != plan.library) {
    return Differs("the kernel library",
                   absl::StrCat("'", absl::CHexEscape(file.library()), "'"),
                   absl::StrCat("'", plan.library, "'"));
  }
  if (file.alignment() != kArenaAlignment) {
    return Differs("the alignment", absl::StrCat(file.alignment()),
                   absl::StrCat(kArenaAlignment));
  }
  if (file.plan_fingerprint() != PlanFingerprint(plan)) {
    return absl::FailedPreconditionError(
        "plan file: it was made from another graph, binding, annotation, "
        "training config or plan option (the plan fingerprints differ)");
  }
  if (file.layouts_sha256() != LayoutsFingerprint(plan)) {
    return absl::FailedPreconditionError(
        "plan file: the library or the CPU asks for other kernels, layouts or "
        "scratchpads than where it was made (the layout fingerprints differ)");
  }
  if (file.plan_size() != static_cast<int>(plan.passes.size()) ||
      file.persistent_size() != static_cast<int>(plan.persistent.size())) {
    return Differs(
        "the number of plans and persistent values",
        absl::StrCat(file.plan_size(), " and ", file.persistent_size()),
        absl::StrCat(plan.passes.size(), " and ", plan.persistent.size()));
  }
  // Judged on copies: nothing of the file is kept unless all of it is good.
  std::vector<PersistentValue> persistent = plan.persistent;
  for (size_t i = 0; i < persistent.size(); ++i) {
    const proto::Operand& from = file.persistent(static_cast<int>(i));
    if (from.bytes() != persistent[i].bytes) {
      return Differs(absl::StrCat("bytes of '", persistent[i].name, "'"),
                     absl::StrCat(from.bytes()),
                     absl::StrCat(persistent[i].bytes));
    }
    persistent[i].offset = from.offset();
  }
  std::swap(plan.persistent, persistent);
  std::vector<Plan> plans;
  int64_t arena_bytes = 0;
  absl::Status status;
  for (int i = 0; i < file.plan_size() && status.ok(); ++i) {
    const PlannedPass& pass = *plan.passes[i];
    const proto::Plan& from = file.plan(i);
    if (from.mode() != ToProto(pass.mode)) {
      status = Differs(absl::StrCat("the mode of plan ", i),
                       proto::Plan::Mode_Name(from.mode()),
                       proto::Plan::Mode_Name(ToProto(pass.mode)));
      break;
    }
    plans.push_back(FromProto(from, pass, PersistentOperands(plan, pass),
                              file.persistent_bytes()));
    status = CheckPlan(pass.lowered, plans.back()).status();
    arena_bytes = std::max(arena_bytes, plans.back().end_bytes);
  }
  if (status.ok() && arena_bytes != file.arena_bytes()) {
    status = Differs("arena_bytes", absl::StrCat(file.arena_bytes()),
                     absl::StrCat(arena_bytes, " by its plans"));
  }
  if (!status.ok()) {
    std::swap(plan.persistent, persistent);
    return status;
  }
  plan.persistent_bytes = file.persistent_bytes();
  plan.arena_bytes = arena_bytes;
  for (size_t i = 0; i < plans.size(); ++i) {
    plan.passes[i]->plan = std::move(plans[i]);
  }
  return absl::OkStatus();
}

}  // namespace reprise
