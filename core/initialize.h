// The first content of parameters and states.

#ifndef CORE_INITIALIZE_H_
#define CORE_INITIALIZE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/tensor_type.h"
#include "proto/graph.pb.h"

namespace reprise {

// Writes the content that `initializer` asks for. Each element is a function
// of (seed, name, index in row-major order) alone: the same on every machine,
// whatever else the graph holds and whoever is filled first.
//
// An initializer with nothing set stands for the default: of an f32 value of
// rank 2 or more, variance_scaling { scale: 1 mode: FAN_AVG } (Glorot's uniform
// one); zeros for all others.
//
//   type:   of the value; the loader has judged that the initializer fits it.
//   data:   row-major; at least type.bytes() bytes, the others are left alone.
//   errors: InvalidArgument starting with the name if it does not fit.
absl::Status FillInitial(const proto::Initializer& initializer,
                         absl::string_view name, const TensorType& type,
                         uint64_t seed, absl::Span<char> data);

}  // namespace reprise

#endif  // CORE_INITIALIZE_H_
