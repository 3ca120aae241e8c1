// What a training configuration (proto/train.proto) means and must obey.

#ifndef CORE_TRAIN_CONFIG_H_
#define CORE_TRAIN_CONFIG_H_

#include <cstdint>

#include "absl/status/status.h"
#include "core/graph.h"
#include "proto/train.pb.h"

namespace reprise {

// Returns InvalidArgument naming field and number if `config` makes no sense.
absl::Status CheckTrainConfig(const proto::TrainConfig& config);

// Returns InvalidArgument if the pattern of an override is empty or matches no
// parameter of `model`: one without effect is a mistake.
absl::Status CheckOverrides(const proto::TrainConfig& config,
                            const Graph& model);

// Returns the learning rate of optimizer step `step` (from 0).
double LearningRate(const proto::TrainConfig& config, int64_t step);

}  // namespace reprise

#endif  // CORE_TRAIN_CONFIG_H_
