#include "core/train_config.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/names.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

// Of many parameters, an error shows some.
constexpr size_t kShownNames = 5;

using proto::TrainConfig;

absl::Status Positive(absl::string_view field, double value) {
  if (value > 0 && std::isfinite(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("train config: ", field, " must be positive, got ", value));
}

absl::Status NotNegative(absl::string_view field, double value) {
  if (value >= 0 && std::isfinite(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "train config: ", field, " must not be negative, got ", value));
}

absl::Status Fraction(absl::string_view field, double value) {
  if (value >= 0 && value < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("train config: ", field, " must be in [0, 1), got ", value));
}

absl::Status CheckOptimizer(const TrainConfig& config) {
  switch (config.optimizer_case()) {
    case TrainConfig::kSgd: {
      const proto::Sgd& sgd = config.sgd();
      RETURN_IF_ERROR(NotNegative("sgd.momentum", sgd.momentum()));
      RETURN_IF_ERROR(NotNegative("sgd.weight_decay", sgd.weight_decay()));
      if (sgd.nesterov() && (sgd.momentum() <= 0 || sgd.dampening() != 0)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "train config: sgd.nesterov needs momentum > 0 and dampening 0, "
            "got ",
            sgd.momentum(), " and ", sgd.dampening()));
      }
      return absl::OkStatus();
    }
    case TrainConfig::kAdam:
    case TrainConfig::kAdamw: {
      const proto::Adam& adam =
          config.has_adam() ? config.adam() : config.adamw();
      if (adam.has_beta1()) RETURN_IF_ERROR(Fraction("beta1", adam.beta1()));
      if (adam.has_beta2()) RETURN_IF_ERROR(Fraction("beta2", adam.beta2()));
      RETURN_IF_ERROR(NotNegative("epsilon", adam.epsilon()));
      return NotNegative("weight_decay", adam.weight_decay());
    }
    case TrainConfig::kAdagrad: {
      const proto::Adagrad& adagrad = config.adagrad();
      RETURN_IF_ERROR(NotNegative("adagrad.lr_decay", adagrad.lr_decay()));
      RETURN_IF_ERROR(NotNegative("adagrad.epsilon", adagrad.epsilon()));
      RETURN_IF_ERROR(NotNegative("adagrad.initial_accumulator",
                                  adagrad.initial_accumulator()));
      return NotNegative("adagrad.weight_decay", adagrad.weight_decay());
    }
    case TrainConfig::kRmsprop: {
      const proto::RmsProp& rmsprop = config.rmsprop();
      RETURN_IF_ERROR(Fraction("rmsprop.alpha", rmsprop.alpha()));
      RETURN_IF_ERROR(NotNegative("rmsprop.epsilon", rmsprop.epsilon()));
      RETURN_IF_ERROR(NotNegative("rmsprop.momentum", rmsprop.momentum()));
      return NotNegative("rmsprop.weight_decay", rmsprop.weight_decay());
    }
    case TrainConfig::kOnnxAdam: {
      const proto::OnnxAdam& adam = config.onnx_adam();
      RETURN_IF_ERROR(Fraction("onnx_adam.alpha", adam.alpha()));
      RETURN_IF_ERROR(Fraction("onnx_adam.beta", adam.beta()));
      RETURN_IF_ERROR(NotNegative("onnx_adam.epsilon", adam.epsilon()));
      RETURN_IF_ERROR(Fraction("onnx_adam.norm_coefficient_post",
                               adam.norm_coefficient_post()));
      return NotNegative("onnx_adam.norm_coefficient", adam.norm_coefficient());
    }
    case TrainConfig::kOnnxAdagrad: {
      const proto::OnnxAdagrad& adagrad = config.onnx_adagrad();
      RETURN_IF_ERROR(
          NotNegative("onnx_adagrad.decay_factor", adagrad.decay_factor()));
      RETURN_IF_ERROR(NotNegative("onnx_adagrad.epsilon", adagrad.epsilon()));
      return NotNegative("onnx_adagrad.norm_coefficient",
                         adagrad.norm_coefficient());
    }
    case TrainConfig::kOnnxMomentum: {
      const proto::OnnxMomentum& momentum = config.onnx_momentum();
      RETURN_IF_ERROR(NotNegative("onnx_momentum.alpha", momentum.alpha()));
      RETURN_IF_ERROR(NotNegative("onnx_momentum.beta", momentum.beta()));
      return NotNegative("onnx_momentum.norm_coefficient",
                         momentum.norm_coefficient());
    }
    case TrainConfig::OPTIMIZER_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "train config: no optimizer is set; there are sgd, adam, adamw, adagrad, "
      "rmsprop, onnx_adam, onnx_adagrad and onnx_momentum");
}

