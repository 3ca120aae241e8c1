// Random cases of RNN, GRU and LSTM.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/ops/layer_cases.h"
#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

int64_t GatesOf(const std::string& op) {
  return op == "RNN" ? 1 : op == "GRU" ? 3 : 4;
}

double Activated(const std::string& name, double x) {
  if (name == "Relu") return std::max(0.0, x);
  return name == "Tanh" ? std::tanh(x) : 1 / (1 + std::exp(-x));
}

// One sequence and one direction, as ONNX's formulas have it.
class Cell {
 public:
  Cell(const std::string& op, const HostTensors& in, const Attrs& attrs,
       int64_t direction, std::vector<std::string> activations)
      : op_(op),
        in_(in),
        attrs_(attrs),
        direction_(direction),
        hidden_(attrs.Int("hidden_size")),
        f_(std::move(activations)) {}

  void Step(const std::vector<double>& x, std::vector<double>& h,
            std::vector<double>& c) const {
    const std::vector<double> old = h;
    if (op_ == "RNN") {
      for (int64_t i = 0; i < hidden_; ++i) {
        h[i] = Activated(f_[0], X(x, 0, i) + H(old, 0, i));
      }
    } else if (op_ == "GRU") {
      std::vector<double> reset(hidden_);
      for (int64_t i = 0; i < hidden_; ++i) {
        reset[i] = Activated(f_[0], X(x, 1, i) + H(old, 1, i));
      }
      std::vector<double> reset_h = old;
      for (int64_t i = 0; i < hidden_; ++i) reset_h[i] *= reset[i];
      const bool linear = attrs_.Int("linear_before_reset") != 0;
      for (int64_t i = 0; i < hidden_; ++i) {
        const double z = Activated(f_[0], X(x, 0, i) + H(old, 0, i));
        const double from_h =
            linear ? reset[i] * H(old, 2, i) : H(reset_h, 2, i);
        const double n = Activated(f_[1], X(x, 2, i) + from_h);
        h[i] = (1 - z) * n + z * old[i];
      }
    } else {
      for (int64_t i = 0; i < hidden_; ++i) {
        const double before = c[i];
        const auto sum = [&](int64_t gate) {
          return X(x, gate, i) + H(old, gate, i);
        };
        const double in_gate = Activated(f_[0], sum(0) + P(0, i) * before);
        const double forget = Activated(f_[0], sum(2) + P(2, i) * before);
        c[i] = forget * before + in_gate * Activated(f_[1], sum(3));
        const double out = Activated(f_[0], sum(1) + P(1, i) * c[i]);
        h[i] = out * Activated(f_[2], c[i]);
      }
    }
  }

 private:
  bool Present(size_t operand) const {
    return operand < in_.size() && in_[operand].type.present();
  }
  double Bias(int64_t row) const {
    return Present(3) ? At(in_[3], {direction_, row}) : 0.0;
  }
  double P(int64_t gate, int64_t i) const {
    return Present(7) ? At(in_[7], {direction_, gate * hidden_ + i}) : 0.0;
  }
  double X(const std::vector<double>& x, int64_t gate, int64_t i) const {
    const int64_t row = gate * hidden_ + i;
    double sum = Bias(row);
    for (size_t k = 0; k < x.size(); ++k) {
      sum += x[k] * At(in_[1], {direction_, row, static_cast<int64_t>(k)});
    }
    return sum;
  }
  double H(const std::vector<double>& h, int64_t gate, int64_t i) const {
    const int64_t row = gate * hidden_ + i;
    double sum = Bias(GatesOf(op_) * hidden_ + row);
    for (int64_t k = 0; k < hidden_; ++k) {
      sum += h[k] * At(in_[2], {direction_, row, k});
    }
    return sum;
  }

  std::string op_;
  const HostTensors& in_;
  const Attrs& attrs_;
  int64_t direction_;
  int64_t hidden_;
  std::vector<std::string> f_;
};

