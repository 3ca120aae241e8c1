#include "core/error_list.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise {

void ErrorList::Add(absl::string_view message) {
  ++num_errors_;
  if (num_errors_ > kMaxLines) return;
  lines_.push_back(absl::StrCat(source_, ": ", message));
}

void ErrorList::AddIfError(absl::string_view who, const absl::Status& status) {
  if (!status.ok()) Add(absl::StrCat(who, ": ", status.message()));
}

absl::Status ErrorList::status() const {
  if (num_errors_ == 0) return absl::OkStatus();
  std::string text = absl::StrJoin(lines_, "\n");
  if (num_errors_ > kMaxLines) {
    absl::StrAppend(&text, "\n", source_, ": ", num_errors_ - kMaxLines,
                    " more errors");
  }
  return absl::InvalidArgumentError(text);
}

}  // namespace reprise
