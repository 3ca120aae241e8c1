// RNN, GRU and LSTM, over sequences of a fixed length, forward, reverse or
// both.
//
//   RNN   h = f(x W^T + h R^T + b)
//   LSTM  i, o, f = sigmoid(..);  c = f c + i tanh(..);  h = o tanh(c)
//   GRU   z, r = sigmoid(..);  h = (1 - z) n + z h,  n = tanh(x W^T +
//         (r h) R^T + ..), or tanh(x W^T + r (h R^T + ..) + ..) if
//         linear_before_reset
//
// In the step graph the sequence is unrolled: one Gemm for all x W^T, and for
// each time step a Gemm and the element-wise nodes of a cell, 5 (RNN) to 20
// (LSTM with peepholes) of them. A plan keeps what the gradients of every step
// read, as of any other nodes: regions and budgets trade them. Tested by
// tests/ops/recurrent_test.cc.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/infer.h"

namespace reprise {
namespace {

// Longer sequences would make graphs that take minutes to plan.
constexpr int64_t kMostSteps = 10000;

// Operands, by ONNX's positions.
enum Operand { kX, kW, kR, kB, kLengths, kH, kC, kP };

struct CellKind {
  std::string name;
  int64_t gates;  // in W and R
  int max_inputs;
  int max_outputs;
  std::vector<std::string> activations;  // of one direction
};

struct Shape {
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t input = 0;
  int64_t hidden = 0;
  int64_t directions = 1;
  bool batch_first = false;

  Dims y() const {
    return batch_first ? Dims{batch, steps, directions, hidden}
                       : Dims{steps, directions, batch, hidden};
  }
  Dims state() const {
    return batch_first ? Dims{batch, directions, hidden}
                       : Dims{directions, batch, hidden};
  }
};

absl::Status Require(const CellKind& kind, const char* name,
                     absl::Span<const TensorType> in, size_t operand,
                     const Dims& dims) {
  if (operand >= in.size() || !in[operand].present()) return absl::OkStatus();
  const TensorType want = {DType::kF32, dims};
  if (in[operand] == want) return absl::OkStatus();
  return Invalid(kind.name, ": ", name, " must be ", ToString(want), ", got ",
                 ToString(in[operand]));
}

absl::StatusOr<Shape> ShapeOf(const CellKind& kind,
                              absl::Span<const TensorType> in,
                              const Attrs& attrs) {
  const TensorType& x = in[kX];
  RETURN_IF_ERROR(RequireF32(kind.name, "x", x));
  const int64_t layout = attrs.Int("layout");
  if (x.rank() != 3 || (layout != 0 && layout != 1)) {
    return Invalid(kind.name, ": x must be of rank 3 and layout 0 or 1, got ",
                   ToString(x), " and ", layout);
  }
  Shape s;
  s.batch_first = layout == 1;
  s.steps = x.dims[s.batch_first ? 1 : 0];
  s.batch = x.dims[s.batch_first ? 0 : 1];
  s.input = x.dims[2];
  s.hidden = attrs.Int("hidden_size");
  const std::string& direction = attrs.String("direction");
  if (direction != "forward" && direction != "reverse" &&
      direction != "bidirectional") {
    return Invalid(kind.name, ": direction must be forward, reverse or ",
                   "bidirectional, got '", direction, "'");
  }
  s.directions = direction == "bidirectional" ? 2 : 1;
  if (s.hidden > kMaxTensorBytes) {
    return Invalid(kind.name, ": hidden_size must be at most ", kMaxTensorBytes,
                   ", got ", s.hidden);
  }
  if (s.steps < 1 || s.steps > kMostSteps || s.hidden < 1 || s.input < 1) {
    return Invalid(kind.name, ": x must have 1 to ", kMostSteps,
                   " time steps of 1 or more elements, and hidden_size must ",
                   "be 1 or more, got ", ToString(x), " and ", s.hidden);
  }
  const int64_t rows = kind.gates * s.hidden;
  RETURN_IF_ERROR(Require(kind, "w", in, kW, {s.directions, rows, s.input}));
  RETURN_IF_ERROR(Require(kind, "r", in, kR, {s.directions, rows, s.hidden}));
  RETURN_IF_ERROR(Require(kind, "b", in, kB, {s.directions, 2 * rows}));
  RETURN_IF_ERROR(Require(kind, "initial_h", in, kH, s.state()));
  RETURN_IF_ERROR(Require(kind, "initial_c", in, kC, s.state()));
  RETURN_IF_ERROR(Require(kind, "p", in, kP, {s.directions, 3 * s.hidden}));
  if (in.size() > kLengths && in[kLengths].present()) {
    return Invalid(kind.name, ": sequence_lens must be absent: all sequences ",
                   "have the length of x, got ", ToString(in[kLengths]));
  }
  return s;
}

// The activations of all directions, one after the other.
absl::StatusOr<std::vector<std::string>> ActivationsOf(const CellKind& kind,
                                                       const Attrs& attrs,
                                                       int64_t directions) {
  std::vector<std::string> names;
  if (attrs.Has("activations")) {
    names = absl::StrSplit(attrs.String("activations"), ',', absl::SkipEmpty());
  } else {
    for (int64_t i = 0; i < directions; ++i) {
      names.insert(names.end(), kind.activations.begin(),
                   kind.activations.end());
    }
  }
  const bool known =
      std::all_of(names.begin(), names.end(), [](const std::string& name) {
        return name == "Tanh" || name == "Sigmoid" || name == "Relu";
      });
  const size_t want = kind.activations.size() * directions;
  if (!known || names.size() != want) {
    return Invalid(kind.name, ": activations must be ", want,
                   " of Tanh, Sigmoid and Relu, with commas between, got '",
                   attrs.Has("activations") ? attrs.String("activations") : "",
                   "'");
  }
  return names;
}

InferredTypes Infer(const CellKind& kind, const OpArgs& args) {
  ASSIGN_OR_RETURN(const Shape s, ShapeOf(kind, args.in, args.attrs));
  RETURN_IF_ERROR(ActivationsOf(kind, args.attrs, s.directions).status());
  std::vector<TensorType> types = {{DType::kF32, s.y()}};
  for (int i = 1; i < kind.max_outputs; ++i) {
    types.push_back({DType::kF32, s.state()});
  }
  return types;
}

// Unrolls one node.
class Unrolling {
 public:
  Unrolling(ExpandBuilder& b, const CellKind& kind, const Shape& shape,
            std::vector<std::string> activations)
      : b_(b), kind_(kind), s_(shape), activations_(std::move(activations)) {}

