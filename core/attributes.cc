#include "core/attributes.h"

#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

template <typename T>
const T& Get(const std::map<std::string, AttrValue>& values,
             absl::string_view name) {
  const auto it = values.find(std::string(name));
  REPRISE_CHECK(it != values.end());
  const T* value = std::get_if<T>(&it->second);
  REPRISE_CHECK(value != nullptr);
  return *value;
}

std::string FloatText(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof(bits));
  return absl::StrCat(f, "/", absl::Hex(bits));
}

}  // namespace

AttrSpec::AttrSpec(std::string name, AttrKind kind, Need need)
    : name(std::move(name)), kind(kind), required(need == kRequired) {}

AttrSpec::AttrSpec(std::string name, AttrValue default_value)
    : name(std::move(name)),
      kind(KindOf(default_value)),
      has_default(true),
      default_value(std::move(default_value)) {}

AttrSpec AttrSpec::Allowing(FloatRange range) const {
  AttrSpec result = *this;
  result.float_range = range;
  return result;
}

bool Attrs::Has(absl::string_view name) const {
  return values_.count(std::string(name)) > 0;
}
int64_t Attrs::Int(absl::string_view name) const {
  return Get<int64_t>(values_, name);
}
float Attrs::Float(absl::string_view name) const {
  return Get<float>(values_, name);
}
const std::string& Attrs::String(absl::string_view name) const {
  return Get<std::string>(values_, name);
}
bool Attrs::Bool(absl::string_view name) const {
  return Get<bool>(values_, name);
}
DType Attrs::Type(absl::string_view name) const {
  return Get<DType>(values_, name);
}
const Ints& Attrs::IntList(absl::string_view name) const {
  return Get<Ints>(values_, name);
}
const Floats& Attrs::FloatList(absl::string_view name) const {
  return Get<Floats>(values_, name);
}
const Literal& Attrs::Tensor(absl::string_view name) const {
  return Get<Literal>(values_, name);
}

void Attrs::Set(absl::string_view name, AttrValue value) {
  values_.insert_or_assign(std::string(name), std::move(value));
}
void Attrs::Erase(absl::string_view name) { values_.erase(std::string(name)); }

std::string ToString(const AttrValue& value) {
  switch (KindOf(value)) {
    case AttrKind::kInt:
      return absl::StrCat(std::get<int64_t>(value));
    case AttrKind::kFloat:
      return FloatText(std::get<float>(value));
    case AttrKind::kString:
      return absl::StrCat("\"", absl::CEscape(std::get<std::string>(value)),
                          "\"");
    case AttrKind::kBool:
      return std::get<bool>(value) ? "true" : "false";
    case AttrKind::kType:
      return std::string(ToString(std::get<DType>(value)));
    case AttrKind::kInts:
      return DimsToString(std::get<Ints>(value));
    case AttrKind::kFloats:
      return absl::StrCat("{",
                          absl::StrJoin(std::get<Floats>(value), ",",
                                        [](std::string* out, float f) {
                                          absl::StrAppend(out, FloatText(f));
                                        }),
                          "}");
    case AttrKind::kTensor: {
      const Literal& literal = std::get<Literal>(value);
      return absl::StrCat(ToString(literal.type), ":",
                          absl::BytesToHexString(literal.data));
    }
  }
  return "";
}

std::string ToString(const Attrs& attrs) {
  return absl::StrJoin(
      attrs.values(), ",", [](std::string* out, const auto& entry) {
        absl::StrAppend(out, entry.first, "=", ToString(entry.second));
      });
}

}  // namespace reprise
