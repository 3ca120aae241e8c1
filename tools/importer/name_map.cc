#include "tools/importer/name_map.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/names.h"

namespace reprise {
namespace {

// Room for a suffix below the limit of names.
constexpr size_t kMaxStemBytes = kMaxNameBytes - 16;

bool IsAllowed(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '.' || c == '/' || c == ':' || c == '-';
}

// Returns a name of the allowed form that looks like `name`.
std::string Allowed(absl::string_view name) {
  std::string result(name.substr(0, kMaxStemBytes));
  for (char& c : result) {
    if (!IsAllowed(c)) c = '_';
  }
  while (!result.empty() && (result.front() == '_' || result.front() == ':' ||
                             result.front() == '-')) {
    result.erase(0, 1);
  }
  return result.empty() ? "value" : result;
}

}  // namespace

void NameMap::Reserve(absl::string_view name) {
  if (!CheckName(name).ok()) return;
  ours_.emplace(name, name);
  taken_.insert(std::string(name));
}

const std::string& NameMap::Map(absl::string_view name) {
  const auto [it, added] = ours_.try_emplace(name);
  if (added) it->second = Unique(Allowed(name));
  return it->second;
}

std::string NameMap::Fresh(absl::string_view stem) {
  return Unique(Allowed(stem));
}

std::string NameMap::Unique(std::string stem) {
  if (taken_.insert(stem).second) return stem;
  int& next = next_suffix_[stem];
  while (true) {
    std::string name = absl::StrCat(stem, "_", ++next);
    if (taken_.insert(name).second) return name;
  }
}

std::map<std::string, std::string> NameMap::Changed() const {
  std::map<std::string, std::string> changed;
  for (const auto& [theirs, ours] : ours_) {
    if (theirs != ours) changed.emplace(ours, theirs);
  }
  return changed;
}

}  // namespace reprise
