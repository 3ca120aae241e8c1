#include "planner/liveness.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/random_lowered.h"

namespace reprise {
namespace {

Buffer MakeBuffer(int64_t bytes, int32_t begin, int32_t end) {
  Buffer buffer;
  buffer.bytes = bytes;
  buffer.life = {begin, end};
  return buffer;
}

Liveness InFileOrder(const LoweredBuilder& b, const TaskGraph& tasks,
                     bool in_place = true) {
  std::vector<TaskId> order;
  for (size_t t = 0; t < tasks.tasks.size(); ++t) {
    order.push_back(static_cast<TaskId>(t));
  }
  LivenessOptions options;
  options.in_place = in_place;
  return ComputeLiveness(b.graph(), tasks, order, options);
}

// Steps 0 and 1 hold 100 each; lifetimes that touch do not add up.
TEST(PeakLiveTest, TouchingLifetimesDoNotOverlap) {
  const std::vector<Buffer> buffers = {MakeBuffer(100, 0, 1),
                                       MakeBuffer(100, 1, 2)};
  EXPECT_EQ(PeakLive(buffers).bytes, 100);
}

// Step 1 holds 100 + 80 = 180, steps 0 and 2 less.
TEST(PeakLiveTest, NamesTheFirstStepOfThePeak) {
  const std::vector<Buffer> buffers = {
      MakeBuffer(100, 0, 2), MakeBuffer(80, 1, 3), MakeBuffer(100, 3, 5),
      MakeBuffer(80, 4, 5)};
  EXPECT_EQ(PeakLive(buffers).bytes, 180);
  EXPECT_EQ(PeakLive(buffers).step, 1);
}

TEST(PeakLiveTest, NothingLivesInAnEmptyList) {
  EXPECT_EQ(PeakLive({}).bytes, 0);
}

TEST(LiveBytesTest, EqualsTheSweepWhileBuffersComeAndGo) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const int32_t num_steps = 1 + static_cast<int32_t>(random() % 40);
    LiveBytes live(num_steps);
    std::vector<Buffer> buffers;
    for (int change = 0; change < 200; ++change) {
      if (!buffers.empty() && random() % 3 == 0) {
        const size_t gone = random() % buffers.size();
        live.Add(buffers[gone].life, -buffers[gone].bytes);
        buffers.erase(buffers.begin() + static_cast<std::ptrdiff_t>(gone));
      } else {
        const int32_t begin = static_cast<int32_t>(random() % num_steps);
        const int32_t end =
            begin + 1 + static_cast<int32_t>(random() % (num_steps - begin));
        buffers.push_back(
            MakeBuffer(1 + static_cast<int64_t>(random() % 100), begin, end));
        live.Add(buffers.back().life, buffers.back().bytes);
      }
      const Peak expected = PeakLive(buffers);
      ASSERT_EQ(live.Max().bytes, expected.bytes) << "seed " << seed;
      if (expected.bytes > 0) {
        ASSERT_EQ(live.Max().step, expected.step) << "seed " << seed;
      }
    }
  }
}

// x lives from before step 0 to its last reader, step 1; b, the result, to the
// end; a for step 0 and 1.
TEST(LivenessTest, LifetimesRunFromTheWriteToTheLastRead) {
  LoweredBuilder b;
  const LoweredValueId x = b.Input("x", 64);
  const LoweredValueId a = b.Add(NodeSpec("a").Reads({x}));
  const LoweredValueId r = b.Add(NodeSpec("b").Reads({a, x}));
  b.Add(NodeSpec("unread").Reads({r}));
  b.Result(r);
  const Liveness live = InFileOrder(b, FirstRuns(b.graph()));
  EXPECT_EQ(live.life[x].begin, 0);
  EXPECT_EQ(live.life[x].end, 2);
  EXPECT_EQ(live.life[a].end, 2);
  EXPECT_EQ(live.life[r].begin, 1);
  EXPECT_EQ(live.life[r].end, 3);
}

// An output nobody reads is there while its step runs.
TEST(LivenessTest, AnUnreadResultLivesOneStep) {
  LoweredBuilder b;
  const LoweredValueId x = b.Input("x", 64);
  const LoweredValueId a = b.Add(NodeSpec("a").Reads({x}));
  b.Result(b.Add(NodeSpec("b").Reads({x})));
  const Liveness live = InFileOrder(b, FirstRuns(b.graph()));
  EXPECT_EQ(live.life[a].end - live.life[a].begin, 1);
}

// 65 bytes take two units of 64.
TEST(LivenessTest, SizesAreRoundedUpToTheAlignment) {
  LoweredBuilder b;
  b.Result(b.Add(NodeSpec("a").Writes({65})));
  const Liveness live = InFileOrder(b, FirstRuns(b.graph()));
  EXPECT_EQ(live.peak.bytes, 128);
}

