// RNN, GRU and LSTM of ONNX, run and compared with their formulas in double.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tools/importer/imported_run.h"

namespace reprise {
namespace {

constexpr int64_t kSteps = 3;
constexpr int64_t kBatch = 2;
constexpr int64_t kInput = 4;
constexpr int64_t kHidden = 5;

struct RecurrentCase {
  std::string op;
  std::string direction;
  int64_t layout = 0;  // 1: the batch comes first
  bool optional_operands = false;
  bool linear_before_reset = false;
  std::vector<std::string> activations;  // of one direction; empty: not said
  int64_t version = 14;

  int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }
  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  std::string name() const {
    return absl::StrCat(op, " ", direction, ", layout ", layout,
                        optional_operands ? ", all operands" : "",
                        linear_before_reset ? ", linear before reset" : "");
  }
};

// All operands, as the model has them.
struct Operands {
  std::vector<float> x;  // [steps, batch, input], or [batch, steps, input]
  std::vector<float> w;  // [directions, gates * hidden, input]
  std::vector<float> r;  // [directions, gates * hidden, hidden]
  std::vector<float> b;  // [directions, 2 * gates * hidden]
  std::vector<float> h;  // [directions, batch, hidden], or [batch, ..]
  std::vector<float> c;  // likewise
  std::vector<float> p;  // [directions, 3 * hidden]
};

struct Results {
  std::vector<double> y;  // [steps, directions, batch, hidden], or
                          // [batch, steps, directions, hidden]
  std::vector<double> h;
  std::vector<double> c;
};

double Activation(const std::string& name, double x) {
  if (name == "Tanh") return std::tanh(x);
  if (name == "Relu") return x > 0 ? x : 0;
  return 1 / (1 + std::exp(-x));
}

// One sequence in one direction.
class Definition {
 public:
  Definition(const RecurrentCase& c, const Operands& operands, int64_t d,
             int64_t sequence)
      : c_(c), o_(operands), d_(d), sequence_(sequence) {
    names_ = c.activations;
    if (names_.empty() && c.op == "RNN") names_ = {"Tanh"};
    if (names_.empty() && c.op == "GRU") names_ = {"Sigmoid", "Tanh"};
    if (names_.empty() && c.op == "LSTM") names_ = {"Sigmoid", "Tanh", "Tanh"};
  }

  void Run(Results& results) {
    std::vector<double> h(kHidden, 0);
    std::vector<double> c(kHidden, 0);
    for (int64_t j = 0; j < kHidden && c_.optional_operands; ++j) {
      h[j] = o_.h[StateAt(j)];
      if (c_.op == "LSTM") c[j] = o_.c[StateAt(j)];
    }
    const bool reverse = d_ == 1 || c_.direction == "reverse";
    for (int64_t k = 0; k < kSteps; ++k) {
      const int64_t t = reverse ? kSteps - 1 - k : k;
      Step(t, h, c);
      for (int64_t j = 0; j < kHidden; ++j) results.y[YAt(t, j)] = h[j];
    }
    for (int64_t j = 0; j < kHidden; ++j) {
      results.h[StateAt(j)] = h[j];
      results.c[StateAt(j)] = c[j];
    }
  }