  void Run() {
    const ValueId x =
        s_.batch_first ? Transposed(b_.in(kX), {1, 0, 2}) : b_.in(kX);
    std::vector<ValueId> ys;
    std::vector<ValueId> states[2];
    for (int64_t d = 0; d < s_.directions; ++d) {
      const bool reverse =
          d == 1 || b_.attrs().String("direction") == "reverse";
      const Weights w = WeightsOf(d);
      const std::vector<ValueId> steps = Parts(
          Viewed(Gemm(Viewed(x, {s_.steps * s_.batch, s_.input}), w.w, w.b),
                 {s_.steps, s_.batch, kind_.gates * s_.hidden}),
          0, Ints(s_.steps, 1));
      State state = {Initial(kH, d),
                     kind_.max_outputs > 2 ? Initial(kC, d) : kNoValue};
      std::vector<ValueId> hs(s_.steps);
      for (int64_t k = 0; k < s_.steps; ++k) {
        const int64_t t = reverse ? s_.steps - 1 - k : k;
        const ValueId step =
            Viewed(steps[t], {s_.batch, kind_.gates * s_.hidden});
        state = Cell(w, step, state);
        hs[t] = Viewed(state.h, {1, 1, s_.batch, s_.hidden});
      }
      ys.push_back(Joined(hs, 0));
      states[0].push_back(Viewed(state.h, {1, s_.batch, s_.hidden}));
      if (state.c != kNoValue) {
        states[1].push_back(Viewed(state.c, {1, s_.batch, s_.hidden}));
      }
    }
    // [steps, directions, batch, hidden] and [directions, batch, hidden].
    if (b_.wants_out(0)) {
      const ValueId y = Joined(ys, 1);
      b_.SetOut(0, s_.batch_first ? Transposed(y, {2, 0, 1, 3}) : Own(y));
    }
    for (int i = 1; i < kind_.max_outputs; ++i) {
      if (!b_.wants_out(i)) continue;
      const ValueId h = Joined(states[i - 1], 0);
      b_.SetOut(i, s_.batch_first ? Transposed(h, {1, 0, 2}) : Own(h));
    }
  }

