// The rules of checkpoint regions, one by one.

#include "planner/regions.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "planner/policy.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/toy_net.h"

namespace reprise {
namespace {

using Names = std::multiset<std::string>;

Resolution ResolutionOf(const LoweredBuilder& b) {
  const absl::StatusOr<Regions> regions = Regions::Create(b.step(), b.graph());
  EXPECT_TRUE(regions.ok()) << regions.status();
  return regions->Resolve();
}

std::string NameOf(const LoweredBuilder& b, LoweredValueId v) {
  return b.step().values[b.graph().values[v].logical[0]].name;
}

// Forward contents that backward nodes and replays read.
Names SavedBy(const LoweredBuilder& b, const Resolution& resolution) {
  std::set<InstanceId> read;
  for (const Task& task : resolution.tasks.tasks) {
    const LoweredNode& node = b.graph().nodes[task.node];
    if (!task.replay && node.role != Role::kBackward) continue;
    for (const InstanceId in : task.in) {
      const TaskId p = resolution.tasks.instances[in].producer;
      const bool first_run = p < 0 || !resolution.tasks.tasks[p].replay;
      const bool forward =
          p < 0 || b.graph().nodes[resolution.tasks.tasks[p].node].role ==
                       Role::kForward;
      if (first_run && forward) read.insert(in);
    }
  }
  Names names;
  for (const InstanceId i : read) {
    names.insert(NameOf(b, resolution.tasks.instances[i].value));
  }
  return names;
}

// "node" or, for regions' replays, "node in region".
Names ReplaysOf(const LoweredBuilder& b, const Resolution& resolution) {
  Names names;
  for (const Task& task : resolution.tasks.tasks) {
    if (!task.replay) continue;
    std::string name = b.graph().nodes[task.node].name;
    if (task.region >= static_cast<RegionId>(b.step().regions.size())) {
      absl::StrAppend(&name, " alone");
    } else if (task.region != kNoRegion) {
      absl::StrAppend(&name, " in ", b.step().regions[task.region].name);
    }
    names.insert(name);
  }
  return names;
}

void ExpectMeaning(const LoweredBuilder& b, const Names& saved,
                   const Names& replayed) {
  const Resolution resolution = ResolutionOf(b);
  EXPECT_EQ(SavedBy(b, resolution), saved);
  EXPECT_EQ(ReplaysOf(b, resolution), replayed);
}

TEST(Rule1Test, OnlyWhatIsReadIsSavedWhateverAPolicyAllows) {
  ToyNet net;
  const RegionId r = net.Region("r", kNoRegion, SaveEverything());
  const LoweredValueId a = net.L("a", {net.Input()}, r);
  ExpectMeaning(net.Differentiate(net.L("b", {a}, r)), {}, {});
}

TEST(Rule2Test, ARegionsInputIsKeptForItsReplay) {
  ToyNet net;
  const RegionId r = net.Region("r");
  const LoweredValueId u = net.L("u", {net.Input()});
  const LoweredValueId a = net.D("a", u, r);
  // The gradient of a reads a, which is replayed from u.
  ExpectMeaning(net.Differentiate(a), {"u"}, {"a in r"});
}

TEST(Rule2Test, AnInputThatNothingReadsIsNotKept) {
  ToyNet net;
  const RegionId r = net.Region("r");
  const LoweredValueId u = net.L("u", {net.Input()});
  ExpectMeaning(net.Differentiate(net.L("a", {u}, r)), {}, {});
}

TEST(Rule2Test, TwoRegionsShareOneCopyOfWhatTheyRead) {
  ToyNet net;
  const LoweredValueId u = net.L("u", {net.Input()});
  const LoweredValueId a = net.S("a", u, net.Region("A"));
  const LoweredValueId c = net.S("c", u, net.Region("B"));
  ExpectMeaning(net.Differentiate(net.L("sum", {a, c})), {"u"}, {});
}

TEST(Rule3Test, ARegionsOutputFollowsTheRulesOfItsReader) {
  ToyNet net;
  const RegionId r = net.Region("r");
  const LoweredValueId a = net.S("a", net.Input(), r);
  const LoweredValueId b = net.S("b", a, r);
  // b is read by the loose c: kept. a is inside: replayed from x.
  ExpectMeaning(net.Differentiate(net.S("c", b)), {"b", "x"}, {"a in r"});
}

TEST(Rule4Test, WhatAReplayReadsIsPutToThePolicyToo) {
  ToyNet net;
  const RegionId r = net.Region("r", kNoRegion, SaveNames({"a"}));
  const LoweredValueId a = net.L("a", {net.Input()}, r);
  const LoweredValueId b = net.L("b", {a}, r);
  // Only b is needed; its replay reads a, which may be kept, so x is not read.
  ExpectMeaning(net.Differentiate(net.S("c", b, r)), {"a"}, {"b in r"});
}

TEST(Rule5Test, AValueKeptForAReaderOutsideServesTheRegionAndCutsTheReplay) {
  ToyNet net;
  const RegionId r = net.Region("r");
  const LoweredValueId a = net.D("a", net.Input(), r);
  const LoweredValueId b = net.D("b", a, r);
  // The loose c keeps b, which the gradient of b reads as well.
  ExpectMeaning(net.Differentiate(net.S("c", b)), {"b", "x"}, {"a in r"});
}

TEST(Rule5Test, TheEndOfARegionIsNotReplayedIfNothingReadsIt) {
  ToyNet net;
  const RegionId r = net.Region("r");
  const LoweredValueId a = net.L("a", {net.Input()}, r);
  const LoweredValueId b = net.S("b", a, r);
  ExpectMeaning(net.Differentiate(net.L("c", {b}, r)), {"x"}, {"a in r"});
}

TEST(Rule6Test, ARegionOfLinearOperatorsChangesNothing) {
  ToyNet net;
  const RegionId r = net.Region("r");
  const LoweredValueId a = net.L("a", {net.S("s", net.Input())}, r);
  ExpectMeaning(net.Differentiate(net.L("b", {a}, r)), {"x"}, {});
}

TEST(Rule7Test, SavingEverythingIsNoRegion) {
  for (const bool region : {true, false}) {
    ToyNet net;
    const RegionId r =
        region ? net.Region("r", kNoRegion, SaveEverything()) : kNoRegion;
    const LoweredValueId a = net.S("a", net.Input(), r);
    const LoweredValueId b = net.D("b", a, r);
    ExpectMeaning(net.Differentiate(net.S("c", b, r)), {"b", "x"}, {});
  }
}

TEST(Rule8Test, TheOuterPolicyIsAskedOnlyAboutWhatTheInnerRegionNeeds) {
  ToyNet net;
  const RegionId outer = net.Region("outer", kNoRegion, SaveEverything());
  const RegionId inner = net.Region("inner", outer);
  const LoweredValueId a = net.L("a", {net.Input()}, inner);
  // inner drops a, though outer would keep it: it is not asked.
  ExpectMeaning(net.Differentiate(net.S("b", a, inner)), {"x"}, {"a in inner"});
}

TEST(Rule8Test, AReplayRunsInnerRegionsForwardAndTheyReplayAgain) {
  ToyNet net;
  const RegionId outer = net.Region("outer");
  const RegionId inner = net.Region("inner", outer);
  const LoweredValueId a = net.D("a", net.Input(), inner);
  ExpectMeaning(net.Differentiate(net.D("b", a, outer)), {"x"},
                {"a in outer", "b in outer", "a in inner"});
}

TEST(Rule9Test, RegionsThatNeedEachOthersResultsAreAnErrorThatNamesThem) {
  ToyNet net;
  const RegionId a = net.Region("A");
  const RegionId b = net.Region("B");
  const LoweredValueId a1 = net.S("a1", net.Input(), a);
  const LoweredValueId b1 = net.S("b1", a1, b);
  LoweredBuilder& graph = net.Differentiate(net.S("a2", b1, a));
  const absl::Status status =
      Regions::Create(graph.step(), graph.graph()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "'A'")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "'B'")) << status;
}

