#include "planner/order/order.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "planner/liveness.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/random_lowered.h"
#include "tests/planner/resolved.h"

namespace reprise {
namespace {

// Names of the nodes in order, replays with an asterisk.
std::vector<std::string> Names(const Resolved& r, const Order& order) {
  std::vector<std::string> names;
  for (const TaskId t : order.tasks) {
    const Task& task = r.tasks.tasks[t];
    names.push_back(absl::StrCat(r.b.graph().nodes[task.node].name,
                                 task.replay ? "*" : ""));
  }
  return names;
}

int IndexOf(const std::vector<std::string>& names, const std::string& name) {
  const auto it = std::find(names.begin(), names.end(), name);
  EXPECT_NE(it, names.end()) << name;
  return static_cast<int>(it - names.begin());
}

// A chain of `length` forward nodes, each in a region of `region_length` (0:
// none), its backward pass, and an update of each node's parameter at the end
// of the file. Every gradient reads its node's input.
LoweredBuilder ChainWithUpdates(int length, int region_length) {
  LoweredBuilder b;
  LoweredValueId v = b.Input("x", 64);
  std::vector<LoweredValueId> inputs;
  std::vector<LoweredValueId> made;
  std::vector<LoweredValueId> weights;
  for (int i = 0; i < length; ++i) {
    inputs.push_back(v);
    weights.push_back(b.Parameter(absl::StrCat("w", i), 128));
    NodeSpec spec(absl::StrCat("f", i));
    if (region_length > 0) {
      if (i % region_length == 0) {
        b.AddRegion(absl::StrCat("r", i), kNoRegion, SaveNothing());
      }
      spec.In(i / region_length);
    }
    v = b.Add(spec.Reads({v, weights.back()}));
    made.push_back(v);
  }
  b.Result(v);
  b.Loss(v);
  b.Add(NodeSpec("guard").Reads({v}).Writes({4}).Guards());
  LoweredValueId grad = b.Add(NodeSpec("seed").GradientOf(v));
  std::vector<LoweredValueId> weight_grads(length);
  for (int i = length - 1; i >= 0; --i) {
    weight_grads[i] = b.Add(NodeSpec(absl::StrCat("dw", i))
                                .Reads({inputs[i], grad})
                                .Writes({128})
                                .GradientOf(made[i]));
    grad = b.Add(NodeSpec(absl::StrCat("dx", i))
                     .Reads({weights[i], grad})
                     .GradientOf(made[i])
                     .MayOverwrite({{1, 0}}));
  }
  b.Result(grad);
  for (int i = 0; i < length; ++i) {
    b.Add(NodeSpec(absl::StrCat("u", i))
              .Reads({weights[i], weight_grads[i]})
              .Writes({128})
              .Updates(0));
  }
  return b;
}

// Every task once, producers first, old content before its update, the guard
// before every update: looked at pair by pair.
void ExpectLegal(const Resolved& r, const Order& order,
                 const std::string& what) {
  const TaskGraph& tasks = r.tasks;
  ASSERT_EQ(order.tasks.size(), tasks.tasks.size()) << what;
  std::vector<int> at(tasks.tasks.size(), -1);
  for (size_t s = 0; s < order.tasks.size(); ++s) {
    ASSERT_EQ(at[order.tasks[s]], -1) << what;
    at[order.tasks[s]] = static_cast<int>(s);
  }
  for (size_t t = 0; t < tasks.tasks.size(); ++t) {
    const Task& task = tasks.tasks[t];
    const LoweredNode& node = r.b.graph().nodes[task.node];
    for (const InstanceId in : task.in) {
      const TaskId producer = tasks.instances[in].producer;
      if (producer >= 0) {
        EXPECT_LT(at[producer], at[t]) << what;
      }
    }
    for (size_t g = 0; g < tasks.tasks.size(); ++g) {
      const Effect other = r.b.graph().nodes[tasks.tasks[g].node].effect;
      if (other == Effect::kGuard && node.effect == Effect::kUpdate) {
        EXPECT_LT(at[g], at[t]) << what;
      }
      if (node.effect != Effect::kUpdate || g == t) continue;
      const std::vector<InstanceId>& in = tasks.tasks[g].in;
      if (std::find(in.begin(), in.end(), task.in[0]) != in.end()) {
        EXPECT_LT(at[g], at[t]) << what << ": old content";
      }
    }
  }
}

TEST(OrderTest, IsLegalAndNeverAboveFileOrderOnRandomGraphs) {
  int lower = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    RandomLoweredOptions options;
    options.num_forward = 4 + static_cast<int>(seed % 20);
    const Resolved r = ResolvedOf(RandomLowered(seed, options));
    const Order best = LeastPeakOf(r);
    const Order file = FileOrderOf(r);
    const std::string what = absl::StrCat("seed ", seed);
    ExpectLegal(r, best, what + ", " + best.name);
    ExpectLegal(r, file, what + ", file");
    EXPECT_LE(best.peak.bytes, file.peak.bytes) << what;
    if (best.peak.bytes < file.peak.bytes) ++lower;
  }
  EXPECT_GT(lower, 20);
}

// The peak of an order is that of its buffers.
TEST(OrderTest, ReportsTheExactPeak) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const Resolved r = ResolvedOf(RandomLowered(seed, RandomLoweredOptions()));
    const Order order = LeastPeakOf(r);
    EXPECT_EQ(order.peak.bytes, ComputeLiveness(r.b.graph(), r.tasks,
                                                order.tasks, LivenessOptions())
                                    .peak.bytes)
        << "seed " << seed;
  }
}

