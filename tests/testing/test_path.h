// Where a test writes its files.

#ifndef TESTS_TESTING_TEST_PATH_H_
#define TESTS_TESTING_TEST_PATH_H_

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace reprise {

// Returns a path that no other process of the same tests uses.
inline std::string TestPath(absl::string_view name) {
  return absl::StrCat(::testing::TempDir(), "/reprise_", getpid(), "_", name);
}

}  // namespace reprise

#endif  // TESTS_TESTING_TEST_PATH_H_
