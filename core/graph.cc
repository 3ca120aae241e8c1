#include "core/graph.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise {

std::string ToString(const Policy& policy) {
  switch (policy.kind) {
    case Policy::Kind::kSaveNothing:
      return "save_nothing";
    case Policy::Kind::kSaveEverything:
      return "save_everything";
    case Policy::Kind::kSaveMatmuls:
      return "save_matmuls";
    case Policy::Kind::kSaveMatmulsWithoutBatchDims:
      return "save_matmuls_without_batch_dims";
    case Policy::Kind::kSaveNames:
      return absl::StrCat("save_names{", absl::StrJoin(policy.names, ","), "}");
    case Policy::Kind::kSaveAllButNames:
      return absl::StrCat("save_all_but_names{",
                          absl::StrJoin(policy.names, ","), "}");
    case Policy::Kind::kSaveOps:
      return absl::StrCat("save_ops{", absl::StrJoin(policy.names, ","), "}");
    case Policy::Kind::kAnyOf:
      return absl::StrCat("any_of{",
                          absl::StrJoin(policy.any_of, ",",
                                        [](std::string* out, const Policy& p) {
                                          absl::StrAppend(out, ToString(p));
                                        }),
                          "}");
    case Policy::Kind::kAuto:
      return "auto";
  }
  return "";
}

bool MatchesGlob(absl::string_view glob, absl::string_view name) {
  // Greedy with one point to come back to: after the last star seen.
  size_t g = 0;
  size_t n = 0;
  size_t star = absl::string_view::npos;
  size_t resume = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = n;
    } else if (g < glob.size() && glob[g] == name[n]) {
      ++g;
      ++n;
    } else if (star != absl::string_view::npos) {
      g = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

ValueId Graph::FindValue(absl::string_view name) const {
  for (size_t v = 0; v < values.size(); ++v) {
    if (values[v].name == name) return static_cast<ValueId>(v);
  }
  return kNoValue;
}

}  // namespace reprise
