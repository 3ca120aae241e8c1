#include "tools/importer/node_form.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/names.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

using onnx::AttributeProto;

float ElementAsFloat(const Array& array, int64_t index) {
  return static_cast<float>(ElementAsDouble(array, index));
}

absl::Status WrongContent(const Array& array, absl::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("must be ", wanted, ", got ", ToString(array.type)));
}

bool IsIntegral(const Array& array) { return array.type.dtype != DType::kF32; }

// Whether the first element is a float and an integer, as OneHot's depth may
// be, of those that float32 has all of.
bool IsWholeFloat(const Array& array) {
  if (array.type.dtype != DType::kF32) return false;
  const float f = ElementAsFloat(array, 0);
  return std::abs(f) <= 1 << 24 && f == std::trunc(f);
}

}  // namespace

absl::StatusOr<AttrValue> ReadAttribute(const AttributeProto& attribute,
                                        TensorReader& reader) {
  if (!attribute.ref_attr_name().empty()) {
    return absl::InvalidArgumentError(
        "refers to an attribute of a function, and is in none");
  }
  switch (attribute.type()) {
    case AttributeProto::INT:
      return AttrValue(static_cast<int64_t>(attribute.i()));
    case AttributeProto::FLOAT:
      return AttrValue(attribute.f());
    case AttributeProto::STRING:
      if (!IsUtf8(attribute.s())) {
        return absl::InvalidArgumentError("is not UTF-8");
      }
      return AttrValue(attribute.s());
    case AttributeProto::STRINGS: {
      const std::string text = absl::StrJoin(attribute.strings(), ",");
      if (!IsUtf8(text)) return absl::InvalidArgumentError("is not UTF-8");
      return AttrValue(text);
    }
    case AttributeProto::INTS:
      return AttrValue(Ints(attribute.ints().begin(), attribute.ints().end()));
    case AttributeProto::FLOATS:
      return AttrValue(
          Floats(attribute.floats().begin(), attribute.floats().end()));
    case AttributeProto::TENSOR: {
      // Content may be taken out of it.
      onnx::TensorProto copy = attribute.t();
      ASSIGN_OR_RETURN(Array array, reader.Read(copy));
      return AttrValue(Literal{std::move(array.type), std::move(array.data)});
    }
    default:
      break;
  }
  const std::string kind =
      AttributeProto::AttributeType_IsValid(attribute.type())
          ? AttributeProto::AttributeType_Name(attribute.type())
          : absl::StrCat("number ", attribute.type());
  return absl::InvalidArgumentError(absl::StrCat("unsupported kind ", kind));
}

absl::Status CheckKind(absl::string_view name, const AttrValue& value) {
  static const auto* const kKinds =
      new std::map<std::string, AttrKind, std::less<>>{
          {"allowzero", AttrKind::kInt},
          {"axes", AttrKind::kInts},
          {"axis", AttrKind::kInt},
          {"end", AttrKind::kInt},
          {"ends", AttrKind::kInts},
          {"fmod", AttrKind::kInt},
          {"keepdims", AttrKind::kInt},
          {"momentum", AttrKind::kFloat},
          {"noop_with_empty_axes", AttrKind::kInt},
          {"num_groups", AttrKind::kInt},
          {"num_outputs", AttrKind::kInt},
          {"perm", AttrKind::kInts},
          {"ratio", AttrKind::kFloat},
          {"shape", AttrKind::kInts},
          {"split", AttrKind::kInts},
          {"start", AttrKind::kInt},
          {"starts", AttrKind::kInts},
          {"steps", AttrKind::kInts},
          {"to", AttrKind::kInt},
          {"training_mode", AttrKind::kInt},
      };
  const auto kind = kKinds->find(name);
  if (kind == kKinds->end() || kind->second == KindOf(value)) {
    return absl::OkStatus();
  }
  const char* const wanted = kind->second == AttrKind::kInt     ? "an integer"
                             : kind->second == AttrKind::kFloat ? "a float"
                                                                : "integers";
  return absl::InvalidArgumentError(
      absl::StrCat("must be ", wanted, ", got ", ToString(value)));
}

absl::StatusOr<AttrValue> AttrOfArray(const Array& array, AttrKind kind) {
  const int64_t n = array.type.num_elements();
  const bool one = n == 1 && array.type.rank() <= 1;
  switch (kind) {
    case AttrKind::kInt:
      if (one && IsWholeFloat(array)) {
        return AttrValue(static_cast<int64_t>(ElementAsFloat(array, 0)));
      }
      if (!one || !IsIntegral(array)) return WrongContent(array, "an integer");
      return AttrValue(ElementAsInt(array, 0));
    case AttrKind::kBool:
      if (!one || !IsIntegral(array)) return WrongContent(array, "a bool");
      return AttrValue(ElementAsInt(array, 0) != 0);
    case AttrKind::kFloat:
      if (!one) return WrongContent(array, "a number");
      return AttrValue(ElementAsFloat(array, 0));
    case AttrKind::kInts: {
      if (array.type.rank() != 1 || !IsIntegral(array)) {
        return WrongContent(array, "a vector of integers");
      }
      Ints ints(n);
      for (int64_t i = 0; i < n; ++i) ints[i] = ElementAsInt(array, i);
      return AttrValue(std::move(ints));
    }
    case AttrKind::kFloats: {
      if (array.type.rank() != 1 || IsIntegral(array)) {
        return WrongContent(array, "a vector of floats");
      }
      Floats floats(n);
      for (int64_t i = 0; i < n; ++i) floats[i] = ElementAsFloat(array, i);
      return AttrValue(std::move(floats));
    }
    case AttrKind::kTensor:
      return AttrValue(Literal{array.type, array.data});
    default:
      return absl::InvalidArgumentError("cannot be an operand");
  }
}

absl::Status FitAttrs(const OpDef& op, Attrs& attrs) {
  const std::map<std::string, AttrValue> given = attrs.values();
  std::vector<std::string> unknown;
  for (const auto& [name, value] : given) {
    const AttrSpec* found = nullptr;
    for (const AttrSpec& spec : op.attrs) {
      if (spec.name == name) found = &spec;
    }
    if (found == nullptr) {
      unknown.push_back(name);
      continue;
    }
    const int64_t* const number = std::get_if<int64_t>(&value);
    if (number == nullptr) continue;
    if (found->kind == AttrKind::kBool) {
      attrs.Set(name, *number != 0);
    } else if (found->kind == AttrKind::kType) {
      absl::StatusOr<DType> dtype = DTypeOfOnnx(*number);
      if (!dtype.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("attribute '", name, "': ", dtype.status().message()));
      }
      attrs.Set(name, *dtype);
    }
  }
  if (unknown.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("unsupported attribute", unknown.size() > 1 ? "s" : "", " '",
                   absl::StrJoin(unknown, "', '"), "'"));
}

}  // namespace reprise