TEST(Rule9Test, ARegionAroundALooseNodeIsACycleToo) {
  ToyNet net;
  const RegionId a = net.Region("A");
  const LoweredValueId a1 = net.S("a1", net.Input(), a);
  const LoweredValueId loose = net.S("loose", a1);
  LoweredBuilder& graph = net.Differentiate(net.S("a2", loose, a));
  EXPECT_EQ(Regions::Create(graph.step(), graph.graph()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Rule12Test, AnnotationIsFreeWhenNothingIsDifferentiated) {
  ToyNet net;
  const RegionId r = net.Region("r");
  const LoweredValueId a = net.S("a", net.Input(), r);
  const LoweredValueId b = net.S("b", a, r);
  net.builder().Result(b);
  net.builder().Annotate(b, Keep::kMustRecompute);
  ExpectMeaning(net.builder(), {}, {});
  EXPECT_TRUE(ResolutionOf(net.builder()).notes.empty());
}

// The statistic (result 1) is read; a may be kept by name, so it is too.
TEST(Rule13Test, StatisticsFollowTheFirstResult) {
  for (const bool keep : {true, false}) {
    LoweredBuilder b;
    const LoweredValueId x = b.Input("x", 64);
    const RegionId r = b.AddRegion(
        "r", kNoRegion, keep ? SaveNames({"a"}) : SaveNames({"a.1"}));
    const LoweredValueId a = b.Add(
        NodeSpec("a").Reads({x}).Writes({64, 64}).StatisticsFrom(1).In(r));
    b.Loss(a);
    const LoweredValueId seed = b.Add(NodeSpec("seed").GradientOf(a));
    b.Result(
        b.Add(NodeSpec("da").Reads({seed, b.OutputOf(a, 1)}).GradientOf(a)));
    ExpectMeaning(b, keep ? Names{"a.1"} : Names{"x"},
                  keep ? Names{} : Names{"a in r"});
  }
}

TEST(MustSaveTest, BeatsThePolicyOfEveryLevel) {
  ToyNet net;
  const RegionId outer = net.Region("outer");
  const RegionId inner = net.Region("inner", outer);
  const LoweredValueId a = net.S("a", net.Input(), inner);
  const LoweredValueId b = net.S("b", a, inner);
  net.builder().Annotate(a, Keep::kMustSave);
  ExpectMeaning(net.Differentiate(b), {"a", "x"}, {});
}

TEST(MustRecomputeTest, BeatsThePolicy) {
  ToyNet net;
  const RegionId r = net.Region("r", kNoRegion, SaveEverything());
  const LoweredValueId a = net.S("a", net.Input(), r);
  net.builder().Annotate(a, Keep::kMustRecompute);
  ExpectMeaning(net.Differentiate(net.S("b", a, r)), {"x"}, {"a in r"});
}

TEST(MustRecomputeTest, OutsideRegionsItIsARegionOfItsProducer) {
  ToyNet net;
  const LoweredValueId a = net.S("a", net.Input());
  net.builder().Annotate(a, Keep::kMustRecompute);
  ExpectMeaning(net.Differentiate(net.S("b", a)), {"x"}, {"a alone"});
}

// b is read outside r, but must not be held: r replays it for c as well, from
// a, which r's policy keeps.
TEST(MustRecomputeTest, ItsRegionReplaysItForReadersOutside) {
  ToyNet net;
  const RegionId r = net.Region("r", kNoRegion, SaveEverything());
  const LoweredValueId a = net.S("a", net.Input(), r);
  const LoweredValueId b = net.L("b", {a}, r);
  net.builder().Annotate(b, Keep::kMustRecompute);
  ExpectMeaning(net.Differentiate(net.S("c", b)), {"a", "x"}, {"b in r"});
}

TEST(AnnotationTest, AnInputCannotBeRecomputed) {
  ToyNet net;
  const LoweredValueId x = net.Input();
  net.builder().Annotate(x, Keep::kMustRecompute);
  LoweredBuilder& b = net.Differentiate(net.S("a", x));
  const absl::Status status = Regions::Create(b.step(), b.graph()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "'x'")) << status;
}

// It has no bytes of its own to drop.
TEST(AnnotationTest, RecomputingAViewOfAParameterChangesNothing) {
  ToyNet net;
  const LoweredValueId w = net.Parameter("w");
  LoweredBuilder& b = net.builder();
  b.View("view", w);
  b.step().annotations[b.step().FindValue("view")] = Keep::kMustRecompute;
  net.Differentiate(net.S("a", w));
  ExpectMeaning(b, {"w"}, {});
  EXPECT_EQ(
      ResolutionOf(b).notes,
      std::vector<std::string>{"must_recompute of 'view' changes nothing"});
}

TEST(AnnotationTest, AValueAndItsViewMustAgree) {
  ToyNet net;
  const LoweredValueId a = net.S("a", net.Input());
  LoweredBuilder& b = net.builder();
  b.View("view", a);
  b.Annotate(a, Keep::kMustSave);
  b.step().annotations[b.step().FindValue("view")] = Keep::kMustRecompute;
  net.Differentiate(net.S("b", a));
  const absl::Status status = Regions::Create(b.step(), b.graph()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "'view'")) << status;
}

