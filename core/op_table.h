// The operators known to a program, by name.

#ifndef CORE_OP_TABLE_H_
#define CORE_OP_TABLE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/op.h"

namespace reprise {

// Owns OpDefs at stable addresses; graphs point into it and must not outlive
// it.
class OpTable {
 public:
  // Names must be unique.
  explicit OpTable(std::vector<OpDef> ops);
  OpTable(const OpTable&) = delete;
  OpTable& operator=(const OpTable&) = delete;

  // Returns the operator, or nullptr.
  const OpDef* Find(absl::string_view name) const;

  // Returns the operator; ends the process if it is not there.
  const OpDef& Get(absl::string_view name) const;

  // In the order of names.
  const std::map<std::string, OpDef, std::less<>>& ops() const { return ops_; }

 private:
  std::map<std::string, OpDef, std::less<>> ops_;
};

}  // namespace reprise

#endif  // CORE_OP_TABLE_H_
