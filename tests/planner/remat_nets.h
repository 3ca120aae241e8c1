// Graphs to recompute in, and an independent look at schedules.

#ifndef TESTS_PLANNER_REMAT_NETS_H_
#define TESTS_PLANNER_REMAT_NETS_H_

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/lowered_graph.h"
#include "planner/remat/remat.h"

namespace reprise {

using Runs = std::vector<int32_t>;

// Makes graphs whose nodes write one value each, with the number of the node.
class Net {
 public:
  // Adds a node that reads the values of `in`; returns its number.
  int32_t Add(int64_t cost, int64_t bytes, std::vector<int32_t> in) {
    const int32_t n = static_cast<int32_t>(graph_.nodes.size());
    RematNode node;
    node.cost = cost;
    node.may_repeat = true;
    node.in = std::move(in);
    node.out = {n};
    graph_.nodes.push_back(node);
    RematValue value;
    value.bytes = bytes;
    value.producer = n;
    graph_.values.push_back(value);
    return n;
  }
  // Lets every node overwrite any operand.
  Net& InPlace() {
    for (RematNode& node : graph_.nodes) {
      for (size_t i = 0; i < node.in.size(); ++i) {
        node.may_overwrite.push_back({static_cast<int>(i), 0});
      }
    }
    return *this;
  }
  Net& Result(int32_t v) {
    graph_.values[v].is_result = true;
    return *this;
  }
  RematGraph& graph() { return graph_; }

 private:
  RematGraph graph_;
};

// A forward chain of `length` and its gradients: the gradient of i reads the
// one after it, the output of i and its input.
RematGraph TrainingChain(int length, int64_t forward_cost);

// Random layers, each node reading a few before it; some values are read again
// much later, as a gradient would.
RematGraph RandomNet(uint64_t seed, int num_nodes, bool in_place);

// The sequence with `repeats` random legal repeats.
Runs WithRandomRepeats(const RematGraph& graph, int repeats,
                       std::mt19937_64& random);

// Plays the runs one by one, by the definition, and returns what is wrong; ""
// if nothing. Quadratic on purpose.
std::string WhatIsWrong(const RematGraph& graph, const RematSchedule& schedule,
                        bool fixed_order);

// The remat graph of a lowered graph in file order, before any alignment.
RematGraph FromLowered(const LoweredGraph& lowered);

// The peak as planner/liveness.h has it.
int64_t PeakOfTasks(const LoweredGraph& lowered, const Runs& runs);

}  // namespace reprise

#endif  // TESTS_PLANNER_REMAT_NETS_H_
