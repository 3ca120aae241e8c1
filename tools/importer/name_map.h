// Names of a foreign model turned into names that a graph file allows.

#ifndef TOOLS_IMPORTER_NAME_MAP_H_
#define TOOLS_IMPORTER_NAME_MAP_H_

#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace reprise {

// An injective map. A name that CheckName accepts stays as it is; in another
// one, what is not allowed becomes '_', and a number behind it keeps it apart
// from all others. Every name that could stay must be reserved before any other
// is mapped.
class NameMap {
 public:
  // Says that `name` is in use, so that it stays itself if it can.
  void Reserve(absl::string_view name);

  // Returns the name that stands for `name`: the same one each time.
  const std::string& Map(absl::string_view name);

  // Returns a name that stands for no name of the model, like `stem`.
  std::string Fresh(absl::string_view stem);

  // Our name to the model's, where they differ.
  std::map<std::string, std::string> Changed() const;

 private:
  std::string Unique(std::string stem);

  absl::flat_hash_map<std::string, std::string> ours_;
  absl::flat_hash_set<std::string> taken_;
  absl::flat_hash_map<std::string, int> next_suffix_;
};

}  // namespace reprise

#endif  // TOOLS_IMPORTER_NAME_MAP_H_