TEST(LivenessTest, AZeroByteValueHasNoBuffer) {
  LoweredBuilder b;
  const LoweredValueId a = b.Add(NodeSpec("a").Writes({0}));
  b.Result(b.Add(NodeSpec("b").Reads({a})));
  const Liveness live = InFileOrder(b, FirstRuns(b.graph()));
  EXPECT_EQ(live.buffer_of[a], -1);
}

// a (64) and the scratchpad (256) live together at step 0 only.
TEST(LivenessTest, AScratchpadLivesDuringItsStep) {
  LoweredBuilder b;
  const LoweredValueId a = b.Add(NodeSpec("a").Scratchpad(256));
  b.Result(b.Add(NodeSpec("b").Reads({a})));
  const Liveness live = InFileOrder(b, FirstRuns(b.graph()));
  EXPECT_EQ(live.peak.bytes, 64 + 256);
  EXPECT_EQ(live.peak.step, 0);
}

// a -> b -> c, all in place: one buffer.
TEST(InPlaceTest, AChainSharesOneBuffer) {
  LoweredBuilder b;
  LoweredValueId v = b.Input("x", 64);
  for (const char* name : {"a", "b", "c"}) {
    v = b.Add(NodeSpec(name).Reads({v}).MayOverwrite({{0, 0}}));
  }
  b.Result(v);
  EXPECT_EQ(InFileOrder(b, FirstRuns(b.graph())).peak.bytes, 64);
  EXPECT_EQ(InFileOrder(b, FirstRuns(b.graph()), /*in_place=*/false).peak.bytes,
            128);
}

TEST(InPlaceTest, AValueWithAnotherReaderToComeIsNotOverwritten) {
  LoweredBuilder b;
  const LoweredValueId x = b.Add(NodeSpec("x"));
  const LoweredValueId y =
      b.Add(NodeSpec("y").Reads({x}).MayOverwrite({{0, 0}}));
  b.Result(b.Add(NodeSpec("z").Reads({x, y})));
  const Liveness live = InFileOrder(b, FirstRuns(b.graph()));
  EXPECT_NE(live.buffer_of[x], live.buffer_of[y]);
}

TEST(InPlaceTest, AResultIsNotOverwritten) {
  LoweredBuilder b;
  const LoweredValueId x = b.Add(NodeSpec("x"));
  const LoweredValueId y =
      b.Add(NodeSpec("y").Reads({x}).MayOverwrite({{0, 0}}));
  b.Result(x);
  b.Result(y);
  const Liveness live = InFileOrder(b, FirstRuns(b.graph()));
  EXPECT_NE(live.buffer_of[x], live.buffer_of[y]);
}

TEST(InPlaceTest, AParameterIsNotOverwritten) {
  LoweredBuilder b;
  const LoweredValueId w = b.Parameter("w", 64);
  const LoweredValueId y =
      b.Add(NodeSpec("y").Reads({w}).MayOverwrite({{0, 0}}));
  b.Result(y);
  const Liveness live = InFileOrder(b, FirstRuns(b.graph()));
  EXPECT_EQ(live.persistent_of[y], -1);
  EXPECT_EQ(live.peak.bytes, 64);
}

TEST(InPlaceTest, BytesMustBeEqual) {
  LoweredBuilder b;
  const LoweredValueId x = b.Add(NodeSpec("x").Writes({60}));
  const LoweredValueId y =
      b.Add(NodeSpec("y").Reads({x}).Writes({64}).MayOverwrite({{0, 0}}));
  b.Result(y);
  const Liveness live = InFileOrder(b, FirstRuns(b.graph()));
  EXPECT_NE(live.buffer_of[x], live.buffer_of[y]);
}

// The kernel may overwrite operand 0, but operand 1 is the same value.
TEST(InPlaceTest, EveryUseOfTheOperandMustAllowIt) {
  LoweredBuilder b;
  const LoweredValueId x = b.Add(NodeSpec("x"));
  const LoweredValueId y =
      b.Add(NodeSpec("y").Reads({x, x}).MayOverwrite({{0, 0}}));
  const LoweredValueId z =
      b.Add(NodeSpec("z").Reads({y, y}).MayOverwrite({{0, 0}, {1, 0}}));
  b.Result(z);
  const Liveness live = InFileOrder(b, FirstRuns(b.graph()));
  EXPECT_NE(live.buffer_of[x], live.buffer_of[y]);
  EXPECT_EQ(live.buffer_of[y], live.buffer_of[z]);
}

