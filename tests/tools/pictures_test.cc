// Pages with pictures: what they carry is what was planned, nothing in them is
// left open, and they need nothing but themselves.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "core/check_plan.h"
#include "gtest/gtest.h"
#include "tests/tools/command_line.h"
#include "tools/commands/html.h"
#include "tools/commands/plan_picture.h"
#include "tools/commands/sweep_picture.h"

namespace reprise {
namespace {

constexpr char kTransformer[] = "examples/char_transformer.textproto";
constexpr char kEvil[] = "a<b>&\"'</script><script>alert(1)</script>\xff";

TrainerOptions OneThread() {
  TrainerOptions options;
  options.threads = 1;
  options.plan.work_limit = 20'000;  // any search will do here
  return options;
}

PlannedTrainer PlanOf(const std::string& path, const TrainerOptions& options) {
  const absl::StatusOr<proto::Graph> graph = ReadGraphFile(path);
  EXPECT_TRUE(graph.ok()) << graph.status();
  proto::TrainConfig config;
  config.set_format_version(1);
  config.mutable_adam();
  absl::StatusOr<PlannedTrainer> planned = PlanTrainer(*graph, config, options);
  EXPECT_TRUE(planned.ok()) << planned.status();
  return *std::move(planned);
}

struct Element {
  std::string name;
  std::string content;  // of script and style, up to their end
};

// The elements of a page, in order. Every tag must be closed by its like; what
// stands in script and style ends at the first "</". Attributes are quoted.
std::vector<Element> Elements(const std::string& page) {
  const std::set<std::string> empty = {"meta", "input"};
  std::vector<Element> elements;
  std::vector<std::string> open;
  EXPECT_TRUE(absl::StartsWith(page, "<!DOCTYPE html>\n"));
  size_t at = page.find('\n');
  while ((at = page.find('<', at)) != std::string::npos) {
    const size_t end = page.find('>', at);
    EXPECT_NE(end, std::string::npos);
    if (end == std::string::npos) return elements;
    const std::string tag = page.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag[0] == '/') {
      EXPECT_FALSE(open.empty()) << tag;
      if (open.empty()) return elements;
      EXPECT_EQ(open.back(), tag.substr(1));
      open.pop_back();
      continue;
    }
    Element element;
    element.name = tag.substr(0, tag.find_first_of(" /"));
    for (size_t q = tag.find('='); q != std::string::npos;) {
      EXPECT_EQ(tag[q + 1], '"') << tag;
      q = tag.find('"', q + 2);
      EXPECT_NE(q, std::string::npos) << tag;
      q = tag.find('=', q);
    }
    if (element.name == "script" || element.name == "style") {
      const size_t close = page.find("</", at);
      element.content = page.substr(at, close - at);
      at = close;
    }
    if (tag.back() != '/' && empty.count(element.name) == 0) {
      open.push_back(element.name);
    }
    elements.push_back(std::move(element));
  }
  EXPECT_TRUE(open.empty()) << open.size();
  return elements;
}

int Count(const std::vector<Element>& elements, const std::string& name) {
  int count = 0;
  for (const Element& element : elements) count += element.name == name;
  return count;
}

void ExpectSelfContained(const std::string& page) {
  for (const char* outside : {"http:", "https:", "src=", "href=", "url(",
                              "@import", "fetch(", "XMLHttp"}) {
    EXPECT_FALSE(absl::StrContains(page, outside)) << outside;
  }
}

// The data of the plan's page, as the script gets it.
nlohmann::json DataOf(const std::vector<Element>& elements) {
  for (const Element& element : elements) {
    if (element.name == "script") return nlohmann::json::parse(element.content);
  }
  return {};
}

TEST(HtmlTest, TextIsEscaped) {
  EXPECT_EQ(EscapeHtml("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(EscapeHtml("gr\xc3\xb6\xc3\x9f"
                       "e"),
            "gr\xc3\xb6\xc3\x9f"
            "e");
  // Not UTF-8, and no character of a page.
  EXPECT_EQ(EscapeHtml("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(EscapeHtml(std::string("\x01", 1)), "\xef\xbf\xbd");
}

TEST(HtmlTest, NothingEndsAScript) {
  const std::string text = JsonInScript({{"name", kEvil}});
  EXPECT_FALSE(absl::StrContains(text, "<")) << text;
  const nlohmann::json read = nlohmann::json::parse(text);
  EXPECT_TRUE(absl::StrContains(read["name"].get<std::string>(), "</script>"));
}

// Each rectangle is a range of the checker, and those at the peak step sum up
// to what the planner's report says of each class.
TEST(PlanPictureTest, ShowsWhatThePlannerSays) {
  TrainerOptions options = OneThread();
  const PlannedTrainer free = PlanOf(kTransformer, options);
  const int64_t smallest = free.smallest_arena_bytes();
  // The graph's own regions replay; a budget below their arena makes the
  // planner replay too, if there is one.
  for (const int64_t budget : {free.plan.arena_bytes, smallest}) {
    options.plan.budget_bytes = budget;
    const PlannedTrainer planned = PlanOf(kTransformer, options);
    const PlannedPass& pass = *planned.plan.passes.front();
    const absl::StatusOr<std::string> page = PlanPicture(kEvil, planned);
    ASSERT_TRUE(page.ok()) << page.status();
    ExpectSelfContained(*page);
    const std::vector<Element> elements = Elements(*page);
    EXPECT_EQ(Count(elements, "script"), 2);
    EXPECT_EQ(Count(elements, "canvas"), 1);
    const nlohmann::json data = DataOf(elements);

    const absl::StatusOr<PlanFacts> facts = CheckPlan(pass.lowered, pass.plan);
    ASSERT_TRUE(facts.ok()) << facts.status();
    size_t ranges = 0;
    for (const LiveRange& range : facts->ranges) ranges += range.bytes > 0;
    EXPECT_EQ(data["buffers"].size(), ranges);
    EXPECT_EQ(data["steps"].size(), pass.plan.steps.size());
    // A page of 25 KB, and for each buffer and step some numbers and names.
    EXPECT_LT(page->size(),
              25'000 + 150 * ranges + 150 * pass.plan.steps.size());

    int64_t most = 0;
    for (const nlohmann::json& live : data["live"]) {
      most = std::max(most, live.get<int64_t>());
    }
    EXPECT_EQ(most, pass.plan.peak_live_bytes);
    std::map<std::string, int64_t> by_class;
    for (const nlohmann::json& b : data["buffers"]) {
      if (b[4] > pass.plan.peak_step || b[5] <= pass.plan.peak_step) continue;
      by_class[data["classes"][b[1].get<int>()]["name"]] += b[3].get<int64_t>();
    }
    const BytesByClass& said = planned.reports.front().bytes_by_class;
    EXPECT_EQ(by_class["parameters"], said.parameters);
    EXPECT_EQ(by_class["gradients"], said.gradients);
    EXPECT_EQ(by_class["optimizer_state"], said.optimizer_state);
    EXPECT_EQ(by_class["state"], said.state);
    EXPECT_EQ(by_class["inputs"], said.inputs);
    EXPECT_EQ(by_class["residuals"], said.residuals);
    EXPECT_EQ(by_class["temporaries"], said.temporaries);
    EXPECT_EQ(by_class["workspaces"], said.workspaces);
    EXPECT_EQ(by_class["scratchpads"], said.scratchpads);
  }
}

TEST(PlanPictureTest, MarksReplayedSteps) {
  const PlannedTrainer planned = PlanOf(kTransformer, OneThread());
  const absl::StatusOr<Json> data =
      PlanPictureData(planned.plan, *planned.plan.passes.front());
  ASSERT_TRUE(data.ok()) << data.status();
  int replayed = 0;
  for (const Json& step : (*data)["steps"]) replayed += step[1] > 0;
  EXPECT_GT(replayed, 0);
  EXPECT_EQ(replayed, planned.reports.front().recomputed_steps);
}

TradeOff Point(int64_t arena, int64_t added) {
  TradeOff point;
  point.arena_bytes = arena;
  point.peak_live_bytes = arena;
  point.added_cost_nanoseconds = added;
  point.cost_nanoseconds = 1000;
  return point;
}

TEST(SweepPictureTest, HasACircleForEachPlanAndTwoMarks) {
  Sweep sweep;
  sweep.curve = {Point(4000, 0), Point(3000, 10), Point(2000, 400)};
  sweep.save_everything = sweep.curve[0];
  sweep.annotated = Point(2500, 300);
  sweep.working_set_bytes = 1500;
  const std::string page = SweepPicture(kEvil, sweep);
  ExpectSelfContained(page);
  const std::vector<Element> elements = Elements(page);
  EXPECT_EQ(Count(elements, "circle"), 5);
  // A header, two marked plans, three of the curve.
  EXPECT_EQ(Count(elements, "tr"), 6);
  EXPECT_EQ(Count(elements, "script"), 0);
}

// One plan, no cost, nothing between the smallest and the largest arena.
TEST(SweepPictureTest, ACurveOfOnePointIsDrawn) {
  Sweep sweep;
  sweep.curve = {Point(64, 0)};
  sweep.save_everything = sweep.annotated = sweep.curve[0];
  sweep.working_set_bytes = 64;
  const std::string page = SweepPicture("m", sweep);
  // Its circle and one mark, for both are there.
  EXPECT_EQ(Count(Elements(page), "circle"), 2);
  EXPECT_FALSE(absl::StrContains(page, "nan"));
  EXPECT_FALSE(absl::StrContains(page, "inf"));
}

}  // namespace
}  // namespace reprise
