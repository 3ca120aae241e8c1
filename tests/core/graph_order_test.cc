#include "core/graph_order.h"

#include <vector>

#include "gtest/gtest.h"

namespace reprise {
namespace {

using Units = std::vector<int32_t>;

Ordering Order(int32_t num_units,
               const std::vector<std::pair<int32_t, int32_t>>& pairs) {
  return OrderByDependencies(MakeDependencies(num_units, pairs));
}

TEST(OrderByDependenciesTest, AnOrderThatCanRunStays) {
  EXPECT_EQ(Order(4, {{3, 0}, {3, 2}, {2, 1}}).order, (Units{0, 1, 2, 3}));
}

TEST(OrderByDependenciesTest, AUnitIsPrecededByWhatItLacks) {
  EXPECT_EQ(Order(4, {{1, 3}}).order, (Units{0, 3, 1, 2}));
  EXPECT_EQ(Order(4, {{0, 3}, {0, 2}}).order, (Units{3, 2, 0, 1}));
}

TEST(OrderByDependenciesTest, DoubledDependenciesAreOne) {
  EXPECT_EQ(Order(2, {{0, 1}, {0, 1}}).order, (Units{1, 0}));
}

TEST(OrderByDependenciesTest, NothingIsInOrder) {
  EXPECT_TRUE(Order(0, {}).order.empty());
}

TEST(OrderByDependenciesTest, ACycleIsNamedInTheDirectionOfTheData) {
  // 0 reads 1, 1 reads 2, 2 reads 0: data flows 2 -> 1 -> 0 -> 2.
  const Ordering ordering = Order(4, {{0, 1}, {1, 2}, {2, 0}});
  EXPECT_EQ(ordering.cycles, std::vector<Units>{(Units{2, 1, 0})});
  EXPECT_EQ(ordering.order.size(), 4u);
}

TEST(OrderByDependenciesTest, WhatLeadsToACycleIsNotPartOfIt) {
  // 0 reads 1, which reads itself.
  EXPECT_EQ(Order(2, {{0, 1}, {1, 1}}).cycles, std::vector<Units>{Units{1}});
}

TEST(OrderByDependenciesTest, OnlyTheFirstCyclesAreKept) {
  std::vector<std::pair<int32_t, int32_t>> loops;
  for (int32_t i = 0; i < 1000; ++i) loops.emplace_back(i, i);
  EXPECT_EQ(Order(1000, loops).cycles.size(), 5u);
}

}  // namespace
}  // namespace reprise
