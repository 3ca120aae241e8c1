// The progress of a long run, on a terminal and elsewhere.

#include "tools/commands/progress.h"

#include <sstream>

#include "gtest/gtest.h"
#include "tools/commands/text_table.h"

namespace reprise {
namespace {

TEST(ProgressTest, IsLinesOnlyWhereThereIsNoTerminal) {
  std::ostringstream out;
  std::ostringstream err;
  const Console console{out, err};
  {
    Progress progress(console, 10);
    progress.Update(5, "halfway");
    progress.Line("a report");
  }
  EXPECT_EQ(out.str(), "a report\n");
  EXPECT_EQ(err.str(), "");
}

// 5 of 10 steps fill 15 of 30 places. The bar goes before a line comes, and at
// the end.
TEST(ProgressTest, IsABarOnATerminal) {
  std::ostringstream out;
  std::ostringstream err;
  const Console console{out, err, /*err_is_terminal=*/true};
  {
    Progress progress(console, 10);
    progress.Update(5, "halfway");
    EXPECT_EQ(err.str(), "[###############...............] 5/10  halfway");
    progress.Line("a report");
  }
  EXPECT_EQ(out.str(), "a report\n");
  EXPECT_EQ(err.str(),
            "[###############...............] 5/10  halfway\r\x1b[K");
}

TEST(ProgressTest, RedrawsAtMostTenTimesASecond) {
  std::ostringstream out;
  std::ostringstream err;
  const Console console{out, err, /*err_is_terminal=*/true};
  Progress progress(console, 1000000);
  for (int i = 0; i < 1000; ++i) progress.Update(i, "");
  // A thousand updates take far less than ten seconds.
  EXPECT_LT(err.str().size(), 100u * 50);
}

TEST(TextTableTest, AlignsColumns) {
  TextTable table({"name", ">bytes", "why"});
  table.AddRow({"x", "262,144", ""});
  table.AddRow({"weights", "0", "kept"});
  EXPECT_EQ(table.ToString(),
            "  name       bytes  why\n"
            "  x        262,144\n"
            "  weights        0  kept\n");
}

}  // namespace
}  // namespace reprise
