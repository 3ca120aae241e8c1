#include "tools/importer/resize_rule.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

bool IsEmptyList(const Attrs& attrs, const char* name) {
  if (!attrs.Has(name)) return false;
  const AttrValue& value = attrs.values().find(name)->second;
  if (const Ints* ints = std::get_if<Ints>(&value)) return ints->empty();
  if (const Floats* floats = std::get_if<Floats>(&value)) {
    return floats->empty();
  }
  return false;
}

}  // namespace

absl::Status RuleResize(GraphImporter& graph, ImportNode& node) {
  for (const char* const name : {"roi", "scales", "sizes"}) {
    if (IsEmptyList(node.attrs, name)) node.attrs.Erase(name);
  }
  if (graph.version() < 11) {
    node.attrs.Set("coordinate_transformation_mode", std::string("asymmetric"));
    node.attrs.Set("nearest_mode", std::string("floor"));
  }
  return absl::OkStatus();
}

}  // namespace reprise
