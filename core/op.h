// What the framework needs to know about one operator.
//
// An operator is a value of type OpDef: a name, some facts and a few functions.
// Everything outside ops/ reaches an operator through this struct, so a new one
// changes no code outside its own file.
//
// A node passes through them in this order:
//   expand    the step graph is made for a mode: Dropout is the identity in
//             evaluation, BatchNormalization splits off its statistics' update
//   infer     the types of the outputs; the only place where inputs are judged
//   grad      ordinary nodes that compute the gradients
//   describe  lowering: layouts, bytes, cost; builds no primitive
//   build     the kernel, once per distinct signature that a plan uses

#ifndef CORE_OP_H_
#define CORE_OP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/attributes.h"
#include "core/tensor_type.h"

namespace reprise {

using ValueId = int32_t;  // index into Graph::values
using NodeId = int32_t;   // index into Graph::nodes
inline constexpr ValueId kNoValue = -1;
inline constexpr NodeId kNoNode = -1;

class GradBuilder;    // core/autodiff.h
class ExpandBuilder;  // core/expand.h
struct OpDef;

// What `infer` sees. Absent optional operands are there with present() false.
struct OpArgs {
  absl::Span<const TensorType> in;
  const Attrs& attrs;
};

// Everything that determines a kernel: nodes with equal signatures share one.
struct Signature {
  const OpDef* op = nullptr;
  // The node's attributes, and those that lowering adds, whose names begin
  // with "__", e.g. "__activation" for a fused one.
  Attrs attrs;
  std::vector<TensorType> in;   // logical types; absent ones not present()
  std::vector<TensorType> out;  // likewise: an output nobody wants is absent
  std::vector<Layout> in_layouts;
  std::vector<Layout> out_layouts;  // empty while layouts are being offered
};

// Returns text that determines the signature.
std::string SignatureKey(const Signature& signature);

// What a kernel is described and built for.
struct OpEnv {
  int threads = 1;  // OpenMP threads that run every kernel; fixed
};

// Permission, or order, that output `out` takes over the buffer of input `in`.
struct Overwrite {
  int in = 0;
  int out = 0;
};

// Which peak rate of the machine bounds a kernel's arithmetic.
enum class Rate : uint8_t { kVector, kMatmul, kConv };

// What lowering and the planner need to know of one signature.
struct Description {
  // oneDNN's name of the chosen kernel, e.g. "brg:avx512_core", or "hwy:..."
  // for a loop of ours.
  std::string implementation;

  // The layouts that the kernel wants and gives. Where a wanted one differs
  // from the one offered, lowering inserts a Reorder.
  std::vector<Layout> in_layouts;
  std::vector<Layout> out_layouts;

  // Physical bytes of each output, padding included; of a workspace too. 0 for
  // absent outputs.
  std::vector<int64_t> out_bytes;

  int64_t scratchpad_bytes = 0;

  // Heap that one execution takes by itself where no clean kernel exists.
  int64_t library_heap_bytes = 0;

  Rate rate = Rate::kVector;
  int64_t flops = 0;
  int64_t bytes_moved = 0;  // read plus written, each tensor counted once

  // In-place pairs that this kernel allows (bytes must also be equal).
  std::vector<Overwrite> may_overwrite;
};

// Addresses for one execution, in the order of the signature's operands;
// nullptr for absent ones and for values of zero bytes.
struct Buffers {
  void* const* in = nullptr;
  void* const* out = nullptr;
  void* scratchpad = nullptr;  // Description::scratchpad_bytes, 64-byte aligned
};

// A signature made ready to run: whatever can fail or allocate has been done.
// One kernel is run by one thread of the host at a time.
struct Kernel {
  std::function<void(const Buffers&)> run;
};

enum class Effect : uint8_t {
  kPure,        // a function of its inputs, bit for bit; may be replayed
  kUpdate,      // overwrites persistent content; runs once per step
  kGuard,       // stops the step if its input is not finite; before any update
  kCollective,  // reserved: all-reduce
};

// How the named checkpoint policies see an operator's results.
enum class MatmulKind : uint8_t {
  kNone,
  kDot,   // MatMul: has batch dims if both operands have rank > 2
  kGemm,  // Gemm: no batch dims
  kConv,  // saved by save_matmuls only
};

struct OpDef {
  // As written in Node.op of proto/graph.proto: ONNX's name. Unique.
  std::string name;

  // Not for files: gradients, updates, reorders.
  bool internal = false;

  int min_inputs = 1;
  int max_inputs = 1;  // INT_MAX: variadic
  int min_outputs = 1;
  int max_outputs = 1;  // INT_MAX: variadic

  // Every attribute the operator accepts; others are refused.
  std::vector<AttrSpec> attrs;

  Effect effect = Effect::kPure;
  MatmulKind matmul = MatmulKind::kNone;

  // Outputs from this index on are statistics or workspaces: written for the
  // gradient, hidden in files unless ONNX names them, and kept or dropped with
  // output 0.
  int first_statistic = 1 << 20;

  // Types of all outputs that the operator can have (of a variadic one: as
  // many as its attributes say), or InvalidArgument naming the rule that `in`
  // breaks. Later stages may assume what it judged.
  std::function<absl::StatusOr<std::vector<TensorType>>(const OpArgs&)> infer;

  // Adds backward nodes; returns one gradient per input, kNoValue where there
  // is none or none is needed. The forward values a rule names are the values
  // kept for the backward pass: nothing else is saved. Null: not
  // differentiable.
  std::function<std::vector<ValueId>(GradBuilder&)> grad;

  // Inputs with a gradient of zero everywhere by definition (indices, masks).
  std::vector<int> no_grad_inputs;

  // Replaces the node in the step graph of a mode. Null: stays as it is.
  std::function<absl::Status(ExpandBuilder&)> expand;

  // Output 0 has the bytes of input 0, in row-major order: no kernel runs.
  bool is_view = false;

  // Updates: input and output are one persistent buffer.
  std::vector<Overwrite> must_overwrite;

  // Fusion into the kernel of this operator: an activation of this name can be
  // its last step ("Relu", ...) over output 0, bit-equal to running it
  // separately.
  std::vector<std::string> fusable_activations;

  // Fusion of an operand's maker into the kernel of this operator: a node of
  // that name whose only reader is this operand need not run. Its last operand
  // takes the operand's place, the others follow this node's own.
  struct FusableOperand {
    std::string op;
    int operand = 0;
  };
  std::vector<FusableOperand> fusable_operands;

  // in_layouts of `offered` are those that the operands have; out_layouts is
  // empty. No primitive is built.
  std::function<absl::StatusOr<Description>(const Signature& offered,
                                            const OpEnv&)>
      describe;

  // The signature has the layouts of its description.
  std::function<absl::StatusOr<Kernel>(const Signature&, const OpEnv&)> build;
};

}  // namespace reprise

#endif  // CORE_OP_H_
