// The model that docs/formats.md shows is one that loads.

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "core/file.h"
#include "core/proto_file.h"
#include "gtest/gtest.h"
#include "reprise.h"

namespace reprise {
namespace {

TEST(FormatsPageTest, ItsModelLoads) {
  const absl::StatusOr<std::string> page = ReadFile("docs/formats.md", 1 << 20);
  ASSERT_TRUE(page.ok()) << page.status();
  constexpr absl::string_view kFence = "```textproto\n";
  const size_t begin = page->find(std::string(kFence));
  ASSERT_NE(begin, std::string::npos);
  const size_t end = page->find("```", begin + kFence.size());
  proto::Graph file;
  const absl::Status parsed = ParseText(
      page->substr(begin + kFence.size(), end - begin - kFence.size()),
      "docs/formats.md", file);
  ASSERT_TRUE(parsed.ok()) << parsed;
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  const absl::StatusOr<Graph> graph =
      LoadGraph(file, *ops, {}, "docs/formats.md");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes.size(), 2u);
}

}  // namespace
}  // namespace reprise