TEST(AnnotationTest, OneThatChangesNothingIsNoted) {
  ToyNet net;
  const LoweredValueId a = net.S("a", net.Input());
  net.builder().Annotate(a, Keep::kMustSave);
  LoweredBuilder& b = net.Differentiate(net.S("b", a));
  EXPECT_EQ(ResolutionOf(b).notes,
            std::vector<std::string>{"must_save of 'a' changes nothing"});
}

TEST(FusionTest, AJoinedNodeLiesInTheRegionAroundAllItsParts) {
  // product in r, relu outside, in one kernel: the node is loose.
  LoweredBuilder b;
  const LoweredValueId x = b.Input("x", 64);
  const RegionId r = b.AddRegion("r", kNoRegion, SaveNothing());
  const LoweredValueId y = b.Add(NodeSpec("product").Reads({x}).In(r));
  b.Fuse(y, b.Add(NodeSpec("relu").Reads({y})));
  const absl::StatusOr<Regions> regions = Regions::Create(b.step(), b.graph());
  ASSERT_TRUE(regions.ok());
  EXPECT_EQ(regions->region_of(0), kNoRegion);
}

// b0 in B feeds the joined node, which feeds b2 in B: loose, it would lie
// between two parts of B. So it goes where its last part is.
TEST(FusionTest, AJoinedNodeNeverClosesACycle) {
  LoweredBuilder b;
  const LoweredValueId x = b.Input("x", 64);
  const RegionId outer = b.AddRegion("A", kNoRegion, SaveNothing());
  const RegionId last = b.AddRegion("B", kNoRegion, SaveNothing());
  const LoweredValueId a1 = b.Add(NodeSpec("a1").Reads({x}).In(outer));
  const LoweredValueId b0 = b.Add(NodeSpec("b0").Reads({x}).In(last));
  const LoweredValueId c = b.Add(NodeSpec("c").Reads({a1}).In(outer));
  b.graph().nodes.back().in.push_back(b0);
  b.Fuse(c, b.Add(NodeSpec("relu").Reads({c}).In(last)));
  b.Result(b.Add(NodeSpec("b2").Reads({c}).In(last)));
  const absl::StatusOr<Regions> regions = Regions::Create(b.step(), b.graph());
  ASSERT_TRUE(regions.ok()) << regions.status();
  EXPECT_EQ(regions->region_of(2), last);
}

