#include "core/op_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"

namespace reprise {

OpTable::OpTable(std::vector<OpDef> ops) {
  for (OpDef& op : ops) {
    std::string name = op.name;
    REPRISE_CHECK(ops_.emplace(std::move(name), std::move(op)).second);
  }
}

const OpDef* OpTable::Find(absl::string_view name) const {
  const auto it = ops_.find(std::string(name));
  return it == ops_.end() ? nullptr : &it->second;
}

const OpDef& OpTable::Get(absl::string_view name) const {
  const OpDef* op = Find(name);
  REPRISE_CHECK(op != nullptr);
  return *op;
}

std::string SignatureKey(const Signature& signature) {
  std::string key =
      absl::StrCat(signature.op->name, "{", ToString(signature.attrs), "}");
  const auto append = [&key](const std::vector<TensorType>& types,
                             const std::vector<Layout>& layouts) {
    for (size_t i = 0; i < types.size(); ++i) {
      absl::StrAppend(&key, i > 0 ? "," : "", ToString(types[i]));
      if (i < layouts.size() && !layouts[i].row_major()) {
        absl::StrAppend(&key, ":", layouts[i].format);
      }
    }
  };
  absl::StrAppend(&key, "(");
  append(signature.in, signature.in_layouts);
  absl::StrAppend(&key, ")->(");
  append(signature.out, signature.out_layouts);
  absl::StrAppend(&key, ")");
  return key;
}

}  // namespace reprise
