// The part of the operator harness that runs an operator within a graph, and
// differentiates it there.

#ifndef TESTS_TESTING_GRAPH_CHECK_H_
#define TESTS_TESTING_GRAPH_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/graph.pb.h"
#include "tests/testing/op_case.h"

namespace reprise {

// Returns the case as a model: inputs x0, ..., results y0, ..., and a loss
// sum_k sum(w_k y_k) over `loss_outputs`.
proto::Graph ModelOf(const OpCase& c, const PreparedCase& prepared,
                     const std::vector<int>& loss_outputs);

// Returns "x0" for 0, and so on.
std::vector<std::string> InputNames(const std::vector<int>& inputs);

struct GraphResults {
  HostTensors out;        // by output; without data where unchecked
  HostTensors gradients;  // by differentiable input
};

// Runs the model of a case.
//
//   weights: of the loss, by loss output.
absl::StatusOr<GraphResults> RunGraph(const OpCase& c,
                                      const PreparedCase& prepared,
                                      const HostTensors& inputs,
                                      const HostTensors& weights, int threads);

// Expects `want` of the graph, and central differences of the definition of
// its gradients; the weights of the loss are drawn from the seed.
absl::Status CheckGraph(const OpCase& c, const PreparedCase& prepared,
                        const HostTensors& inputs, const HostTensors& want,
                        uint64_t seed);

}  // namespace reprise

#endif  // TESTS_TESTING_GRAPH_CHECK_H_
