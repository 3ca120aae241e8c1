#include "core/train_step.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/autodiff.h"
#include "core/node_appender.h"
#include "core/status_macros.h"
#include "core/train_config.h"

namespace reprise {
namespace {

using proto::TrainConfig;

TensorType ScalarType(DType dtype) { return {dtype, {}}; }

// What one parameter's update needs beyond the shared settings.
struct ParameterSettings {
  bool trainable = true;
  float lr_factor = 1;
  absl::optional<float> weight_decay;
};

ParameterSettings SettingsOf(const TrainConfig& config, const Graph& model,
                             const Parameter& parameter) {
  ParameterSettings settings;
  settings.trainable = parameter.trainable;
  const Value& value = model.values[parameter.value];
  for (const proto::Override& override : config.override()) {
    if (!MatchesGlob(override.pattern(), value.name)) continue;
    if (override.has_trainable()) settings.trainable = override.trainable();
    if (override.has_lr_factor()) settings.lr_factor = override.lr_factor();
    if (override.has_weight_decay()) {
      settings.weight_decay = override.weight_decay();
    }
    break;
  }
  return settings;
}

// One optimizer's update operator with everything but per-parameter settings.
struct UpdateRule {
  struct Slot {
    std::string name;
    bool used = true;
    float initial = 0;
  };
  std::string op;
  Attrs attrs;
  float weight_decay = 0;
  std::vector<Slot> slots;  // in the order of the operator's operands
};

UpdateRule AdamRule(const proto::Adam& adam, bool decoupled) {
  UpdateRule rule;
  rule.op = "AdamUpdate";
  rule.attrs.Set("beta1", adam.has_beta1() ? adam.beta1() : 0.9f);
  rule.attrs.Set("beta2", adam.has_beta2() ? adam.beta2() : 0.999f);
  rule.attrs.Set("epsilon", adam.has_epsilon() ? adam.epsilon() : 1e-8f);
  rule.attrs.Set("decoupled", decoupled);
  rule.weight_decay = adam.has_weight_decay() ? adam.weight_decay()
                      : decoupled             ? 0.01f
                                              : 0.0f;
  rule.slots = {{"exp_avg"}, {"exp_avg_sq"}};
  return rule;
}

UpdateRule RuleOf(const TrainConfig& config) {
  UpdateRule rule;
  switch (config.optimizer_case()) {
    case TrainConfig::kSgd: {
      const proto::Sgd& sgd = config.sgd();
      rule.op = "SgdUpdate";
      rule.attrs.Set("momentum", sgd.momentum());
      rule.attrs.Set("dampening", sgd.dampening());
      rule.attrs.Set("nesterov", sgd.nesterov());
      rule.weight_decay = sgd.weight_decay();
      rule.slots = {{"momentum_buffer", sgd.momentum() != 0}};
      return rule;
    }
    case TrainConfig::kAdam:
      return AdamRule(config.adam(), /*decoupled=*/false);
    case TrainConfig::kAdamw:
      return AdamRule(config.adamw(), /*decoupled=*/true);
    case TrainConfig::kAdagrad: {
      const proto::Adagrad& adagrad = config.adagrad();
      rule.op = "AdagradUpdate";
      rule.attrs.Set("lr_decay", adagrad.lr_decay());
      rule.attrs.Set("epsilon",
                     adagrad.has_epsilon() ? adagrad.epsilon() : 1e-10f);
      rule.weight_decay = adagrad.weight_decay();
      rule.slots = {{"sum", true, adagrad.initial_accumulator()}};
      return rule;
    }
    case TrainConfig::kRmsprop: {
      const proto::RmsProp& rmsprop = config.rmsprop();
      rule.op = "RmsPropUpdate";
      rule.attrs.Set("alpha", rmsprop.has_alpha() ? rmsprop.alpha() : 0.99f);
      rule.attrs.Set("epsilon",
                     rmsprop.has_epsilon() ? rmsprop.epsilon() : 1e-8f);
      rule.attrs.Set("momentum", rmsprop.momentum());
      rule.attrs.Set("centered", rmsprop.centered());
      rule.weight_decay = rmsprop.weight_decay();
      rule.slots = {{"square_avg"},
                    {"momentum_buffer", rmsprop.momentum() != 0},
                    {"grad_avg", rmsprop.centered()}};
      return rule;
    }
    case TrainConfig::kOnnxAdam: {
      const proto::OnnxAdam& adam = config.onnx_adam();
      rule.op = "OnnxAdamUpdate";
      rule.attrs.Set("alpha", adam.has_alpha() ? adam.alpha() : 0.9f);
      rule.attrs.Set("beta", adam.has_beta() ? adam.beta() : 0.999f);
      rule.attrs.Set("epsilon", adam.has_epsilon() ? adam.epsilon() : 1e-6f);
      rule.attrs.Set("norm_coefficient_post", adam.norm_coefficient_post());
      rule.weight_decay = adam.norm_coefficient();
      rule.slots = {{"V"}, {"H"}};
      return rule;
    }
    case TrainConfig::kOnnxAdagrad: {
      const proto::OnnxAdagrad& adagrad = config.onnx_adagrad();
      rule.op = "OnnxAdagradUpdate";
      rule.attrs.Set("decay_factor", adagrad.decay_factor());
      rule.attrs.Set("epsilon",
                     adagrad.has_epsilon() ? adagrad.epsilon() : 1e-6f);
      rule.weight_decay = adagrad.norm_coefficient();
      rule.slots = {{"H"}};
      return rule;
    }
    case TrainConfig::kOnnxMomentum: {
      const proto::OnnxMomentum& momentum = config.onnx_momentum();
      rule.op = "OnnxMomentumUpdate";
      rule.attrs.Set("alpha", momentum.has_alpha() ? momentum.alpha() : 0.9f);
      rule.attrs.Set("beta", momentum.has_beta() ? momentum.beta() : 1.0f);
      rule.attrs.Set(
          "mode", std::string(momentum.nesterov() ? "nesterov" : "standard"));
      rule.weight_decay = momentum.norm_coefficient();
      rule.slots = {{"V"}};
      return rule;
    }
    case TrainConfig::OPTIMIZER_NOT_SET:
      break;
  }
  return rule;
}

// Builds one step graph; the phases run in the order of the declarations.
class StepBuilder {
 public:
  StepBuilder(const Graph& model, const OpTable& ops,
              const StepOptions& options)
      : model_(model), ops_(ops), options_(options), mode_(options.mode) {}

