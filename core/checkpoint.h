// Weights and training checkpoints, both safetensors files.
//
// Weights are parameters and states under their own names, so that other
// programs read them. A checkpoint has in addition what a bit-equal
// continuation needs: optimizer slots and accumulators (whose names begin with
// "__"), and as metadata the position and the fingerprints.

#ifndef CORE_CHECKPOINT_H_
#define CORE_CHECKPOINT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/graph.h"
#include "core/load.h"
#include "core/safetensors.h"
#include "core/tensor_type.h"

namespace reprise {

// A persistent value of a trainer.
struct PersistentTensor {
  std::string name;
  TensorType type;
  ValueKind kind = ValueKind::kParameter;
  void* data = nullptr;  // type.bytes() bytes, row-major
};

// Where training stands, and of what.
struct TrainingPosition {
  int64_t step = 0;        // optimizer steps completed
  int64_t micro_step = 0;  // within the step, with gradient accumulation
  uint64_t seed = 0;
  Fingerprints fingerprints;
};

// Writes the parameters and states among `tensors`; the old file or the new
// one stands, whole.
absl::Status SaveWeights(const std::string& path,
                         absl::Span<const PersistentTensor> tensors);

// Reads the parameters and states among `tensors` from a weights file or a
// checkpoint.
//
//   errors: those of SafetensorsFile::Open; FailedPrecondition listing every
//           tensor that is missing in the file, has another type there, or is
//           unknown here. Nothing has been read then.
absl::Status LoadWeights(const std::string& path,
                         absl::Span<const PersistentTensor> tensors);

// Copies `weights` into the parameters and states among `tensors`.
//
//   source: named at the start of every error.
//   errors: as LoadWeights.
absl::Status CopyWeights(absl::Span<const TensorView> weights,
                         absl::Span<const PersistentTensor> tensors,
                         absl::string_view source);

// Writes all of `tensors` but scalars, and `position`; the old file or the new
// one stands, whole.
absl::Status SaveCheckpoint(const std::string& path,
                            absl::Span<const PersistentTensor> tensors,
                            const TrainingPosition& position);

// Reads what SaveCheckpoint has written.
//
//   here:    seed and fingerprints of the trainer that wants to go on.
//   allow_different_math: go on although the seed or the math fingerprint
//            differs.
//   returns: the position in the file.
//   errors:  those of SafetensorsFile::Open; InvalidArgument if the file is no
//            checkpoint of this version; FailedPrecondition listing what
//            differs. Nothing has been read then.
absl::StatusOr<TrainingPosition> LoadCheckpoint(
    const std::string& path, absl::Span<const PersistentTensor> tensors,
    const TrainingPosition& here, bool allow_different_math);

}  // namespace reprise

#endif  // CORE_CHECKPOINT_H_