// Two outputs want one operand: the first pair gets it.
TEST(InPlaceTest, OneOperandIsTakenOnce) {
  LoweredBuilder b;
  const LoweredValueId x = b.Add(NodeSpec("x"));
  const LoweredValueId y = b.Add(
      NodeSpec("y").Reads({x}).Writes({64, 64}).MayOverwrite({{0, 0}, {0, 1}}));
  const LoweredValueId y1 = b.OutputOf(y, 1);
  b.Result(y);
  b.Result(y1);
  const Liveness live = InFileOrder(b, FirstRuns(b.graph()));
  EXPECT_EQ(live.buffer_of[y], live.buffer_of[x]);
  EXPECT_NE(live.buffer_of[y1], live.buffer_of[x]);
}

TEST(InPlaceTest, AnUpdateStaysAtTheParametersPlace) {
  LoweredBuilder b;
  const LoweredValueId w = b.Parameter("w", 64);
  const LoweredValueId g = b.Add(NodeSpec("g").Backward());
  const LoweredValueId u = b.Add(NodeSpec("u").Reads({w, g}).Updates(0));
  const LoweredValueId z = b.Add(NodeSpec("z").Reads({u}).Updates(0));
  const Liveness live = InFileOrder(b, FirstRuns(b.graph()));
  EXPECT_EQ(live.persistent_of[u], w);
  EXPECT_EQ(live.persistent_of[z], w);
  EXPECT_EQ(live.peak.bytes, 64);  // g alone
}

// y takes over x: 64 + 128 of z and a scratchpad of 64.
TEST(WorkingSetTest, CountsAMergedOperandOnceAndNothingPersistent) {
  LoweredBuilder b;
  const LoweredValueId w = b.Parameter("w", 1024);
  const LoweredValueId x = b.Input("x", 64);
  const LoweredValueId z = b.Add(NodeSpec("z").Reads({w}).Writes({128}));
  b.Result(b.Add(NodeSpec("y")
                     .Reads({x, z, w, x})
                     .MayOverwrite({{0, 0}, {3, 0}})
                     .Scratchpad(64)));
  EXPECT_EQ(WorkingSetBytes(b.graph()), 64 + 128 + 64);
}

// The definition, one (step, content) pair at a time.
int64_t PeakByDefinition(const LoweredBuilder& b, const TaskGraph& tasks,
                         absl::Span<const TaskId> order) {
  const int num_steps = static_cast<int>(order.size());
  int64_t peak = 0;
  for (int s = 0; s < num_steps; ++s) {
    int64_t live = AlignUp(
        b.graph().description(tasks.tasks[order[s]].node).scratchpad_bytes);
    for (size_t i = 0; i < tasks.instances.size(); ++i) {
      const Instance& instance = tasks.instances[i];
      const LoweredValue& value = b.graph().values[instance.value];
      if (IsPersistent(value.kind)) continue;
      const bool replay_of_nothing =
          instance.producer < 0 && value.kind != ValueKind::kInput;
      if (replay_of_nothing) continue;
      int written = 0;
      int last = 0;
      for (int t = 0; t < num_steps; ++t) {
        const Task& task = tasks.tasks[order[t]];
        const auto has = [&](const std::vector<InstanceId>& list) {
          return std::find(list.begin(), list.end(),
                           static_cast<InstanceId>(i)) != list.end();
        };
        if (has(task.out)) written = last = t;
        if (has(task.in)) last = t;
      }
      if (std::find(tasks.results.begin(), tasks.results.end(),
                    static_cast<InstanceId>(i)) != tasks.results.end()) {
        last = num_steps - 1;
      }
      if (written <= s && s <= last) live += AlignUp(value.bytes);
    }
    peak = std::max(peak, live);
  }
  return peak;
}

TEST(LivenessTest, EqualsTheDefinitionOnRandomGraphs) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const LoweredBuilder b = RandomLowered(seed, RandomLoweredOptions());
    const TaskGraph tasks = FirstRuns(b.graph());
    std::vector<TaskId> order;
    for (size_t t = 0; t < tasks.tasks.size(); ++t) {
      order.push_back(static_cast<TaskId>(t));
    }
    LivenessOptions options;
    options.in_place = false;
    EXPECT_EQ(ComputeLiveness(b.graph(), tasks, order, options).peak.bytes,
              PeakByDefinition(b, tasks, order))
        << "seed " << seed;
  }
}

TEST(LivenessTest, InPlaceNeverRaisesThePeak) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const LoweredBuilder b = RandomLowered(seed, RandomLoweredOptions());
    const TaskGraph tasks = FirstRuns(b.graph());
    EXPECT_LE(InFileOrder(b, tasks, /*in_place=*/true).peak.bytes,
              InFileOrder(b, tasks, /*in_place=*/false).peak.bytes)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace reprise
