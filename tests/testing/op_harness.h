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
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/attributes.h"
#include "core/tensor_type.h"

namespace reprise {

// Elements in row-major order, whatever the element type.
struct HostTensor {
  TensorType type;
  std::vector<double> data;
};
using HostTensors = std::vector<HostTensor>;

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

// Short for types.
TensorType F32(Dims dims);
TensorType I32(Dims dims);
TensorType I64(Dims dims);

// Numbers for making random cases.
class CaseRandom {
 public:
  explicit CaseRandom(uint64_t seed) : engine_(seed) {}

  // Returns a whole number in [low, high].
  int64_t Int(int64_t low, int64_t high);
  double Real(double low, double high);
  bool Bool() { return Int(0, 1) == 1; }

  template <class T>
  T Pick(const std::vector<T>& from) {
    return from[Int(0, static_cast<int64_t>(from.size()) - 1)];
  }

  // Returns a dim: mostly small, often odd or 1, at times longer than a vector
  // of any instruction set, seldom 0.
  int64_t Dim();

  // Returns `rank` dims whose product is at most a thousand.
  Dims DimsOfRank(int rank);

  // Returns dims of rank in [min_rank, max_rank].
  Dims AnyDims(int min_rank, int max_rank);

  // Returns dims that broadcast with `dims` to `dims`: some made 1, some
  // leading ones dropped.
  Dims Narrowed(const Dims& dims);

 private:
  std::mt19937_64 engine_;
};

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

// Helpers for definitions.

// Returns the tensor with f of each element.
HostTensor MapElements(const HostTensor& x, double (*f)(double));

// Returns f of the elements of a and b that broadcast to each other.
HostTensor BroadcastElements(const HostTensor& a, const HostTensor& b,
                             const std::function<double(double, double)>& f);

// Returns a tensor of `type` whose element at each index is f(index).
HostTensor FromIndex(TensorType type,
                     const std::function<double(const Dims& index)>& f);

// Returns the element at `index`.
double At(const HostTensor& x, const Dims& index);

// Calls f with every index of `dims`, in row-major order.
void ForEachIndex(const Dims& dims, const std::function<void(const Dims&)>& f);

}  // namespace reprise

#endif  // TESTS_TESTING_OP_HARNESS_H_