TEST(FusionTest, KeepingASwallowedValueKeepsTheResult) {
  LoweredBuilder b;
  const LoweredValueId x = b.Input("x", 64);
  const RegionId r = b.AddRegion("r", kNoRegion, SaveNames({"product"}));
  const LoweredValueId y = b.Add(NodeSpec("product").Reads({x}).In(r));
  b.Fuse(y, b.Add(NodeSpec("relu").Reads({y}).In(r)));
  b.Loss(y);
  const LoweredValueId seed = b.Add(NodeSpec("seed").GradientOf(y));
  b.Result(b.Add(NodeSpec("dx").Reads({seed, y}).GradientOf(y)));
  ExpectMeaning(b, {"relu"}, {});
}

TEST(CopiesTest, TheOnlyCopyThatIsReadIsHeldInsteadOfTheOriginal) {
  LoweredBuilder b;
  const LoweredValueId a = b.Add(NodeSpec("a"));
  const LoweredValueId copy = b.Reorder("copy", a, 128, Role::kForward);
  const LoweredValueId y = b.Add(NodeSpec("y").Reads({copy}));
  b.Loss(y);
  const LoweredValueId seed = b.Add(NodeSpec("seed").GradientOf(y));
  b.Result(b.Add(NodeSpec("da").Reads({seed, copy}).GradientOf(y)));
  const Resolution resolution = ResolutionOf(b);
  EXPECT_TRUE(ReplaysOf(b, resolution).empty());
  EXPECT_EQ(resolution.tasks.tasks.back().in[1], copy);
}

