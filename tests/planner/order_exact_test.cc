#include "planner/order/order_exact.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "planner/liveness.h"
#include "planner/order/list_scheduler.h"
#include "planner/order/order.h"
#include "planner/order/order_model.h"
#include "tests/planner/lowered_builder.h"
#include "tests/planner/random_lowered.h"
#include "tests/planner/resolved.h"

namespace reprise {
namespace {

// Every legal order of the scheduled tasks of a small graph, each task directly
// behind the on-demand tasks that it needs and that have not run, in the order
// of its operands.
class EveryOrder {
 public:
  EveryOrder(const Resolved& r, const LivenessOptions& options, int most_orders)
      : r_(r), options_(options), most_orders_(most_orders) {
    const std::vector<Task>& tasks = r.tasks.tasks;
    run_.assign(tasks.size(), false);
    for (const Task& task : tasks) {
      const Effect effect = r_.b.graph().nodes[task.node].effect;
      std::vector<TaskId> before;
      for (size_t other = 0; effect == Effect::kUpdate && other < tasks.size();
           ++other) {
        if (&tasks[other] == &task) continue;
        const std::vector<InstanceId>& in = tasks[other].in;
        if (EffectOf(other) == Effect::kGuard ||
            std::find(in.begin(), in.end(), task.in[0]) != in.end()) {
          before.push_back(static_cast<TaskId>(other));
        }
      }
      run_before_.push_back(std::move(before));
    }
    Extend();
  }

  // 0: there are more than `most_orders`, or none.
  int64_t num_orders() const {
    return num_orders_ > most_orders_ ? 0 : num_orders_;
  }
  int64_t least_peak() const { return least_peak_; }

 private:
  Effect EffectOf(size_t t) const {
    return r_.b.graph().nodes[r_.tasks.tasks[t].node].effect;
  }

  // Appends `t` and what it needs; returns whether that is legal.
  bool Fetch(TaskId t) {
    if (run_[t]) return true;
    for (const TaskId before : run_before_[t]) {
      if (!run_[before]) return false;
    }
    for (const InstanceId in : r_.tasks.tasks[t].in) {
      const TaskId producer = r_.tasks.instances[in].producer;
      if (producer < 0 || run_[producer]) continue;
      if (!r_.tasks.tasks[producer].on_demand || !Fetch(producer)) return false;
    }
    run_[t] = true;
    order_.push_back(t);
    return true;
  }

  void Undo(size_t size) {
    for (; order_.size() > size; order_.pop_back()) run_[order_.back()] = false;
  }

  void Extend() {
    if (num_orders_ > most_orders_) return;
    const size_t size = order_.size();
    bool any = false;
    for (size_t t = 0; t < run_.size(); ++t) {
      if (run_[t] || r_.tasks.tasks[t].on_demand) continue;
      any = true;
      if (Fetch(static_cast<TaskId>(t))) Extend();
      Undo(size);
    }
    if (any) return;
    for (size_t t = 0; t < run_.size(); ++t) Fetch(static_cast<TaskId>(t));
    EXPECT_EQ(order_.size(), run_.size());
    const int64_t peak =
        ComputeLiveness(r_.b.graph(), r_.tasks, order_, options_).peak.bytes;
    if (num_orders_ == 0 || peak < least_peak_) least_peak_ = peak;
    ++num_orders_;
    Undo(size);
  }

