// ONNX's attributes and constant operands as attributes of ours.

#ifndef TOOLS_IMPORTER_NODE_FORM_H_
#define TOOLS_IMPORTER_NODE_FORM_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/attributes.h"
#include "core/op.h"
#include "onnx/onnx_pb.h"
#include "tools/data/array.h"
#include "tools/importer/onnx_file.h"

namespace reprise {

// Returns the value of `attribute` with the kind that it is written in.
//
//   returns: a list of strings with commas between.
//   errors:  InvalidArgument for kinds that no operator of ours takes (graphs,
//            sparse tensors, ...), text that is not UTF-8, or a tensor that
//            cannot be read.
absl::StatusOr<AttrValue> ReadAttribute(const onnx::AttributeProto& attribute,
                                        TensorReader& reader);

// Checks the kind of an attribute that this folder itself reads, by its name,
// which has one kind in all of ONNX.
//
//   errors: InvalidArgument with both kinds.
absl::Status CheckKind(absl::string_view name, const AttrValue& value);

// Returns constant content as an attribute of that kind.
//
//   errors: InvalidArgument if the content has another element type or rank.
absl::StatusOr<AttrValue> AttrOfArray(const Array& array, AttrKind kind);

// Gives each attribute the kind that `op` wants where ONNX writes it in
// another: integers for bools and element types.
//
//   errors: InvalidArgument naming every attribute that `op` does not have.
absl::Status FitAttrs(const OpDef& op, Attrs& attrs);

}  // namespace reprise

#endif  // TOOLS_IMPORTER_NODE_FORM_H_