TEST(CopiesTest, OfSeveralTheOriginalIsHeldAndTheOthersAreMadeAgain) {
  LoweredBuilder b;
  const LoweredValueId a = b.Add(NodeSpec("a"));
  const LoweredValueId copy = b.Reorder("copy", a, 128, Role::kForward);
  const LoweredValueId y = b.Add(NodeSpec("y").Reads({copy}));
  b.Loss(y);
  const LoweredValueId seed = b.Add(NodeSpec("seed").GradientOf(y));
  b.Result(b.Add(NodeSpec("da").Reads({seed, copy}).GradientOf(y)));
  b.Result(b.Add(NodeSpec("db").Reads({seed, a}).GradientOf(y)));
  const Resolution resolution = ResolutionOf(b);
  EXPECT_EQ(ReplaysOf(b, resolution), Names{"copy"});
  EXPECT_EQ(resolution.tasks.tasks.back().in[0], a);
}

// The parameter is there anyway; its copy would be bytes on top.
TEST(CopiesTest, AParametersCopyIsMadeAgain) {
  LoweredBuilder b;
  const LoweredValueId w = b.Parameter("w", 64);
  const LoweredValueId copy = b.Reorder("copy", w, 128, Role::kForward);
  const LoweredValueId y = b.Add(NodeSpec("y").Reads({copy}));
  b.Loss(y);
  const LoweredValueId seed = b.Add(NodeSpec("seed").GradientOf(y));
  b.Result(b.Add(NodeSpec("dw").Reads({seed, copy}).GradientOf(y)));
  const Resolution resolution = ResolutionOf(b);
  EXPECT_EQ(ReplaysOf(b, resolution), Names{"copy"});
  EXPECT_EQ(resolution.tasks.tasks.back().in[0], w);
}

// a is replayed by r; the reorder that lowering put into the backward pass then
// copies the replay's content.
TEST(CopiesTest, AReorderOfTheBackwardPassReadsTheReplay) {
  LoweredBuilder b;
  const LoweredValueId x = b.Input("x", 64);
  const RegionId r = b.AddRegion("r", kNoRegion, SaveNothing());
  const LoweredValueId a = b.Add(NodeSpec("a").Reads({x}).In(r));
  const LoweredValueId y = b.Add(NodeSpec("y").Reads({a}).In(r));
  b.Loss(y);
  const LoweredValueId seed = b.Add(NodeSpec("seed").GradientOf(y));
  const LoweredValueId copy = b.Reorder("copy", a, 128, Role::kBackward);
  b.Result(b.Add(NodeSpec("da").Reads({seed, copy}).GradientOf(y)));
  const Resolution resolution = ResolutionOf(b);
  EXPECT_EQ(ReplaysOf(b, resolution), Names{"a in r"});
  const Task& reorder = resolution.tasks.tasks[b.graph().values[copy].producer];
  const TaskId source = resolution.tasks.instances[reorder.in[0]].producer;
  EXPECT_TRUE(resolution.tasks.tasks[source].replay);
}