HostTensors Defined(const std::string& op, const HostTensors& in,
                    const Attrs& attrs) {
  const bool batch_first = attrs.Int("layout") == 1;
  const Dims& x = in[0].type.dims;
  const int64_t steps = x[batch_first ? 1 : 0];
  const int64_t batch = x[batch_first ? 0 : 1];
  const int64_t hidden = attrs.Int("hidden_size");
  const std::string& direction = attrs.String("direction");
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  std::vector<std::string> all;
  if (attrs.Has("activations")) {
    all = absl::StrSplit(attrs.String("activations"), ',');
  } else {
    for (int64_t d = 0; d < directions; ++d) {
      if (op != "RNN") all.push_back("Sigmoid");
      all.push_back("Tanh");
      if (op == "LSTM") all.push_back("Tanh");
    }
  }
  const size_t each = all.size() / directions;
  HostTensors out = {{F32(batch_first ? Dims{batch, steps, directions, hidden}
                                      : Dims{steps, directions, batch, hidden}),
                      {}}};
  const Dims state = batch_first ? Dims{batch, directions, hidden}
                                 : Dims{directions, batch, hidden};
  out.push_back({F32(state), {}});
  out.push_back({F32(state), {}});
  for (HostTensor& y : out) y.data.assign(y.type.num_elements(), 0);
  const auto state_at = [&](int64_t d, int64_t b, int64_t i) {
    return batch_first ? Dims{b, d, i} : Dims{d, b, i};
  };
  const auto set = [](HostTensor& y, const Dims& at, double value) {
    int64_t offset = 0;
    for (size_t k = 0; k < at.size(); ++k) {
      offset = offset * y.type.dims[k] + at[k];
    }
    y.data[offset] = value;
  };
  for (int64_t d = 0; d < directions; ++d) {
    const Cell cell(op, in, attrs, d,
                    {all.begin() + d * each, all.begin() + (d + 1) * each});
    const bool reverse = d == 1 || direction == "reverse";
    for (int64_t b = 0; b < batch; ++b) {
      std::vector<double> h(hidden, 0);
      std::vector<double> c(hidden, 0);
      for (int64_t i = 0; i < hidden; ++i) {
        if (in.size() > 5 && in[5].type.present()) {
          h[i] = At(in[5], state_at(d, b, i));
        }
        if (in.size() > 6 && in[6].type.present()) {
          c[i] = At(in[6], state_at(d, b, i));
        }
      }
      for (int64_t k = 0; k < steps; ++k) {
        const int64_t t = reverse ? steps - 1 - k : k;
        std::vector<double> x_t;
        for (int64_t i = 0; i < x[2]; ++i) {
          x_t.push_back(At(in[0], batch_first ? Dims{b, t, i} : Dims{t, b, i}));
        }
        cell.Step(x_t, h, c);
        for (int64_t i = 0; i < hidden; ++i) {
          set(out[0], batch_first ? Dims{b, t, d, i} : Dims{t, d, b, i}, h[i]);
        }
      }
      for (int64_t i = 0; i < hidden; ++i) {
        set(out[1], state_at(d, b, i), h[i]);
        set(out[2], state_at(d, b, i), c[i]);
      }
    }
  }
  return out;
}

OpCase RecurrentCase(CaseRandom& random, const std::string& op) {
  const int64_t gates = GatesOf(op);
  const int64_t hidden = random.Int(1, 3);
  const int64_t input = random.Int(1, 3);
  const int64_t steps = random.Int(1, 4);
  const int64_t batch = random.Int(1, 3);
  const int64_t layout = random.Int(0, 1);
  const std::string direction =
      random.Pick<std::string>({"forward", "reverse", "bidirectional"});
  const int64_t d = direction == "bidirectional" ? 2 : 1;
  OpCase c;
  c.op = op;
  c.attrs = Attrs{{"hidden_size", hidden}, {"direction", direction}};
  if (layout == 1) c.attrs.Set("layout", layout);
  const TensorType state =
      F32(layout == 1 ? Dims{batch, d, hidden} : Dims{d, batch, hidden});
  const auto maybe = [&](TensorType type) {
    return random.Bool() ? type : TensorType{};
  };
  c.in = {
      F32(layout == 1 ? Dims{batch, steps, input} : Dims{steps, batch, input}),
      F32({d, gates * hidden, input}),
      F32({d, gates * hidden, hidden}),
      maybe(F32({d, 2 * gates * hidden})),
      TensorType{},
      maybe(state)};
  if (op == "LSTM") {
    c.in.push_back(maybe(state));
    c.in.push_back(maybe(F32({d, 3 * hidden})));
  }
  if (op == "GRU" && random.Bool()) {
    c.attrs.Set("linear_before_reset", int64_t{1});
  }
  if (random.Int(0, 3) == 0) {
    std::string names;
    const int64_t count = d * (op == "RNN" ? 1 : op == "GRU" ? 2 : 3);
    for (int64_t i = 0; i < count; ++i) {
      absl::StrAppend(&names, i > 0 ? "," : "",
                      random.Pick<std::string>({"Tanh", "Sigmoid"}));
    }
    c.attrs.Set("activations", names);
  }
  while (!c.in.back().present()) c.in.pop_back();
  c.num_outputs = static_cast<int>(random.Int(1, op == "LSTM" ? 3 : 2));
  c.ranges = {{-1, 1}};
  c.tolerance = 1e-5;
  c.gradient_tolerance = 2e-4;
  c.definition = [op](const HostTensors& in, const Attrs& attrs) {
    return Defined(op, in, attrs);
  };
  return c;
}

}  // namespace

OpCase RnnCase(CaseRandom& random) { return RecurrentCase(random, "RNN"); }
OpCase GruCase(CaseRandom& random) { return RecurrentCase(random, "GRU"); }
OpCase LstmCase(CaseRandom& random) { return RecurrentCase(random, "LSTM"); }

}  // namespace reprise