 private:
  // Of one direction.
  struct Weights {
    ValueId w;                   // [gates * hidden, input]
    ValueId b = kNoValue;        // [gates * hidden], of x
    std::vector<ValueId> r;      // of h; of GRU for z and r, and for n
    ValueId r_bias = kNoValue;   // of GRU's n, if linear before the reset
    std::vector<ValueId> peeps;  // [hidden]: of i, o and f
    const std::string* activations;
  };
  struct State {
    ValueId h;  // [batch, hidden]
    ValueId c;
  };

  ValueId Add(const char* op, std::vector<ValueId> in, Attrs attrs = {}) {
    return b_.Add(op, std::move(in), std::move(attrs), 1)[0];
  }
  ValueId Viewed(ValueId value, const Dims& dims) {
    if (b_.type(value).dims == dims) return value;
    return Add("Reshape", {value},
               {{"shape", dims}, {"allowzero", int64_t{1}}});
  }
  ValueId Transposed(ValueId value, Ints perm) {
    return Add("Transpose", {value}, {{"perm", std::move(perm)}});
  }
  ValueId Joined(const std::vector<ValueId>& parts, int64_t axis) {
    return parts.size() == 1 ? parts[0]
                             : Add("Concat", parts, {{"axis", axis}});
  }
  // A result that is another one too gets a value of its own.
  ValueId Own(ValueId value) { return Add("Identity", {value}); }

  std::vector<ValueId> Parts(ValueId value, int64_t axis, const Ints& sizes) {
    if (sizes.size() == 1) return {value};
    return b_.Add("Split", {value}, {{"axis", axis}, {"split", sizes}},
                  static_cast<int>(sizes.size()));
  }
  // x w^T + c.
  ValueId Gemm(ValueId x, ValueId w, ValueId c) {
    std::vector<ValueId> in = {x, w};
    if (c != kNoValue) in.push_back(c);
    return Add("Gemm", std::move(in), {{"transB", int64_t{1}}});
  }

  // Direction d of an operand [directions, ..], or of one with the batch
  // first, as a tensor of `dims`.
  ValueId Direction(int operand, int64_t d, const Dims& dims, int64_t axis) {
    return Viewed(Parts(b_.in(operand), axis, Ints(s_.directions, 1))[d], dims);
  }

  ValueId Initial(int operand, int64_t d) {
    const Dims dims = {s_.batch, s_.hidden};
    if (b_.in(operand) == kNoValue) {
      return Add("Fill", {}, {{"dims", dims}, {"value", 0.0f}});
    }
    return Direction(operand, d, dims, s_.batch_first ? 1 : 0);
  }

  Weights WeightsOf(int64_t d) {
    const int64_t hidden = s_.hidden;
    const int64_t rows = kind_.gates * hidden;
    Weights w;
    w.activations = &activations_[d * kind_.activations.size()];
    w.w = Direction(kW, d, {rows, s_.input}, 0);
    const ValueId r = Direction(kR, d, {rows, hidden}, 0);
    const bool gru = kind_.name == "GRU";
    w.r = gru ? Parts(r, 0, {2 * hidden, hidden}) : std::vector<ValueId>{r};
    if (b_.in(kB) != kNoValue) {
      const std::vector<ValueId> both =
          Parts(Direction(kB, d, {2 * rows}, 0), 0, {rows, rows});
      if (gru && b_.attrs().Int("linear_before_reset") != 0) {
        const std::vector<ValueId> x = Parts(both[0], 0, {2 * hidden, hidden});
        const std::vector<ValueId> h = Parts(both[1], 0, {2 * hidden, hidden});
        w.b = Joined({Add("Add", {x[0], h[0]}), x[1]}, 0);
        w.r_bias = h[1];
      } else {
        w.b = Add("Add", both);
      }
    }
    if (b_.in(kP) != kNoValue) {
      w.peeps =
          Parts(Direction(kP, d, {3 * hidden}, 0), 0, {hidden, hidden, hidden});
    }
    return w;
  }

