#include "planner/remat/remat_timeline.h"

#include <algorithm>
#include <cstdint>

#include "gtest/gtest.h"
#include "planner/remat/remat_edit.h"
#include "planner/remat/remat_model.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/random_lowered.h"
#include "tests/planner/remat_nets.h"

namespace reprise {
namespace {

TEST(TimelineTest, EqualsTheEvaluationWhileRunsComeAndGo) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RandomLoweredOptions options;
    options.num_forward = 4 + static_cast<int>(seed % 20);
    const LoweredBuilder b = RandomLowered(seed, options);
    const RematGraph graph = FromLowered(b.graph());
    const RematModel model(graph);
    RunEvaluator evaluator(model);
    const int64_t budget =
        EvaluateRuns(graph, FirstRunsOnly(model)).peak_bytes * 3 / 4;
    Timeline timeline(model, FirstRunsOnly(model), budget);
    RematRandom random(seed);
    RematEdit edit(timeline);
    edit.surprise = 0.3;
    edit.random = &random;
    for (int change = 0; change < 200; ++change) {
      const double excess = timeline.Excess();
      const Runs before = timeline.Runs();
      const int32_t slot = random.Below(timeline.num_slots());
      if (timeline.node_at(slot) < 0) continue;
      if (timeline.is_repeat(slot)) {
        edit.Remove(slot);
      } else {
        const auto in = model.in[timeline.node_at(slot)];
        if (in.empty()) continue;
        const int32_t value = in[random.Below(static_cast<int32_t>(in.size()))];
        const int32_t producer = model.producer[value];
        if (producer < 0) continue;
        if (edit.Repeat(producer, slot, 20)) edit.RemoveReplaced();
      }
      if (random.Below(2) == 0) {
        edit.Undo();
        ASSERT_EQ(timeline.Excess(), excess) << "seed " << seed;
        ASSERT_EQ(timeline.Runs(), before) << "seed " << seed;
      }
      edit.Keep();
      edit.MakeRoom();
      const RematSchedule now = evaluator.Schedule(timeline.Runs());
      double sum = 0;
      for (const int64_t live : evaluator.live()) {
        sum += static_cast<double>(std::max<int64_t>(live - budget, 0));
      }
      ASSERT_EQ(timeline.Excess(), sum) << "seed " << seed;
      ASSERT_EQ(timeline.added_cost(), now.added_cost) << "seed " << seed;
      ASSERT_EQ(timeline.MaxLive(0, timeline.num_slots() - 1), now.peak_bytes)
          << "seed " << seed;
      ASSERT_EQ(WhatIsWrong(graph, now, true), "") << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace reprise