class PolicyTest : public ::testing::Test {
 protected:
  // y = op(x, w) with operands of the given ranks.
  ValueId Product(MatmulKind kind, int rank_a, int rank_b) {
    const LoweredValueId x = b_.Input(absl::StrCat("x", ++num_), 64);
    const LoweredValueId w = b_.Input(absl::StrCat("w", num_), 64);
    b_.step().values[x].type = {DType::kF32, Dims(rank_a, 2)};
    b_.step().values[w].type = {DType::kF32, Dims(rank_b, 2)};
    const LoweredValueId y = b_.Add(NodeSpec(absl::StrCat("layer/y", num_))
                                        .Op("Product")
                                        .Reads({x, w})
                                        .Matmul(kind));
    return b_.graph().values[y].logical[0];
  }

  bool Keeps(Policy::Kind kind, ValueId v,
             std::vector<std::string> names = {}) {
    Policy policy;
    policy.kind = kind;
    policy.names = std::move(names);
    return MayKeep(policy, b_.step(), v);
  }

  LoweredBuilder b_;
  int num_ = 0;
};

TEST_F(PolicyTest, SaveMatmulsKeepsEveryKindOfProduct) {
  using Kind = Policy::Kind;
  EXPECT_TRUE(Keeps(Kind::kSaveMatmuls, Product(MatmulKind::kDot, 3, 3)));
  EXPECT_TRUE(Keeps(Kind::kSaveMatmuls, Product(MatmulKind::kGemm, 2, 2)));
  EXPECT_TRUE(Keeps(Kind::kSaveMatmuls, Product(MatmulKind::kConv, 4, 4)));
  EXPECT_FALSE(Keeps(Kind::kSaveMatmuls, Product(MatmulKind::kNone, 2, 2)));
}

TEST_F(PolicyTest, WithoutBatchDimsMeansAnOperandOfRankTwoOrAGemm) {
  const Policy::Kind kind = Policy::Kind::kSaveMatmulsWithoutBatchDims;
  EXPECT_TRUE(Keeps(kind, Product(MatmulKind::kDot, 3, 2)));
  EXPECT_FALSE(Keeps(kind, Product(MatmulKind::kDot, 3, 3)));
  EXPECT_TRUE(Keeps(kind, Product(MatmulKind::kGemm, 2, 2)));
  EXPECT_FALSE(Keeps(kind, Product(MatmulKind::kConv, 2, 2)));
}

TEST_F(PolicyTest, NamesAreGlobs) {
  const ValueId y = Product(MatmulKind::kNone, 2, 2);
  EXPECT_TRUE(Keeps(Policy::Kind::kSaveNames, y, {"layer/*"}));
  EXPECT_FALSE(Keeps(Policy::Kind::kSaveNames, y, {"layer"}));
  EXPECT_FALSE(Keeps(Policy::Kind::kSaveAllButNames, y, {"layer/*"}));
  EXPECT_TRUE(Keeps(Policy::Kind::kSaveAllButNames, y, {"other"}));
}

TEST_F(PolicyTest, OperatorsAreNamed) {
  const ValueId y = Product(MatmulKind::kNone, 2, 2);
  EXPECT_TRUE(Keeps(Policy::Kind::kSaveOps, y, {"Product"}));
  EXPECT_FALSE(Keeps(Policy::Kind::kSaveOps, y, {"Other"}));
}

TEST(RegionsTest, AThousandNestedRegionsNeedNoStack) {
  ToyNet net;
  RegionId r = kNoRegion;
  LoweredValueId v = net.Input();
  for (int i = 0; i < 1000; ++i) {
    r = net.Region(absl::StrCat("r", i), r);
    v = net.L(absl::StrCat("a", i), {v}, r);
  }
  ExpectMeaning(net.Differentiate(v), {}, {});
}

}  // namespace
}  // namespace reprise