  const Resolved& r_;
  const LivenessOptions& options_;
  const int64_t most_orders_;
  std::vector<std::vector<TaskId>> run_before_;  // by task: no data dependence
  std::vector<bool> run_;
  std::vector<TaskId> order_;
  int64_t num_orders_ = 0;
  int64_t least_peak_ = 0;
};

// With and without regions, reorders and merging: what is called proven is the
// lowest peak of all orders.
TEST(ExactOrderTest, ProvenIsTheBestOfAllOrders) {
  int graphs = 0;
  int with_on_demand = 0;
  for (uint64_t seed = 1; seed <= 800; ++seed) {
    RandomLoweredOptions random;
    random.num_forward = 2 + static_cast<int>(seed % 2);
    random.regions = seed % 3 > 0;
    random.annotate = random.regions;
    random.reorders = seed % 4 < 2;
    const Resolved r = ResolvedOf(RandomLowered(seed, random));
    OrderOptions options;
    options.liveness.in_place = seed % 5 > 0;
    const EveryOrder every(r, options.liveness, /*most_orders=*/2'000);
    if (every.num_orders() == 0) continue;
    const absl::StatusOr<Order> order =
        LeastPeakOrder(r.b.graph(), r.tasks, options);
    ASSERT_TRUE(order.ok()) << order.status();
    EXPECT_TRUE(order->proven) << "seed " << seed;
    EXPECT_EQ(order->bound_bytes, order->peak.bytes) << "seed " << seed;
    EXPECT_EQ(order->peak.bytes, every.least_peak())
        << "seed " << seed << ", " << every.num_orders() << " orders, "
        << order->name;
    ++graphs;
    with_on_demand +=
        std::any_of(r.tasks.tasks.begin(), r.tasks.tasks.end(),
                    [](const Task& task) { return task.on_demand; });
  }
  std::cout << graphs << " graphs, " << with_on_demand
            << " with tasks on demand\n";
  EXPECT_GE(graphs, 90);
  EXPECT_GE(with_on_demand, 30);
}

// While `top` runs, its operand and every value that its descendants read live
// in any order: a (256), b (128), the result top (64), and x (64), which is
// read by the last node.
TEST(ExactOrderTest, TheBoundIsWhatMustLiveWhileOneTaskRuns) {
  LoweredBuilder b;
  const LoweredValueId x = b.Input("x", 64);
  const LoweredValueId a = b.Add(NodeSpec("a").Reads({x}).Writes({256}));
  const LoweredValueId c = b.Add(NodeSpec("b").Reads({a}).Writes({128}));
  const LoweredValueId top = b.Add(NodeSpec("top").Reads({c}).Writes({64}));
  const LoweredValueId db = b.Add(NodeSpec("db").Reads({top, a}));
  b.Result(b.Add(NodeSpec("dx").Reads({db, x})));
  const Resolved r = ResolvedOf(std::move(b));
  const ListScheduler scheduler(r.b.graph(), r.tasks);
  EXPECT_EQ(OrderModel(scheduler, LivenessOptions()).LowerBound(INT64_MAX),
            64 + 256 + 128 + 64);
  const Order order = LeastPeakOf(r);
  EXPECT_EQ(order.peak.bytes, 64 + 256 + 128 + 64);
  EXPECT_TRUE(order.proven);
}

// `r` is fetched and frees v, whoever fetches it first. Taken alone, t gives
// back more than it makes (v 1024 for t 512 and r 64), so it looks as if it
// might as well run at once. But xx fetches r too, and y behind it has the
// peak: t belongs behind y, where it adds nothing.
//
//   xx y t    at y: xx 64, y 64, r 64, g 64, loss 64, scratchpad 2048
//   t xx y    at y: xx 64, y 64, t 512, loss 64, scratchpad 2048
TEST(ExactOrderTest, WhatIsFreedOnDemandIsNoGainOfTheFirstToAsk) {
  LoweredBuilder b;
  const LoweredValueId x = b.Input("x", 64);
  const LoweredValueId v = b.Add(NodeSpec("v").Reads({x}).Writes({1024}));
  const LoweredValueId loss = b.Add(NodeSpec("loss").Reads({v}).Writes({4}));
  b.Result(loss);
  b.Loss(loss);
  const LoweredValueId seed =
      b.Add(NodeSpec("seed").Writes({4}).GradientOf(loss));
  const LoweredValueId g =
      b.Add(NodeSpec("g").Reads({seed, loss}).GradientOf(v));
  const LoweredValueId r = b.Add(NodeSpec("r").Reads({v}).GradientOf(v));
  b.Result(b.Add(NodeSpec("t").Reads({g, r}).Writes({512}).GradientOf(v)));
  const LoweredValueId xx = b.Add(NodeSpec("xx").Reads({g, r}).GradientOf(v));
  b.Result(b.Add(NodeSpec("y").Reads({xx}).Scratchpad(2048).GradientOf(v)));
  const Resolved resolved = ResolvedOf(std::move(b));
  const ListScheduler scheduler(resolved.b.graph(), resolved.tasks);
  OrderModel model(scheduler, LivenessOptions());
  ExactOrderOptions options;
  options.lower_bound_bytes = model.LowerBound(INT64_MAX);
  options.known_peak_bytes = INT64_MAX;
  const ExactOrder exact = FindExactOrder(model, options);
  EXPECT_TRUE(exact.proven);
  int64_t peak = 0;
  for (const TaskId task : exact.scheduled) {
    peak = std::max(peak, model.Run(task));
  }
  EXPECT_EQ(peak, 5 * 64 + 2048);
}

// However early the search over sets is stopped, what it says no order is below
// is at most the lowest peak.
TEST(ExactOrderTest, ASearchThatIsStoppedLeavesABound) {
  int stopped = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    RandomLoweredOptions random;
    random.num_forward = 10;
    const Resolved r = ResolvedOf(RandomLowered(seed, random));
    const Order best = LeastPeakOf(r);
    ASSERT_TRUE(best.proven) << "seed " << seed;
    OrderOptions options;
    for (options.search_work = 100; options.search_work < 10'000;
         options.search_work *= 3) {
      const absl::StatusOr<Order> order =
          LeastPeakOrder(r.b.graph(), r.tasks, options);
      ASSERT_TRUE(order.ok()) << order.status();
      EXPECT_LE(order->bound_bytes, best.peak.bytes) << "seed " << seed;
      EXPECT_GE(order->peak.bytes, best.peak.bytes) << "seed " << seed;
      EXPECT_EQ(order->proven, order->bound_bytes == order->peak.bytes);
      stopped += order->proven ? 0 : 1;
    }
  }
  EXPECT_GT(stopped, 20);
}

}  // namespace
}  // namespace reprise
