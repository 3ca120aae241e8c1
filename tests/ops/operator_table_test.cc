// docs/operator_table.md says what the operators are.

#include "tests/ops/operator_table.h"

#include <string>

#include "core/file.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(OperatorTableTest, ThePageIsWhatTheOperatorsAre) {
  const absl::StatusOr<std::string> page =
      ReadFile("docs/operator_table.md", 1 << 20);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(*page, OperatorTable())
      << "bazel run //tests/ops:write_operator_table";
}

}  // namespace
}  // namespace reprise