 private:
  int64_t StateAt(int64_t j) const {
    return c_.layout == 0 ? (d_ * kBatch + sequence_) * kHidden + j
                          : (sequence_ * c_.directions() + d_) * kHidden + j;
  }
  int64_t YAt(int64_t t, int64_t j) const {
    return c_.layout == 0
               ? ((t * c_.directions() + d_) * kBatch + sequence_) * kHidden + j
               : ((sequence_ * kSteps + t) * c_.directions() + d_) * kHidden +
                     j;
  }
  double X(int64_t t, int64_t i) const {
    return o_.x[c_.layout == 0 ? (t * kBatch + sequence_) * kInput + i
                               : (sequence_ * kSteps + t) * kInput + i];
  }
  // x W^T + Wb, element j of a gate.
  double FromX(int64_t t, int64_t gate, int64_t j) const {
    const int64_t row = gate * kHidden + j;
    double sum = Bias(row);
    for (int64_t i = 0; i < kInput; ++i) {
      sum += X(t, i) * o_.w[(d_ * c_.gates() * kHidden + row) * kInput + i];
    }
    return sum;
  }
  // h R^T + Rb.
  double FromH(const std::vector<double>& h, int64_t gate, int64_t j) const {
    const int64_t row = gate * kHidden + j;
    double sum = Bias(c_.gates() * kHidden + row);
    for (int64_t i = 0; i < kHidden; ++i) {
      sum += h[i] * o_.r[(d_ * c_.gates() * kHidden + row) * kHidden + i];
    }
    return sum;
  }
  double Bias(int64_t row) const {
    if (!c_.optional_operands) return 0;
    return o_.b[d_ * 2 * c_.gates() * kHidden + row];
  }
  double Peephole(int64_t gate, int64_t j) const {
    if (!c_.optional_operands) return 0;
    return o_.p[(d_ * 3 + gate) * kHidden + j];
  }

  void Step(int64_t t, std::vector<double>& h, std::vector<double>& c) const {
    const std::vector<double> before = h;
    if (c_.op == "RNN") {
      for (int64_t j = 0; j < kHidden; ++j) {
        h[j] = Activation(names_[0], FromX(t, 0, j) + FromH(before, 0, j));
      }
      return;
    }
    if (c_.op == "LSTM") {
      for (int64_t j = 0; j < kHidden; ++j) {
        const double cell = c[j];
        const auto sum = [&](int64_t gate) {
          return FromX(t, gate, j) + FromH(before, gate, j);
        };
        const double i = Activation(names_[0], sum(0) + Peephole(0, j) * cell);
        const double f = Activation(names_[0], sum(2) + Peephole(2, j) * cell);
        c[j] = f * cell + i * Activation(names_[1], sum(3));
        const double o = Activation(names_[0], sum(1) + Peephole(1, j) * c[j]);
        h[j] = o * Activation(names_[2], c[j]);
      }
      return;
    }
    std::vector<double> reset(kHidden);
    std::vector<double> kept(kHidden);
    for (int64_t j = 0; j < kHidden; ++j) {
      reset[j] = Activation(names_[0], FromX(t, 1, j) + FromH(before, 1, j));
      kept[j] = reset[j] * before[j];
    }
    for (int64_t j = 0; j < kHidden; ++j) {
      const double z =
          Activation(names_[0], FromX(t, 0, j) + FromH(before, 0, j));
      const double from_h = c_.linear_before_reset
                                ? reset[j] * FromH(before, 2, j)
                                : FromH(kept, 2, j);
      const double n = Activation(names_[1], FromX(t, 2, j) + from_h);
      h[j] = (1 - z) * n + z * before[j];
    }
  }