double BaseLearningRate(const TrainConfig& config) {
  if (config.schedule().has_lr()) return config.schedule().lr();
  switch (config.optimizer_case()) {
    case TrainConfig::kAdagrad:
    case TrainConfig::kRmsprop:
      return 1e-2;
    default:
      return 1e-3;
  }
}

}  // namespace

absl::Status CheckTrainConfig(const TrainConfig& config) {
  if (config.format_version() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("train config: format_version must be 1, got ",
                     config.format_version()));
  }
  RETURN_IF_ERROR(CheckOptimizer(config));
  const proto::Schedule& schedule = config.schedule();
  if (schedule.has_lr()) {
    RETURN_IF_ERROR(NotNegative("schedule.lr", schedule.lr()));
  }
  RETURN_IF_ERROR(
      NotNegative("schedule.warmup_steps", schedule.warmup_steps()));
  switch (schedule.decay_case()) {
    case proto::Schedule::kStep:
      RETURN_IF_ERROR(
          Positive("schedule.step.every_steps", schedule.step().every_steps()));
      RETURN_IF_ERROR(
          NotNegative("schedule.step.factor", schedule.step().factor()));
      break;
    case proto::Schedule::kLinear:
      RETURN_IF_ERROR(Positive("schedule.linear.total_steps",
                               schedule.linear().total_steps()));
      break;
    case proto::Schedule::kCosine:
      RETURN_IF_ERROR(Positive("schedule.cosine.total_steps",
                               schedule.cosine().total_steps()));
      break;
    default:
      break;
  }
  if (config.has_clip_global_norm()) {
    RETURN_IF_ERROR(Positive("clip_global_norm", config.clip_global_norm()));
  }
  RETURN_IF_ERROR(NotNegative("accumulate_steps", config.accumulate_steps()));
  for (const proto::Override& override : config.override()) {
    if (override.has_lr_factor()) {
      RETURN_IF_ERROR(NotNegative("override.lr_factor", override.lr_factor()));
    }
    if (override.has_weight_decay()) {
      RETURN_IF_ERROR(
          NotNegative("override.weight_decay", override.weight_decay()));
    }
  }
  return absl::OkStatus();
}

double LearningRate(const TrainConfig& config, int64_t step) {
  const proto::Schedule& schedule = config.schedule();
  const double lr = BaseLearningRate(config);
  const int64_t warmup = schedule.warmup_steps();
  if (step < warmup) return lr * (step + 1) / warmup;
  // Progress of the decay that follows warm-up, in [0, 1].
  const auto progress = [&](int64_t total) {
    if (total <= warmup) return 1.0;
    return std::min(1.0, static_cast<double>(step - warmup) /
                             static_cast<double>(total - warmup));
  };
  switch (schedule.decay_case()) {
    case proto::Schedule::kStep:
      return lr * std::pow(schedule.step().factor(),
                           static_cast<double>(step /
                                               schedule.step().every_steps()));
    case proto::Schedule::kLinear: {
      const double p = progress(schedule.linear().total_steps());
      return lr * (1 - p + p * schedule.linear().final_factor());
    }
    case proto::Schedule::kCosine: {
      const double p = progress(schedule.cosine().total_steps());
      const double final_factor = schedule.cosine().final_factor();
      const double cosine = 0.5 * (1 + std::cos(p * 3.14159265358979323846));
      return lr * (final_factor + (1 - final_factor) * cosine);
    }
    default:
      return lr;
  }
}

absl::Status CheckOverrides(const proto::TrainConfig& config,
                            const Graph& model) {
  for (const proto::Override& override : config.override()) {
    if (override.pattern().empty()) {
      return absl::InvalidArgumentError(
          "train config: an override has no pattern");
    }
    bool matches = false;
    std::vector<std::string> names;
    for (const Parameter& parameter : model.parameters) {
      const std::string& name = model.values[parameter.value].name;
      matches = matches || MatchesGlob(override.pattern(), name);
      if (names.size() < kShownNames) names.push_back(name);
    }
    if (matches) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "train config: the pattern ", Quote(override.pattern()),
        " of an override matches none of the ", model.parameters.size(),
        " parameters",
        names.empty()
            ? ""
            : absl::StrCat(", such as '", absl::StrJoin(names, "', '"), "'")));
  }
  return absl::OkStatus();
}

}  // namespace reprise
