// The operator harness: checks an operator against its definition in double.
//
// A case is an operator with the types and attributes of one node, and the
// definition: a plain function from tensors of doubles to tensors of doubles.
// `CheckCase` then checks, with contents from a seed,
//
//   forward    the kernel against the definition, on 1 and 2 threads, with the
//              operands row-major and channels-last, between guard bytes, and
//              that no kernel is oneDNN's reference code or takes heap
//   repeat     two runs at different addresses give the same bits
//   in-place   each pair of Description::may_overwrite gives the same bits
//   gradient   what the graph computes (loaded, differentiated, lowered,
//              planned, run) against central differences of the definition
//
// Operators that only exist in the expanded step graph (OpDef::expand) have no
// kernel of their own: for those the graph alone is checked.
//
//   OpCase c;
//   c.op = "Relu";
//   c.in = {F32({3, 5})};
//   c.definition = [](const HostTensors& in, const Attrs&) { ... };
//   CheckCase(c, /*seed=*/1);

#ifndef TESTS_TESTING_OP_HARNESS_H_
#define TESTS_TESTING_OP_HARNESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/attributes.h"
#include "core/tensor_type.h"
#include "tests/testing/case_random.h"
#include "tests/testing/host_tensor.h"
#include "tests/testing/op_case.h"

namespace reprise {

// Everything above. Failures name the case and the seed.
void CheckCase(const OpCase& c, uint64_t seed);

// The parts of it.
void CheckForward(const OpCase& c, uint64_t seed);
void CheckGradient(const OpCase& c, uint64_t seed);

// Returns the results of the operator's kernel on `inputs`, one thread,
// row-major operands. For tests of special values.
HostTensors RunOp(const OpCase& c, const HostTensors& inputs);

// Returns the gradients of sum(w y) with respect to the inputs, in which w has
// the content `weights`, for each f32 input; computed through the graph.
HostTensors GradientsThroughGraph(const OpCase& c, const HostTensors& inputs,
                                  const HostTensors& weights);

// Returns the forward values that the gradient reads, in order: operands are
// x0, x1, ..., results y0, y1, ...; e.g. "y0" or "x0 x1". Gradients of all f32
// operands are wanted, or of those in `wanted`.
std::string KeptValues(const OpCase& c, std::vector<int> wanted = {});

// Expects the operator to refuse the inputs with InvalidArgument, in a message
// that names node and operator and contains `text`.
void ExpectRefused(absl::string_view op, const std::vector<TensorType>& in,
                   const Attrs& attrs, absl::string_view text);

}  // namespace reprise

#endif  // TESTS_TESTING_OP_HARNESS_H_