TEST(OrderTest, TheSameOrderEveryTime) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RandomLoweredOptions random;
    random.num_forward = 30;
    const Resolved r = ResolvedOf(RandomLowered(seed, random));
    EXPECT_EQ(LeastPeakOf(r).tasks, LeastPeakOf(r).tasks) << "seed " << seed;
  }
}

// Updates stand last in the file; each runs before the next gradient is made,
// so one gradient of 128 lives at a time, not all four.
TEST(OrderTest, AGradientIsReleasedBeforeTheNextIsMade) {
  const Resolved r = ResolvedOf(ChainWithUpdates(4, 0));
  const Order order = LeastPeakOf(r);
  const std::vector<std::string> names = Names(r, order);
  for (int i = 3; i > 0; --i) {
    EXPECT_LT(IndexOf(names, absl::StrCat("u", i)),
              IndexOf(names, absl::StrCat("dw", i - 1)));
  }
  EXPECT_LT(order.peak.bytes, FileOrderOf(r).peak.bytes);
}

// f0 f1 f2 in one region: the gradient of f2 comes in (seed), then f0 and f1
// run again for dw2; nothing of the replay is needed earlier.
TEST(OrderTest, AReplayComesAfterTheIncomingGradient) {
  const Resolved r = ResolvedOf(ChainWithUpdates(3, 3));
  for (const Order& order : {LeastPeakOf(r), FileOrderOf(r)}) {
    const std::vector<std::string> names = Names(r, order);
    EXPECT_LT(IndexOf(names, "seed"), IndexOf(names, "f0*"));
    EXPECT_LT(IndexOf(names, "guard"), IndexOf(names, "f0*"));
    EXPECT_EQ(IndexOf(names, "f1*"), IndexOf(names, "f0*") + 1);
    EXPECT_LT(IndexOf(names, "f1*"), IndexOf(names, "dw2"));
  }
}

// Rule 10 on random graphs: when a replay starts, every gradient that the first
// backward node after it reads, and that the replay leads to, has been made.
TEST(OrderTest, ReplaysStartNoEarlierThanTheirReadersOtherNeeds) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    RandomLoweredOptions options;
    options.num_forward = 15;
    const Resolved r = ResolvedOf(RandomLowered(seed, options));
    const Order order = LeastPeakOf(r);
    const TaskGraph& tasks = r.tasks;
    std::vector<int> at(tasks.tasks.size());
    for (size_t s = 0; s < order.tasks.size(); ++s) {
      at[order.tasks[s]] = static_cast<int>(s);
    }
    for (size_t s = 0; s < order.tasks.size(); ++s) {
      if (!tasks.tasks[order.tasks[s]].replay) continue;
      // What is fetched runs in one stretch, ended by the task it is for.
      size_t last = s;
      while (tasks.tasks[order.tasks[last]].on_demand) ++last;
      for (const InstanceId in : tasks.tasks[order.tasks[last]].in) {
        const TaskId producer = tasks.instances[in].producer;
        if (producer < 0 || tasks.tasks[producer].on_demand) continue;
        EXPECT_LT(at[producer], static_cast<int>(s)) << "seed " << seed;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 500);
}

// The file is breadth first: both branches' large values are made before
// either is reduced. 2 * 1024 live, or one at a time.
TEST(OrderTest, ABranchIsFinishedBeforeTheNext) {
  LoweredBuilder b;
  const LoweredValueId x = b.Input("x", 64);
  const LoweredValueId big0 = b.Add(NodeSpec("big0").Reads({x}).Writes({1024}));
  const LoweredValueId big1 = b.Add(NodeSpec("big1").Reads({x}).Writes({1024}));
  const LoweredValueId small0 = b.Add(NodeSpec("small0").Reads({big0}));
  const LoweredValueId small1 = b.Add(NodeSpec("small1").Reads({big1}));
  b.Result(b.Add(NodeSpec("sum").Reads({small0, small1})));
  const Resolved r = ResolvedOf(std::move(b));
  EXPECT_EQ(FileOrderOf(r).peak.bytes, 64 + 2 * 1024);
  // big1 1024, small0 64, small1 64: x is dead when big1 is reduced.
  EXPECT_EQ(LeastPeakOf(r).peak.bytes, 1024 + 64 + 64);
}

// A state updated from what the state's readers make: the update waits for the
// replay, which reads the old content.
TEST(OrderTest, AnUpdateWaitsForReplaysThatReadTheOldContent) {
  const Resolved r = ResolvedOf(ChainWithUpdates(3, 3));
  const std::vector<std::string> names = Names(r, LeastPeakOf(r));
  EXPECT_LT(IndexOf(names, "f0*"), IndexOf(names, "u0"));
  EXPECT_LT(IndexOf(names, "f1*"), IndexOf(names, "u1"));
}

TEST(OrderTest, ACycleIsAnErrorThatNamesANode) {
  LoweredBuilder b;
  const LoweredValueId w = b.Parameter("w", 64);
  const LoweredValueId u = b.Add(NodeSpec("u").Reads({w}).Updates(0));
  // Reads old and new content: it can run neither before nor after the update.
  b.Result(b.Add(NodeSpec("both").Reads({w, u})));
  const TaskGraph tasks = FirstRuns(b.graph());
  const absl::Status status =
      FileOrder(b.graph(), tasks, LivenessOptions()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
}

TEST(OrderTest, AHundredThousandNodesInRegionsTakeSecondsAndNoStack) {
  const Resolved r = ResolvedOf(ChainWithUpdates(100'000, 300));
  EXPECT_GT(r.tasks.tasks.size(), 490'000u);
  const Order order = LeastPeakOf(r);
  EXPECT_EQ(order.tasks.size(), r.tasks.tasks.size());
}

}  // namespace
}  // namespace reprise
