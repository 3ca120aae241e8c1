#include "planner/report.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "planner/planner.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/toy_net.h"

namespace reprise {
namespace {

PlanReport ReportOf(const LoweredBuilder& b) {
  const absl::StatusOr<PlanResult> result =
      MakePlan(b.step(), b.graph(), PlanMode::kGradients,
               PlacePersistent(b.step(), b.graph()), PlanOptions());
  EXPECT_TRUE(result.ok()) << result.status();
  return result->report;
}

const Residual* Find(const PlanReport& report, const std::string& value) {
  for (const Residual& r : report.residuals) {
    if (r.value == value) return &r;
  }
  return nullptr;
}

std::string ReasonOf(const PlanReport& report, const std::string& value) {
  const Residual* r = Find(report, value);
  return r == nullptr ? "not listed" : r->reason;
}

TEST(ResidualsTest, SayWhoMakesAndWhoReadsThem) {
  ToyNet net;
  const LoweredValueId a = net.S("a", net.Input());
  const PlanReport report = ReportOf(net.Differentiate(net.S("b", a)));
  const Residual* r = Find(report, "a");
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->bytes, ToyNet::kBytes);
  EXPECT_EQ(r->producer, "a");
  EXPECT_EQ(r->producer_op, "S");
  EXPECT_EQ(r->readers, std::vector<std::string>{"b"});
  EXPECT_EQ(r->region, "");
  EXPECT_EQ(r->reason, "read by the gradient of 'b', in no region");
}

TEST(ResidualsTest, AnInputAddsNoBytes) {
  ToyNet net;
  const PlanReport report =
      ReportOf(net.Differentiate(net.S("a", net.Input())));
  ASSERT_EQ(report.residuals.size(), 1u);
  EXPECT_EQ(report.residuals[0].value, "x");
  EXPECT_EQ(report.residuals[0].bytes, 0);
  EXPECT_EQ(report.residuals[0].reason, "read by the gradient of 'a'");
}

TEST(ResidualsTest, GiveTheReasonOfARegion) {
  ToyNet net;
  const RegionId r = net.Region("r", kNoRegion, SaveNames({"kept"}));
  const LoweredValueId u = net.L("u", {net.Input()});
  const LoweredValueId dropped = net.L("dropped", {u}, r);
  const LoweredValueId s = net.S("s", dropped, r);
  const LoweredValueId kept = net.L("kept", {s}, r);
  const LoweredValueId out = net.S("out", kept, r);
  const PlanReport report = ReportOf(net.Differentiate(net.S("loose", out)));
  EXPECT_EQ(ReasonOf(report, "u"), "input of region 'r', read by its replay");
  EXPECT_EQ(ReasonOf(report, "kept"),
            "saved by policy save_names{kept} of region 'r'");
  EXPECT_EQ(ReasonOf(report, "out"),
            "read by the gradient of 'loose' outside region 'r'");
  EXPECT_EQ(ReasonOf(report, "dropped"), "not listed");
  EXPECT_EQ(Find(report, "kept")->region, "r");
}

TEST(ResidualsTest, MustSaveIsAReason) {
  ToyNet net;
  const RegionId r = net.Region("r");
  const LoweredValueId a = net.S("a", net.Input(), r);
  net.builder().Annotate(a, Keep::kMustSave);
  const PlanReport report = ReportOf(net.Differentiate(net.S("b", a, r)));
  EXPECT_EQ(ReasonOf(report, "a"), "must_save");
}

const RegionReport& RegionOf(const PlanReport& report,
                             const std::string& name) {
  return *std::find_if(report.regions.begin(), report.regions.end(),
                       [&](const RegionReport& r) { return r.name == name; });
}

// A region around linear operators, and one that saves everything.
TEST(LedgerTest, ARegionThatChangesNothingHasNoEffect) {
  ToyNet net;
  const RegionId linear = net.Region("linear");
  const RegionId all = net.Region("all", kNoRegion, SaveEverything());
  const LoweredValueId a = net.L("a", {net.Input()}, linear);
  const PlanReport report =
      ReportOf(net.Differentiate(net.S("c", net.S("b", a, all), all)));
  for (const RegionReport& r : report.regions) {
    EXPECT_EQ(r.verdict, Verdict::kNoEffect) << r.name;
    EXPECT_EQ(r.bytes_avoided, 0) << r.name;
    EXPECT_EQ(r.steps_replayed, 0) << r.name;
  }
}

// Eight S in two regions of four. Without regions x and 7 results are kept;
// region 0 keeps none of its first three (1920 bytes), and replays them.
TEST(LedgerTest, ARegionThatLowersThePeakSaves) {
  ToyNet net;
  const RegionId first = net.Region("first");
  const RegionId second = net.Region("second");
  LoweredValueId v = net.Input();
  for (int i = 0; i < 8; ++i) {
    v = net.S("s" + std::to_string(i), v, i < 4 ? first : second);
  }
  const PlanReport report = ReportOf(net.Differentiate(v));
  const RegionReport r = RegionOf(report, "first");
  EXPECT_EQ(r.verdict, Verdict::kSaves);
  EXPECT_EQ(r.policy, "save_nothing");
  EXPECT_EQ(r.bytes_avoided, 3 * ToyNet::kBytes);
  EXPECT_GT(r.peak_bytes_avoided, 0);
  EXPECT_EQ(r.steps_replayed, 3);
  EXPECT_EQ(r.replay_cost_nanoseconds, 3);
  ASSERT_EQ(r.replayed.size(), 1u);
  EXPECT_EQ(r.replayed[0].first, "S");
  EXPECT_EQ(r.replayed[0].second, 3);
}

// One region around the whole net: everything is replayed while the last
// gradient waits, so as much lives then as would have been kept.
TEST(LedgerTest, ARegionAroundEverythingCostsMore) {
  ToyNet net;
  const RegionId r = net.Region("all");
  LoweredValueId v = net.Input();
  for (int i = 0; i < 4; ++i) v = net.S("s" + std::to_string(i), v, r);
  const PlanReport report = ReportOf(net.Differentiate(v));
  EXPECT_EQ(RegionOf(report, "all").verdict, Verdict::kCostsMore);
  EXPECT_EQ(RegionOf(report, "all").bytes_avoided, 3 * ToyNet::kBytes);
  EXPECT_LE(RegionOf(report, "all").peak_bytes_avoided, 0);
}

TEST(LedgerTest, BeyondTheWorkLimitARegionIsNotJudged) {
  ToyNet net;
  const RegionId r = net.Region("r");
  const LoweredValueId a = net.S("a", net.Input(), r);
  const LoweredBuilder& b = net.Differentiate(net.S("b", a, r));
  PlanOptions options;
  options.work_limit = 0;
  const absl::StatusOr<PlanResult> result =
      MakePlan(b.step(), b.graph(), PlanMode::kGradients,
               PlacePersistent(b.step(), b.graph()), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(RegionOf(result->report, "r").verdict, Verdict::kNotJudged);
  EXPECT_EQ(RegionOf(result->report, "r").steps_replayed, 1);
  ASSERT_EQ(result->report.notes.size(), 1u);
  EXPECT_EQ(result->report.notes[0],
            "1 of 1 regions are not judged: each takes planning the graph once "
            "more");
}

TEST(ReportTest, CountsReplaysApart) {
  ToyNet net;
  const RegionId r = net.Region("r");
  const LoweredValueId a = net.S("a", net.Input(), r);
  const LoweredBuilder& b = net.Differentiate(net.S("b", a, r));
  const PlanReport report = ReportOf(b);
  // a runs again; each node costs 1.
  EXPECT_EQ(report.recomputed_steps, 1);
  EXPECT_EQ(report.recompute_cost_nanoseconds, 1);
  EXPECT_EQ(report.cost_nanoseconds,
            static_cast<int64_t>(b.graph().nodes.size()));
}

TEST(ReportTest, NamesWhatLivesAtThePeakLargestFirst) {
  LoweredBuilder b;
  const LoweredValueId w = b.Parameter("w", 192);
  const LoweredValueId x = b.Input("x", 128);
  b.Result(b.Add(NodeSpec("y").Reads({x, w}).Writes({64}).Scratchpad(256)));
  const PlanReport report = ReportOf(b);
  ASSERT_EQ(report.live_at_peak.size(), 4u);
  EXPECT_EQ(report.live_at_peak[0].what, "scratchpads");
  EXPECT_EQ(report.live_at_peak[0].name, "y");
  EXPECT_EQ(report.live_at_peak[1].what, "parameters");
  EXPECT_EQ(report.live_at_peak[2].what, "inputs");
  EXPECT_EQ(report.live_at_peak[3].what, "temporaries");
  EXPECT_EQ(report.peak_node, "y");
  EXPECT_EQ(report.bytes_by_class.scratchpads, 256);
}

}  // namespace
}  // namespace reprise