  const RecurrentCase& c_;
  const Operands& o_;
  int64_t d_;
  int64_t sequence_;
  std::vector<std::string> names_;
};

Operands MakeOperands(const RecurrentCase& c) {
  const int64_t d = c.directions();
  const int64_t rows = c.gates() * kHidden;
  Operands o;
  o.x = Wave(kSteps * kBatch * kInput, 0.1);
  o.w = Wave(d * rows * kInput, 0.2);
  o.r = Wave(d * rows * kHidden, 0.3);
  o.b = Wave(d * 2 * rows, 0.4);
  o.h = Wave(d * kBatch * kHidden, 0.5);
  o.c = Wave(d * kBatch * kHidden, 0.6);
  o.p = Wave(d * 3 * kHidden, 0.7);
  return o;
}

Dims XDims(const RecurrentCase& c) {
  return c.layout == 0 ? Dims{kSteps, kBatch, kInput}
                       : Dims{kBatch, kSteps, kInput};
}

Dims StateDims(const RecurrentCase& c) {
  return c.layout == 0 ? Dims{c.directions(), kBatch, kHidden}
                       : Dims{kBatch, c.directions(), kHidden};
}

// The model: weights are initializers, initial states inputs.
OnnxBuilder Model(const RecurrentCase& c, const Operands& o) {
  const int64_t d = c.directions();
  const int64_t rows = c.gates() * kHidden;
  const bool lstm = c.op == "LSTM";
  OnnxBuilder builder(c.version);
  builder.Input("x", DimNames(XDims(c)))
      .Floats("w", {d, rows, kInput}, o.w)
      .Floats("r", {d, rows, kHidden}, o.r);
  std::vector<std::string> in = {"x", "w", "r"};
  if (c.optional_operands) {
    builder.Input("h", DimNames(StateDims(c))).Floats("b", {d, 2 * rows}, o.b);
    in.insert(in.end(), {"b", "", "h"});
    if (lstm) {
      builder.Input("c", DimNames(StateDims(c)));
      builder.Floats("p", {d, 3 * kHidden}, o.p);
      in.insert(in.end(), {"c", "p"});
    }
  }
  std::vector<std::string> out = {"y", "y_h"};
  if (lstm) out.push_back("y_c");
  for (const std::string& name : out) builder.Output(name);
  onnx::NodeProto& node = builder.Node(c.op, in, out);
  OnnxBuilder::Int(node, "hidden_size", kHidden);
  OnnxBuilder::String(node, "direction", c.direction);
  if (c.version >= 14) OnnxBuilder::Int(node, "layout", c.layout);
  if (c.linear_before_reset) {
    OnnxBuilder::Int(node, "linear_before_reset", 1);
  }
  if (!c.activations.empty()) {
    std::vector<std::string> all;
    for (int64_t i = 0; i < d; ++i) {
      all.insert(all.end(), c.activations.begin(), c.activations.end());
    }
    OnnxBuilder::StringList(node, "activations", all);
  }
  return builder;
}

void ExpectAsDefined(const RecurrentCase& c) {
  SCOPED_TRACE(c.name());
  const Operands o = MakeOperands(c);
  OnnxBuilder builder = Model(c, o);
  std::vector<Array> inputs = {FloatArray(XDims(c), o.x)};
  if (c.optional_operands) {
    inputs.push_back(FloatArray(StateDims(c), o.h));
    if (c.op == "LSTM") inputs.push_back(FloatArray(StateDims(c), o.c));
  }
  const absl::StatusOr<std::vector<Array>> got = RunImported(builder, inputs);
  ASSERT_TRUE(got.ok()) << got.status();

  const int64_t d = c.directions();
  Results want;
  want.y.resize(kSteps * d * kBatch * kHidden);
  want.h.resize(d * kBatch * kHidden);
  want.c.resize(d * kBatch * kHidden);
  for (int64_t direction = 0; direction < d; ++direction) {
    for (int64_t sequence = 0; sequence < kBatch; ++sequence) {
      Definition(c, o, direction, sequence).Run(want);
    }
  }
  const Dims y_dims = c.layout == 0 ? Dims{kSteps, d, kBatch, kHidden}
                                    : Dims{kBatch, kSteps, d, kHidden};
  ExpectDefinition("y", (*got)[0], y_dims, want.y);
  ExpectDefinition("y_h", (*got)[1], StateDims(c), want.h);
  if (c.op == "LSTM") {
    ExpectDefinition("y_c", (*got)[2], StateDims(c), want.c);
  }

  // The last state alone: the first result is as optional as the others.
  for (onnx::NodeProto& node : *builder.graph().mutable_node()) {
    if (node.op_type() == c.op) node.set_output(0, "");
  }
  builder.graph().mutable_output()->DeleteSubrange(0, 1);
  const absl::StatusOr<std::vector<Array>> states =
      RunImported(builder, inputs);
  ASSERT_TRUE(states.ok()) << states.status();
  ExpectDefinition("y_h alone", (*states)[0], StateDims(c), want.h);
}

TEST(RecurrentImportTest, EveryFormIsWhatItsFormulasSay) {
  for (const char* const op : {"RNN", "GRU", "LSTM"}) {
    for (const char* const direction :
         {"forward", "reverse", "bidirectional"}) {
      for (const int64_t layout : {0, 1}) {
        for (const bool all : {false, true}) {
          RecurrentCase c;
          c.op = op;
          c.direction = direction;
          c.layout = layout;
          c.optional_operands = all;
          ExpectAsDefined(c);
        }
      }
    }
  }
}

TEST(RecurrentImportTest, AGruMayResetAfterTheProduct) {
  for (const bool all : {false, true}) {
    RecurrentCase c;
    c.op = "GRU";
    c.direction = "bidirectional";
    c.optional_operands = all;
    c.linear_before_reset = true;
    ExpectAsDefined(c);
  }
}

TEST(RecurrentImportTest, ActivationsAreThoseOfEachDirection) {
  RecurrentCase rnn;
  rnn.op = "RNN";
  rnn.direction = "bidirectional";
  rnn.activations = {"Relu"};
  ExpectAsDefined(rnn);
  RecurrentCase gru;
  gru.op = "GRU";
  gru.direction = "reverse";
  gru.activations = {"Tanh", "Sigmoid"};
  ExpectAsDefined(gru);
  RecurrentCase lstm;
  lstm.op = "LSTM";
  lstm.direction = "bidirectional";
  lstm.optional_operands = true;
  lstm.activations = {"Sigmoid", "Relu", "Sigmoid"};
  ExpectAsDefined(lstm);
}

// Version 7 has no layout.
TEST(RecurrentImportTest, OldVersionsAreTheSame) {
  for (const char* const op : {"RNN", "GRU", "LSTM"}) {
    RecurrentCase c;
    c.op = op;
    c.direction = "forward";
    c.optional_operands = true;
    c.version = 7;
    ExpectAsDefined(c);
  }
}

TEST(RecurrentImportTest, WhatIsNotSupportedIsRefused) {
  RecurrentCase c;
  c.op = "LSTM";
  c.direction = "forward";
  const Operands o = MakeOperands(c);
  OnnxBuilder clipped = Model(c, o);
  OnnxBuilder::Float(*clipped.graph().mutable_node(0), "clip", 3);
  ExpectNotImported(clipped, "clip");
  OnnxBuilder coupled = Model(c, o);
  OnnxBuilder::Int(*coupled.graph().mutable_node(0), "input_forget", 1);
  ExpectNotImported(coupled, "'input_forget' must be 0, got 1");
  OnnxBuilder lengths = Model(c, o);
  lengths.Input("n", {"2"}, onnx::TensorProto::INT32);
  lengths.graph().mutable_node(0)->add_input("");
  lengths.graph().mutable_node(0)->add_input("n");
  ExpectNotImported(lengths,
                    "operand 'sequence_lens' must be constant, it is the input "
                    "'n': bind content to it (--bind)");
  const auto import_with = [&](int32_t first, int32_t second) {
    ImportOptions options;
    Array& bound = options.bind["n"];
    bound.type = {DType::kI32, {2}};
    for (const int32_t n : {first, second}) {
      bound.data.append(reinterpret_cast<const char*>(&n), sizeof(n));
    }
    return std::string(lengths.Import(options).status().message());
  };
  EXPECT_EQ(import_with(kSteps, kSteps), "");
  EXPECT_TRUE(absl::StrContains(import_with(kSteps, kSteps - 1),
                                "sequence_lens must be absent"));
  OnnxBuilder unknown = Model(c, o);
  OnnxBuilder::StringList(*unknown.graph().mutable_node(0), "activations",
                          {"Affine", "Tanh", "Tanh"});
  ExpectNotImported(unknown, "activations must be 3 of");
}

}  // namespace
}  // namespace reprise
