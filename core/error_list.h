// Gathers the mistakes found in one input, so that all are reported at once.

#ifndef CORE_ERROR_LIST_H_
#define CORE_ERROR_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace reprise {

class ErrorList {
 public:
  // Errors beyond this many are only counted.
  static constexpr int kMaxLines = 50;

  //   source: named at the start of every line, e.g. a file.
  explicit ErrorList(absl::string_view source) : source_(source) {}

  // Adds "source: message".
  void Add(absl::string_view message);

  // Adds "source: who: message" unless `status` is OK.
  void AddIfError(absl::string_view who, const absl::Status& status);

  bool empty() const { return num_errors_ == 0; }

  // Returns OK if nothing was added, or InvalidArgument with one error a line.
  absl::Status status() const;

 private:
  std::string source_;
  std::vector<std::string> lines_;
  int64_t num_errors_ = 0;
};

}  // namespace reprise

#endif  // CORE_ERROR_LIST_H_
