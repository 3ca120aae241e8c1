// The typed attributes of a node, and what an operator says it accepts.

#ifndef CORE_ATTRIBUTES_H_
#define CORE_ATTRIBUTES_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/tensor_type.h"

namespace reprise {

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

// Constant content given in a graph file, at most 1 MiB.
struct Literal {
  TensorType type;
  std::string data;  // row-major, little-endian
  friend bool operator==(const Literal& a, const Literal& b) {
    return a.type == b.type && a.data == b.data;
  }
};

// The alternatives stand in the order of AttrKind.
using AttrValue = std::variant<int64_t, float, std::string, bool, DType, Ints,
                               Floats, Literal>;

enum class AttrKind : uint8_t {
  kInt,
  kFloat,
  kString,
  kBool,
  kType,
  kInts,
  kFloats,
  kTensor,
};

inline AttrKind KindOf(const AttrValue& value) {
  return static_cast<AttrKind>(value.index());
}

// What the numbers of a float attribute may be besides finite.
enum class FloatRange : uint8_t {
  kFinite,
  kInfinite,  // a bound: infinities too
  kAny,       // an element of results as it stands: NaN too
};

// One attribute that an operator accepts.
struct AttrSpec {
  enum Need { kRequired, kOptional };

  // No default: `Attrs::Has` tells whether it was given.
  AttrSpec(std::string name, AttrKind kind, Need need = kOptional);
  // With a default, filled in by the loader: always there.
  AttrSpec(std::string name, AttrValue default_value);

  // The same attribute, with another range than kFinite.
  AttrSpec Allowing(FloatRange range) const;

  std::string name;
  AttrKind kind;
  bool required = false;
  bool has_default = false;
  AttrValue default_value = int64_t{0};
  FloatRange float_range = FloatRange::kFinite;
};

// Attributes by name. Getters require that the attribute is there with that
// kind: the loader has filled in defaults and judged kinds.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<const std::string, AttrValue>> init)
      : values_(init) {}

  bool Has(absl::string_view name) const;
  int64_t Int(absl::string_view name) const;
  float Float(absl::string_view name) const;
  const std::string& String(absl::string_view name) const;
  bool Bool(absl::string_view name) const;
  DType Type(absl::string_view name) const;
  const Ints& IntList(absl::string_view name) const;
  const Floats& FloatList(absl::string_view name) const;
  const Literal& Tensor(absl::string_view name) const;

  void Set(absl::string_view name, AttrValue value);
  void Erase(absl::string_view name);

  // In the order of names.
  const std::map<std::string, AttrValue>& values() const { return values_; }

  friend bool operator==(const Attrs& a, const Attrs& b) {
    return a.values_ == b.values_;
  }

 private:
  std::map<std::string, AttrValue> values_;
};

// Returns one attribute value as text that determines it: equal text iff equal
// value (floats by their bits).
std::string ToString(const AttrValue& value);

// Returns all attributes likewise, e.g. "axis=1,keepdims=1".
std::string ToString(const Attrs& attrs);

}  // namespace reprise

#endif  // CORE_ATTRIBUTES_H_
