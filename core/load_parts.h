// The small messages of a model file, one by one, turned into what the graph
// holds or refused. Every error here is a rule and numbers; callers add who.

#ifndef CORE_LOAD_PARTS_H_
#define CORE_LOAD_PARTS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/attributes.h"
#include "core/graph.h"
#include "core/op_table.h"
#include "core/tensor_type.h"
#include "google/protobuf/message.h"
#include "proto/graph.pb.h"

namespace reprise {

inline constexpr int64_t kMaxLiteralBytes = int64_t{1} << 20;
inline constexpr int kMaxPolicyNesting = 16;

using Symbols = std::map<std::string, int64_t>;

// Ok iff `message` itself (not what it contains) has no field that this
// version does not know.
absl::Status CheckNoUnknownFields(const google::protobuf::Message& message);

// Returns the element type; InvalidArgument if it is unspecified or unknown.
absl::StatusOr<DType> ReadDType(proto::DType dtype);

// Returns the type with its symbols bound.
absl::StatusOr<TensorType> ReadTensorType(const proto::TensorType& type,
                                          const Symbols& symbols);

// Returns constant content as little-endian bytes, whichever of the three
// content fields has it.
absl::StatusOr<Literal> ReadLiteral(const proto::Tensor& tensor,
                                    const Symbols& symbols);

absl::StatusOr<AttrValue> ReadAttribute(const proto::Attribute& attribute,
                                        const Symbols& symbols);

// Ok iff `initializer` can fill a value of type `type`.
absl::Status CheckInitializer(const proto::Initializer& initializer,
                              const TensorType& type, const Symbols& symbols);

absl::StatusOr<Policy> ReadPolicy(const proto::Policy& policy,
                                  const OpTable& ops);

}  // namespace reprise

#endif  // CORE_LOAD_PARTS_H_