  absl::StatusOr<StepGraph> Build() {
    RETURN_IF_ERROR(Forward());
    RETURN_IF_ERROR(TotalLoss());
    if (trains()) RETURN_IF_ERROR(TrainBackward());
    if (mode_ == PlanMode::kGradients) RETURN_IF_ERROR(WantedGradients());
    if (trains()) RETURN_IF_ERROR(AssignStates());
    return std::move(step_);
  }

 private:
  bool trains() const {
    return mode_ == PlanMode::kTrain || mode_ == PlanMode::kTrainAccumulate;
  }

  absl::Status Forward() {
    Graph& graph = step_.graph;
    graph.name = model_.name;
    graph.symbols = model_.symbols;
    graph.regions = model_.regions;
    NodeAppender appender(graph, ops_);
    if (mode_ != PlanMode::kEvaluate) {
      const TensorType i64 = ScalarType(DType::kI64);
      const auto scalar = [&](const char* name, const TensorType& type) {
        return appender.AddSource(name, type, ValueKind::kScalar);
      };
      step_.scalars.seed = scalar("__seed", i64);
      step_.scalars.step = scalar("__step", i64);
      step_.scalars.micro_step = scalar("__micro_step", i64);
      if (trains()) {
        step_.scalars.lr = scalar("__lr", ScalarType(DType::kF32));
      }
    }
    ExpandOptions expand;
    expand.training = mode_ != PlanMode::kEvaluate;
    expand.updates = trains();
    ASSIGN_OR_RETURN(mapped_, Expand(model_, step_.scalars, expand, appender));
    for (const ValueId v : model_.inputs) graph.inputs.push_back(mapped_[v]);
    for (const Parameter& parameter : model_.parameters) {
      graph.parameters.push_back(parameter);
      graph.parameters.back().value = mapped_[parameter.value];
    }
    for (const State& state : model_.states) {
      graph.states.push_back(state);
      graph.states.back().value = mapped_[state.value];
      graph.states.back().next = mapped_[state.next];
    }
    for (const auto& [value, keep] : model_.annotations) {
      if (mapped_[value] != kNoValue) graph.annotations[mapped_[value]] = keep;
    }
    for (const ValueId v : model_.outputs) {
      if (mapped_[v] == kNoValue) continue;
      graph.outputs.push_back(mapped_[v]);
      step_.results.push_back(
          {StepResult::Kind::kOutput, model_.values[v].name, mapped_[v]});
    }
    for (const Loss& loss : model_.losses) {
      graph.losses.push_back({mapped_[loss.value], loss.weight});
      step_.results.push_back({StepResult::Kind::kLoss,
                               model_.values[loss.value].name,
                               mapped_[loss.value]});
    }
    return absl::OkStatus();
  }

