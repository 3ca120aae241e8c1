// Random models for tests: small, valid, differentiable, finite.

#ifndef TESTS_TESTING_RANDOM_GRAPH_H_
#define TESTS_TESTING_RANDOM_GRAPH_H_

#include <cstdint>
#include <map>
#include <string>

#include "proto/graph.pb.h"
#include "tests/testing/random_ops.h"  // kIndexLimit

namespace reprise {

struct RandomGraphOptions {
  int num_ops = 12;      // applications of random operators
  bool regions = true;   // random nested regions with random policies
  bool annotate = true;  // random must_save and must_recompute
};

// Returns a model that `seed` determines: float input "x" ([batch, ...]), some
// integer inputs whose contents must lie in [0, kIndexLimit), shared
// parameters, several outputs, one or more losses.
proto::Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

// Adds to `coverage` how often each operator occurs in `graph`.
void CountOperators(const proto::Graph& graph,
                    std::map<std::string, int>& coverage);

}  // namespace reprise

#endif  // TESTS_TESTING_RANDOM_GRAPH_H_
