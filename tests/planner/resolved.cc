#include "tests/planner/resolved.h"

#include <utility>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "planner/regions.h"

namespace reprise {

Resolved ResolvedOf(LoweredBuilder b) {
  TaskGraph tasks = Regions::Create(b.step(), b.graph())->Resolve().tasks;
  return {std::move(b), std::move(tasks)};
}

Order LeastPeakOf(const Resolved& r) {
  const absl::StatusOr<Order> order =
      LeastPeakOrder(r.b.graph(), r.tasks, OrderOptions());
  EXPECT_TRUE(order.ok()) << order.status();
  return *order;
}

Order FileOrderOf(const Resolved& r) {
  const absl::StatusOr<Order> order =
      FileOrder(r.b.graph(), r.tasks, LivenessOptions());
  EXPECT_TRUE(order.ok()) << order.status();
  return *order;
}

}  // namespace reprise