  absl::Status TotalLoss() {
    Graph& graph = step_.graph;
    std::vector<ValueId> terms;
    Floats weights;
    for (const Loss& loss : graph.losses) {
      if (loss.weight == 0) continue;
      terms.push_back(loss.value);
      weights.push_back(loss.weight);
    }
    if (terms.empty()) {
      if (!trains() && mode_ != PlanMode::kGradients) return absl::OkStatus();
      return absl::InvalidArgumentError(
          absl::StrCat("model '", model_.name,
                       "' has no loss with a weight other than 0, "
                       "so there is nothing to differentiate"));
    }
    NodeAppender appender(graph, ops_);
    appender.SetPlace({Role::kForward, kNoNode, kNoRegion, "__", "loss"});
    for (ValueId& term : terms) {  // one element, of whatever rank
      if (graph.values[term].type.rank() == 0) continue;
      term = appender.Add("Squeeze", {term}, {}, 1)[0];
      RETURN_IF_ERROR(appender.status());
    }
    ValueId total = terms[0];
    if (terms.size() > 1 || weights[0] != 1) {
      total = appender.Add("WeightedSum", terms, {{"weights", weights}}, 1,
                           {"__total_loss"})[0];
    }
    RETURN_IF_ERROR(appender.status());
    step_.results.push_back({StepResult::Kind::kTotalLoss, "loss", total});
    if (trains()) {
      appender.Add("CheckFinite", {total}, {}, 1, {"__checked_loss"});
    }
    return appender.status();
  }

  absl::Status TrainBackward() {
    Graph& graph = step_.graph;
    std::vector<ValueId> wanted;
    std::vector<ParameterSettings> settings;
    for (const Parameter& parameter : model_.parameters) {
      const ParameterSettings one =
          SettingsOf(options_.config, model_, parameter);
      if (!one.trainable) continue;
      wanted.push_back(mapped_[parameter.value]);
      settings.push_back(one);
    }
    ASSIGN_OR_RETURN(std::vector<ValueId> grads,
                     AppendBackward(graph, ops_, wanted));
    NodeAppender appender(graph, ops_);
    appender.SetPlace({Role::kUpdate, kNoNode, kNoRegion, "__update/", ""});
    const int accumulate = std::max(1, options_.config.accumulate_steps());
    std::vector<ValueId> accumulators(grads.size(), kNoValue);
    if (accumulate > 1) {
      for (size_t i = 0; i < grads.size(); ++i) {
        if (grads[i] == kNoValue) continue;
        SetLabel(appender, wanted[i]);
        const ValueId accumulator = appender.AddSource(
            absl::StrCat("__accumulator/", graph.values[wanted[i]].name),
            graph.values[wanted[i]].type, ValueKind::kAccumulator);
        grads[i] = appender.Add("Accumulate", {accumulator, grads[i]},
                                {{"scale", 1.0f / accumulate}}, 1)[0];
        accumulators[i] = grads[i];
      }
    }
    if (mode_ == PlanMode::kTrainAccumulate) return appender.status();

    ValueId grad_scale = kNoValue;
    if (options_.config.has_clip_global_norm()) {
      std::vector<ValueId> squares;
      for (size_t i = 0; i < grads.size(); ++i) {
        if (grads[i] == kNoValue) continue;
        SetLabel(appender, wanted[i]);
        squares.push_back(appender.Add("SquaredNorm", {grads[i]}, {}, 1)[0]);
      }
      if (!squares.empty()) {
        grad_scale =
            appender.Add("ClipCoefficient", squares,
                         {{"max_norm", options_.config.clip_global_norm()}}, 1,
                         {"__clip_coefficient"})[0];
      }
    }
    const UpdateRule rule = RuleOf(options_.config);
    for (size_t i = 0; i < grads.size(); ++i) {
      if (grads[i] == kNoValue) continue;
      SetLabel(appender, wanted[i]);
      AppendUpdate(appender, rule, settings[i], wanted[i], grads[i],
                   grad_scale);
      if (accumulators[i] != kNoValue) {
        appender.Add("SetZero", {accumulators[i]}, {}, 1);
      }
    }
    return appender.status();
  }

  void SetLabel(NodeAppender& appender, ValueId parameter) const {
    appender.SetPlace({Role::kUpdate, kNoNode, kNoRegion, "__update/",
                       step_.graph.values[parameter].name});
  }

  void AppendUpdate(NodeAppender& appender, const UpdateRule& rule,
                    const ParameterSettings& settings, ValueId parameter,
                    ValueId grad, ValueId grad_scale) {
    const std::string name = step_.graph.values[parameter].name;
    const TensorType type = step_.graph.values[parameter].type;
    std::vector<ValueId> in = {parameter, grad, step_.scalars.lr,
                               step_.scalars.step, grad_scale};
    int num_outputs = 1;
    for (size_t s = 0; s < rule.slots.size(); ++s) {
      const UpdateRule::Slot& slot = rule.slots[s];
      ValueId v = kNoValue;
      if (slot.used) {
        v = appender.AddSource(absl::StrCat("__slot/", slot.name, "/", name),
                               type, ValueKind::kSlot);
        step_.slots.push_back({v, slot.initial});
        num_outputs = static_cast<int>(s) + 2;
      }
      in.push_back(v);
    }
    Attrs attrs = rule.attrs;
    attrs.Set("lr_factor", settings.lr_factor);
    attrs.Set("weight_decay",
              settings.weight_decay.value_or(rule.weight_decay));
    appender.Add(rule.op, std::move(in), std::move(attrs), num_outputs);
  }

