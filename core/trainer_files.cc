// The trainer's files: weights and checkpoints.

#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/checkpoint.h"
#include "core/status_macros.h"
#include "core/trainer.h"

namespace reprise {

std::vector<PersistentTensor> Trainer::Tensors() const {
  std::vector<PersistentTensor> tensors;
  tensors.reserve(plan_.persistent.size());
  for (const PersistentValue& value : plan_.persistent) {
    tensors.push_back({value.name, value.type, value.kind, Address(value)});
  }
  return tensors;
}

TrainingPosition Trainer::Position() const {
  TrainingPosition position;
  position.step = step_;
  position.micro_step = micro_step_;
  position.seed = plan_.config.seed();
  position.fingerprints = FingerprintsOf(plan_.passes.front()->model);
  return position;
}

absl::Status Trainer::SaveWeights(const std::string& path) const {
  return reprise::SaveWeights(path, Tensors());
}

absl::Status Trainer::LoadWeights(const std::string& path) {
  return reprise::LoadWeights(path, Tensors());
}

absl::Status Trainer::SetWeights(absl::Span<const TensorView> weights,
                                 absl::string_view source) {
  return CopyWeights(weights, Tensors(), source);
}

absl::Status Trainer::SaveCheckpoint(const std::string& path) const {
  return reprise::SaveCheckpoint(path, Tensors(), Position());
}

absl::Status Trainer::Resume(const std::string& path,
                             const ResumeOptions& options) {
  ASSIGN_OR_RETURN(const TrainingPosition position,
                   LoadCheckpoint(path, Tensors(), Position(),
                                  options.allow_different_math));
  step_ = position.step;
  micro_step_ = position.micro_step;
  return absl::OkStatus();
}

}  // namespace reprise
