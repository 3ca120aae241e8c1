// One case of the operator harness, and what follows from it.

#ifndef TESTS_TESTING_OP_CASE_H_
#define TESTS_TESTING_OP_CASE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/attributes.h"
#include "core/op.h"
#include "core/op_table.h"
#include "core/tensor_type.h"
#include "tests/testing/host_tensor.h"

namespace reprise {

// Returns the results that a node has, as many as are asked for.
using Definition =
    std::function<HostTensors(const HostTensors& in, const Attrs& attrs)>;

// Contents are drawn uniformly from [low, high): reals for f32, whole numbers
// for integers.
struct ContentRange {
  double low = -2;
  double high = 2;
};

struct OpCase {
  std::string op;
  std::vector<TensorType> in;  // not present(): an absent optional operand
  Attrs attrs;                 // defaults may be left out
  int num_outputs = 1;
  Definition definition;  // sees attributes complete

  // By operand; the last one serves those without one of their own.
  std::vector<ContentRange> ranges;

  // |got - want| <= tolerance * max(1, |want|), where a result is a sum of
  // many terms: times a scale that the case knows.
  double tolerance = 2e-6;
  double gradient_tolerance = 2e-5;

  // Outputs that the loss of the gradient check depends on; empty: all f32
  // ones. None at all, for an operator without a gradient: `gradient` false.
  std::vector<int> loss_outputs;
  bool gradient = true;

  // Outputs that the definition says nothing about, e.g. workspaces.
  std::vector<int> unchecked_outputs;
};

// Returns e.g. "Relu{}(f32[3,5])".
std::string CaseText(const OpCase& c);

// What a case knows of its operator.
struct PreparedCase {
  const OpDef* op = nullptr;
  Attrs attrs;                    // complete
  std::vector<TensorType> types;  // of all results that the node can have
};

// errors: NotFound for an unknown operator; those of CompleteAttrs and
//         InferTypes; InvalidArgument for more results than there are.
absl::StatusOr<PreparedCase> PrepareCase(const OpCase& c, const OpTable& table);

// Returns contents in the ranges of the case.
HostTensors RandomInputs(const OpCase& c, uint64_t seed);

// Returns whether the definition says something about output `i`.
bool IsChecked(const OpCase& c, int i);

// Returns the outputs that the loss of the gradient check depends on.
std::vector<int> LossOutputs(const OpCase& c, const PreparedCase& prepared);

// Returns the f32 operands that have a gradient.
std::vector<int> DifferentiableInputs(const OpCase& c,
                                      const PreparedCase& prepared);

}  // namespace reprise

#endif  // TESTS_TESTING_OP_CASE_H_