  State Cell(const Weights& w, ValueId x, const State& state) {
    if (kind_.name == "LSTM") return LstmCell(w, x, state);
    if (kind_.name == "GRU") return {GruCell(w, x, state.h), kNoValue};
    return {Add(w.activations[0].c_str(), {Gemm(state.h, w.r[0], x)}),
            kNoValue};
  }

  ValueId GruCell(const Weights& w, ValueId x, ValueId h) {
    const int64_t hidden = s_.hidden;
    const std::vector<ValueId> parts = Parts(x, 1, {2 * hidden, hidden});
    const std::vector<ValueId> gates =
        Parts(Add(w.activations[0].c_str(), {Gemm(h, w.r[0], parts[0])}), 1,
              {hidden, hidden});
    const ValueId z = gates[0];
    const ValueId r = gates[1];
    const ValueId sum =
        b_.attrs().Int("linear_before_reset") != 0
            ? Add("Add", {Add("Mul", {r, Gemm(h, w.r[1], w.r_bias)}), parts[1]})
            : Gemm(Add("Mul", {r, h}), w.r[1], parts[1]);
    const ValueId n = Add(w.activations[1].c_str(), {sum});
    return Add("Add", {n, Add("Mul", {z, Add("Sub", {h, n})})});
  }

  State LstmCell(const Weights& w, ValueId x, const State& state) {
    const std::vector<ValueId> sums =
        Parts(Gemm(state.h, w.r[0], x), 1, Ints(4, s_.hidden));
    const auto gate = [&](int i, ValueId cell) {
      ValueId sum = sums[i];
      if (!w.peeps.empty()) {
        sum = Add("Add", {sum, Add("Mul", {cell, w.peeps[i]})});
      }
      return Add(w.activations[0].c_str(), {sum});
    };
    const ValueId i = gate(0, state.c);
    const ValueId f = gate(2, state.c);
    const ValueId n = Add(w.activations[1].c_str(), {sums[3]});
    const ValueId c =
        Add("Add", {Add("Mul", {f, state.c}), Add("Mul", {i, n})});
    const ValueId o = gate(1, c);
    return {Add("Mul", {o, Add(w.activations[2].c_str(), {c})}), c};
  }

  ExpandBuilder& b_;
  const CellKind& kind_;
  const Shape& s_;
  std::vector<std::string> activations_;
};

absl::Status Unroll(const CellKind& kind, ExpandBuilder& b) {
  std::vector<TensorType> types;
  for (int i = 0; i < kind.max_inputs; ++i) {
    types.push_back(b.in(i) == kNoValue ? TensorType{} : b.type(b.in(i)));
  }
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(kind, types, b.attrs()));
  ASSIGN_OR_RETURN(std::vector<std::string> activations,
                   ActivationsOf(kind, b.attrs(), shape.directions));
  Unrolling(b, kind, shape, std::move(activations)).Run();
  return absl::OkStatus();
}

OpDef CellOp(const CellKind& kind) {
  OpDef op;
  op.name = kind.name;
  op.min_inputs = 3;
  op.max_inputs = kind.max_inputs;
  op.max_outputs = kind.max_outputs;
  op.attrs = {AttrSpec("activations", AttrKind::kString),
              AttrSpec("direction", std::string("forward")),
              AttrSpec("hidden_size", AttrKind::kInt, AttrSpec::kRequired),
              AttrSpec("layout", int64_t{0})};
  if (kind.name == "GRU") {
    op.attrs.emplace_back("linear_before_reset", int64_t{0});
  }
  op.no_grad_inputs = {kLengths};
  op.infer = [kind](const OpArgs& args) { return Infer(kind, args); };
  op.expand = [kind](ExpandBuilder& b) { return Unroll(kind, b); };
  return op;
}

}  // namespace

std::vector<OpDef> RecurrentOps() {
  return {CellOp({"RNN", 1, 6, 2, {"Tanh"}}),
          CellOp({"GRU", 3, 6, 2, {"Sigmoid", "Tanh"}}),
          CellOp({"LSTM", 4, 8, 3, {"Sigmoid", "Tanh", "Tanh"}})};
}

}  // namespace reprise