  absl::Status WantedGradients() {
    std::vector<ValueId> wanted;
    std::vector<std::string> names = options_.gradients;
    if (names.empty()) {
      for (const Parameter& parameter : model_.parameters) {
        if (parameter.trainable) {
          names.push_back(model_.values[parameter.value].name);
        }
      }
    }
    absl::flat_hash_map<absl::string_view, ValueId> sources;
    for (size_t v = 0; v < model_.values.size(); ++v) {
      const Value& value = model_.values[v];
      if (value.kind == ValueKind::kInput ||
          value.kind == ValueKind::kParameter) {
        sources.emplace(value.name, static_cast<ValueId>(v));
      }
    }
    for (const std::string& name : names) {
      const auto source = sources.find(name);
      if (source == sources.end()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "gradient of '", name, "': no such input or parameter; there are ",
            KnownSources()));
      }
      const ValueId v = source->second;
      if (model_.values[v].type.dtype != DType::kF32) {
        return absl::InvalidArgumentError(
            absl::StrCat("gradient of '", name, "': must be f32, is ",
                         ToString(model_.values[v].type)));
      }
      wanted.push_back(mapped_[v]);
    }
    ASSIGN_OR_RETURN(std::vector<ValueId> grads,
                     AppendBackward(step_.graph, ops_, wanted));
    NodeAppender appender(step_.graph, ops_);
    for (size_t i = 0; i < grads.size(); ++i) {
      if (grads[i] == kNoValue) {
        const TensorType type = step_.graph.values[wanted[i]].type;
        appender.SetPlace(
            {Role::kBackward, kNoNode, kNoRegion, "__grad/", names[i]});
        grads[i] = appender.Add(
            "Fill", {},
            {{"dims", type.dims}, {"dtype", type.dtype}, {"value", 0.0f}},
            1)[0];
      }
      step_.results.push_back(
          {StepResult::Kind::kGradient, names[i], grads[i]});
    }
    return appender.status();
  }

  std::string KnownSources() const {
    std::vector<std::string> known;
    for (const Value& value : model_.values) {
      if ((value.kind == ValueKind::kInput ||
           value.kind == ValueKind::kParameter) &&
          value.type.dtype == DType::kF32) {
        known.push_back(absl::StrCat("'", value.name, "'"));
      }
    }
    return absl::StrJoin(known, ", ");
  }

  // Returns the value that each updated state's content becomes in place.
  std::map<ValueId, ValueId> UpdatedInPlace() const {
    std::map<ValueId, ValueId> updated;
    for (const Node& node : step_.graph.nodes) {
      for (const Overwrite& pair : node.op->must_overwrite) {
        if (pair.in < static_cast<int>(node.in.size()) &&
            pair.out < static_cast<int>(node.out.size())) {
          updated[node.in[pair.in]] = node.out[pair.out];
        }
      }
    }
    return updated;
  }

  // States whose next content an operator does not write in place.
  absl::Status AssignStates() {
    const std::map<ValueId, ValueId> updated = UpdatedInPlace();
    NodeAppender appender(step_.graph, ops_);
    for (State& state : step_.graph.states) {
      if (state.next == kNoValue || state.next == state.value) continue;
      const auto in_place = updated.find(state.value);
      if (in_place == updated.end()) {
        SetLabel(appender, state.value);
        state.next =
            appender.Add("Assign", {state.value, state.next}, {}, 1)[0];
        continue;
      }
      if (in_place->second == state.next) continue;
      const std::vector<Value>& values = step_.graph.values;
      return absl::InvalidArgumentError(absl::StrCat(
          "state '", values[state.value].name, "': its next is '",
          values[state.next].name, "', but '", values[in_place->second].name,
          "' is what its node makes of it"));
    }
    return appender.status();
  }

  const Graph& model_;
  const OpTable& ops_;
  const StepOptions& options_;
  const PlanMode mode_;
  StepGraph step_;
  std::vector<ValueId> mapped_;
};

}  // namespace

absl::StatusOr<StepGraph> BuildStepGraph(const Graph& model, const OpTable& ops,
                                         const StepOptions& options) {
  if (options.mode == PlanMode::kTrain ||
      options.mode == PlanMode::kTrainAccumulate) {
    RETURN_IF_ERROR(CheckTrainConfig(options.config));
  }
  return StepBuilder(model, ops, options).Build();
}

}  // namespace reprise
