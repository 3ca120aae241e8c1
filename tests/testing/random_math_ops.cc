#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/random_rules.h"

namespace reprise {
namespace {

using Tensor = RandomPool::Tensor;

// A node whose result does not join the pool: its element type or its range is
// not what operators there expect.
Tensor Hidden(RandomPool& g, const std::string& op,
              const std::vector<Tensor>& in, const RandomPool::Dims& dims) {
  const std::string name = g.Name();
  g.Node(op, in, {name});
  return {name, dims};
}

// A mask of a's dims.
Tensor Mask(RandomPool& g, const Tensor& a) {
  Tensor b = g.Partner(a);
  return Hidden(g,
                g.OneOf<std::string>({"Equal", "Less", "LessOrEqual", "Greater",
                                      "GreaterOrEqual"}),
                {a, b}, a.dims);
}

void Choose(RandomPool& g) {
  const Tensor a = g.Any();
  Tensor mask = Mask(g, a);
  if (g.Chance(0.5)) {
    mask = Hidden(g, g.OneOf<std::string>({"And", "Or", "Xor"}),
                  {mask, Mask(g, a)}, a.dims);
  }
  if (g.Chance(0.3)) mask = Hidden(g, "Not", {mask}, a.dims);
  g.Apply("Where", {mask, a, g.Partner(a)}, a.dims);
}

// What is not finite is replaced.
void ChooseFinite(RandomPool& g) {
  const Tensor a = g.Any();
  const Tensor bad =
      Hidden(g, "Or",
             {Hidden(g, "IsNaN", {a}, a.dims), Hidden(g, "IsInf", {a}, a.dims)},
             a.dims);
  g.Apply("Where", {bad, g.Parameter({}), a}, a.dims);
}

// Functions that keep contents of order one.
void Gentle(RandomPool& g) {
  const Tensor a = g.Any();
  const std::string op = g.OneOf<std::string>(
      {"Abs", "Erf", "Sin", "Cos", "Atan", "Asinh", "Softplus", "Softsign",
       "Swish", "Mish", "Selu", "Celu", "HardSigmoid", "HardSwish",
       "ThresholdedRelu", "Clip"});
  RandomPool::NodeHandle node = g.Apply(op, {a}, a.dims);
  if (op == "ThresholdedRelu") node.Float("alpha", 0.25f);
  if (op == "Clip") node.Float("min", -0.5f).Float("max", 0.75f);
}

// Functions that grow.
void Steep(RandomPool& g) {
  const Tensor a = g.Any();
  g.ApplyBounded(g.OneOf<std::string>({"Sinh", "Cosh"}), {a}, a.dims);
}

// Functions of arguments between -0.8 and 0.8.
void Inner(RandomPool& g) {
  const Tensor a = g.Any();
  const Tensor bounded = Hidden(g, "Tanh", {a}, a.dims);
  const Tensor inner =
      Hidden(g, "Mul", {bounded, g.Parameter({}, 0.6f, 0.7f)}, a.dims);
  g.Apply(g.OneOf<std::string>({"Tan", "Asin", "Acos", "Atanh"}), {inner},
          a.dims);
}

void Reciprocal(RandomPool& g) {
  const Tensor a = g.Positive(g.Any());
  g.Apply("Reciprocal", {a}, a.dims);
}

void Acosh(RandomPool& g) {
  const Tensor a = g.Positive(g.Any());
  const Tensor above_one =
      Hidden(g, "Add", {a, g.Parameter({}, 0.9f, 1.0f)}, a.dims);
  g.Apply("Acosh", {above_one}, a.dims);
}

// Their gradient is zero: x itself joins in.
void Steps(RandomPool& g) {
  const Tensor a = g.Any();
  const Tensor step = Hidden(
      g, g.OneOf<std::string>({"Floor", "Ceil", "Round", "Sign"}), {a}, a.dims);
  g.ApplyBounded("Sub", {a, step}, a.dims);
}

// Of several operands, some of which are broadcast.
void Several(RandomPool& g) {
  const Tensor a = g.Any();
  std::vector<Tensor> in = {a};
  for (int64_t i = g.Draw(0, 2); i > 0; --i) in.push_back(g.Partner(a));
  const std::string op = g.OneOf<std::string>({"Max", "Min", "Sum", "Mean"});
  g.ApplyBounded(op, in, a.dims);
}

void ModOrPRelu(RandomPool& g) {
  const Tensor a = g.Any();
  if (g.Chance(0.5)) {
    g.Apply("PRelu", {a, g.Parameter({})}, a.dims);
  } else {
    g.Apply("Mod", {a, g.Positive(g.Partner(a))}, a.dims).Int("fmod", 1);
  }
}

// Reductions over the last axis.
void ReduceLast(RandomPool& g) {
  Tensor a = g.Any();
  if (a.dims.size() < 2) return;
  const std::string op = g.OneOf<std::string>(
      {"ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
       "ReduceLogSum", "ReduceLogSumExp"});
  if (op == "ReduceL2" || op == "ReduceLogSum") a = g.Positive(a);
  if (op == "ReduceProd") a = Hidden(g, "Tanh", {a}, a.dims);
  RandomPool::Dims dims = a.dims;
  dims.back() = 1;
  const std::string name = g.Name();
  g.Node(op, {a}, {name}).Ints("axes", {-1});
  g.Apply("Tanh", {{name, dims}}, dims);
}

void ChannelNormalization(RandomPool& g) {
  const Tensor a = g.OfRank(g.OneOf<size_t>({3, 4}));
  const std::string op =
      g.OneOf<std::string>({"InstanceNormalization", "GroupNormalization",
                            "LRN", "MeanVarianceNormalization"});
  if (op == "LRN") {
    g.Apply(op, {a}, a.dims).Int("size", g.Draw(1, 4)).Float("alpha", 0.5f);
    return;
  }
  if (op == "MeanVarianceNormalization") {
    // Noise keeps the deviation away from 0, mostly.
    const Tensor noisy = Hidden(g, "Add", {a, g.Parameter(a.dims)}, a.dims);
    const std::string name = g.Name();
    g.Node(op, {noisy}, {name}).Ints("axes", {0, 2});
    g.Apply("Tanh", {{name, a.dims}}, a.dims);
    return;
  }
  const int64_t c = a.dims[1];
  RandomPool::NodeHandle node =
      g.Apply(op, {a, g.Parameter({c}, 0.5f, 1.5f), g.Parameter({c})}, a.dims);
  node.Float("epsilon", 0.1f);
  if (op == "GroupNormalization")
    node.Int("num_groups", g.OneOf<int64_t>({1, c}));
}

void RowNormalization(RandomPool& g) {
  const Tensor a = g.Any();
  if (a.dims.empty()) return;
  if (g.Chance(0.5)) {
    g.Apply("RMSNormalization", {a, g.Parameter({a.dims.back()}, 0.5f, 1.5f)},
            a.dims)
        .Float("epsilon", 0.1f);
  } else {
    g.Apply("LpNormalization", {g.Positive(a)}, a.dims).Int("p", g.Draw(1, 2));
  }
}

// Losses of every pair of elements, as values of the pool.
void PairLoss(RandomPool& g) {
  const Tensor a = g.Any();
  const std::string op = g.OneOf<std::string>(
      {"L1Loss", "HuberLoss", "KLDivLoss", "BinaryCrossEntropyWithLogits"});
  const Tensor target = g.Parameter(a.dims, 0.1f, 0.9f);
  std::vector<Tensor> in = {a, target};
  if (op == "BinaryCrossEntropyWithLogits" && g.Chance(0.5)) {
    in.push_back(g.Parameter({}, 0.5f, 2.0f));
  }
  const std::string name = g.Name();
  g.Node(op, in, {name}).String("reduction", "none");
  g.Apply("Tanh", {{name, a.dims}}, a.dims);
}

// A parameter that is not trained.
Tensor Constant(RandomPool& g, const RandomPool::Dims& dims, float low,
                float high) {
  const Tensor tensor = g.Parameter(dims, low, high);
  for (proto::Parameter& parameter : *g.graph().mutable_parameter()) {
    if (parameter.name() == tensor.name) parameter.set_trainable(false);
  }
  return tensor;
}

// ONNX's optimizer steps have no gradient: they are made of constants.
void TrainingStep(RandomPool& g) {
  const Tensor a = g.Any();
  const std::string op = g.OneOf<std::string>({"Adam", "Adagrad", "Momentum"});
  const Tensor step =
      g.Input(absl::StrCat("index", g.graph().input_size()), proto::INT64, {});
  std::vector<Tensor> in = {Constant(g, {}, 0.1f, 0.2f), step};
  for (int i = 0; i < (op == "Adam" ? 4 : 3); ++i) {
    in.push_back(Constant(g, a.dims, 0.1f, 1.0f));
  }
  const std::string name = g.Name();
  std::vector<std::string> out = {name, g.Name()};
  if (op == "Adam") out.push_back(g.Name());
  g.Node(op, in, out);
  g.ApplyBounded("Mul", {a, {name, a.dims}}, a.dims);
}

}  // namespace

std::vector<RandomRule> MathRules() {
  return {ChannelNormalization,
          ChannelNormalization,
          RowNormalization,
          PairLoss,
          PairLoss,
          TrainingStep,
          Several,
          Several,
          ModOrPRelu,
          ReduceLast,
          ReduceLast,
          Choose,
          ChooseFinite,
          Gentle,
          Gentle,
          Gentle,
          Gentle,
          Gentle,
          Steep,
          Inner,
          Inner,
          Reciprocal,
          Acosh,
          Steps,
          Steps};
}

}  // namespace reprise
