// The table of operators with a random case each: what every operator that a
// file can name goes through.
//
// The build compares the table with the operators there are (see BUILD.bazel):
// one without a case is a compile error that names it. To add one, write a
// function in a *_cases.cc file of this folder and a line here.

#ifndef TESTS_OPS_OP_CASES_H_
#define TESTS_OPS_OP_CASES_H_

#include "tests/testing/op_harness.h"

namespace reprise {

// Each returns a case with random types and attributes, small enough for
// central differences.

// elementwise_cases.cc
OpCase AddCase(CaseRandom& random);
OpCase SubCase(CaseRandom& random);
OpCase MulCase(CaseRandom& random);
OpCase DivCase(CaseRandom& random);
OpCase PowCase(CaseRandom& random);
OpCase NegCase(CaseRandom& random);
OpCase ExpCase(CaseRandom& random);
OpCase LogCase(CaseRandom& random);
OpCase SqrtCase(CaseRandom& random);
OpCase SquareCase(CaseRandom& random);
OpCase ReluCase(CaseRandom& random);
OpCase LeakyReluCase(CaseRandom& random);
OpCase EluCase(CaseRandom& random);
OpCase SigmoidCase(CaseRandom& random);
OpCase TanhCase(CaseRandom& random);
OpCase GeluCase(CaseRandom& random);
OpCase CastCase(CaseRandom& random);

// unary_cases.cc
OpCase AbsCase(CaseRandom& random);
OpCase AcosCase(CaseRandom& random);
OpCase AcoshCase(CaseRandom& random);
OpCase AsinCase(CaseRandom& random);
OpCase AsinhCase(CaseRandom& random);
OpCase AtanCase(CaseRandom& random);
OpCase AtanhCase(CaseRandom& random);
OpCase CeilCase(CaseRandom& random);
OpCase CeluCase(CaseRandom& random);
OpCase ClipCase(CaseRandom& random);
OpCase CosCase(CaseRandom& random);
OpCase CoshCase(CaseRandom& random);
OpCase ErfCase(CaseRandom& random);
OpCase FloorCase(CaseRandom& random);
OpCase HardSigmoidCase(CaseRandom& random);
OpCase HardSwishCase(CaseRandom& random);
OpCase IsInfCase(CaseRandom& random);
OpCase IsNanCase(CaseRandom& random);
OpCase MishCase(CaseRandom& random);
OpCase NotCase(CaseRandom& random);
OpCase ReciprocalCase(CaseRandom& random);
OpCase RoundCase(CaseRandom& random);
OpCase SeluCase(CaseRandom& random);
OpCase SignCase(CaseRandom& random);
OpCase SinCase(CaseRandom& random);
OpCase SinhCase(CaseRandom& random);
OpCase SoftplusCase(CaseRandom& random);
OpCase SoftsignCase(CaseRandom& random);
OpCase SwishCase(CaseRandom& random);
OpCase TanCase(CaseRandom& random);
OpCase ThresholdedReluCase(CaseRandom& random);

// compare_cases.cc
OpCase AndCase(CaseRandom& random);
OpCase EqualCase(CaseRandom& random);
OpCase GreaterCase(CaseRandom& random);
OpCase GreaterOrEqualCase(CaseRandom& random);
OpCase LessCase(CaseRandom& random);
OpCase LessOrEqualCase(CaseRandom& random);
OpCase OrCase(CaseRandom& random);
OpCase WhereCase(CaseRandom& random);
OpCase XorCase(CaseRandom& random);

// axis_cases.cc
OpCase SoftmaxCase(CaseRandom& random);
OpCase LogSoftmaxCase(CaseRandom& random);
OpCase ReduceSumCase(CaseRandom& random);
OpCase ReduceMeanCase(CaseRandom& random);
OpCase ReduceMaxCase(CaseRandom& random);
OpCase ReduceL1Case(CaseRandom& random);
OpCase ReduceL2Case(CaseRandom& random);
OpCase ReduceLogSumCase(CaseRandom& random);
OpCase ReduceLogSumExpCase(CaseRandom& random);
OpCase ReduceMinCase(CaseRandom& random);
OpCase ReduceProdCase(CaseRandom& random);
OpCase ReduceSumSquareCase(CaseRandom& random);

// variadic_cases.cc
OpCase MaxCase(CaseRandom& random);
OpCase MeanCase(CaseRandom& random);
OpCase MinCase(CaseRandom& random);
OpCase ModCase(CaseRandom& random);
OpCase PReluCase(CaseRandom& random);
OpCase SumCase(CaseRandom& random);

// shape_cases.cc
OpCase ReshapeCase(CaseRandom& random);
OpCase FlattenCase(CaseRandom& random);
OpCase SqueezeCase(CaseRandom& random);
OpCase UnsqueezeCase(CaseRandom& random);
OpCase IdentityCase(CaseRandom& random);
OpCase TransposeCase(CaseRandom& random);
OpCase ConcatCase(CaseRandom& random);
OpCase SplitCase(CaseRandom& random);
OpCase SliceCase(CaseRandom& random);
OpCase GatherCase(CaseRandom& random);
OpCase ExpandCase(CaseRandom& random);

// rearrange_cases.cc
OpCase PadCase(CaseRandom& random);
OpCase TileCase(CaseRandom& random);
OpCase DepthToSpaceCase(CaseRandom& random);
OpCase SpaceToDepthCase(CaseRandom& random);
OpCase TriluCase(CaseRandom& random);

// indexed_cases.cc
OpCase GatherElementsCase(CaseRandom& random);
OpCase GatherNdCase(CaseRandom& random);
OpCase ScatterElementsCase(CaseRandom& random);
OpCase ScatterNdCase(CaseRandom& random);

// order_cases.cc
OpCase ArgMaxCase(CaseRandom& random);
OpCase ArgMinCase(CaseRandom& random);
OpCase CumSumCase(CaseRandom& random);
OpCase OneHotCase(CaseRandom& random);
OpCase TopKCase(CaseRandom& random);

// resize_cases.cc
OpCase ResizeCase(CaseRandom& random);

// einsum_cases.cc
OpCase EinsumCase(CaseRandom& random);

// attention_cases.cc
OpCase AttentionCase(CaseRandom& random);

// recurrent_cases.cc
OpCase GruCase(CaseRandom& random);
OpCase LstmCase(CaseRandom& random);
OpCase RnnCase(CaseRandom& random);

// matrix_cases.cc
OpCase MatMulCase(CaseRandom& random);
OpCase GemmCase(CaseRandom& random);

// window_cases.cc
OpCase ConvCase(CaseRandom& random);
OpCase MaxPoolCase(CaseRandom& random);
OpCase AveragePoolCase(CaseRandom& random);
OpCase GlobalAveragePoolCase(CaseRandom& random);
OpCase GlobalMaxPoolCase(CaseRandom& random);
OpCase LpPoolCase(CaseRandom& random);

// conv_transpose_cases.cc
OpCase ConvTransposeCase(CaseRandom& random);

// normalization_cases.cc
OpCase BatchNormalizationCase(CaseRandom& random);
OpCase LayerNormalizationCase(CaseRandom& random);
OpCase DropoutCase(CaseRandom& random);

// loss_cases.cc
OpCase SoftmaxCrossEntropyLossCase(CaseRandom& random);
OpCase NegativeLogLikelihoodLossCase(CaseRandom& random);
OpCase MeanSquaredErrorCase(CaseRandom& random);

// group_norm_cases.cc
OpCase GroupNormalizationCase(CaseRandom& random);
OpCase InstanceNormalizationCase(CaseRandom& random);
OpCase LpNormalizationCase(CaseRandom& random);
OpCase LrnCase(CaseRandom& random);
OpCase MeanVarianceNormalizationCase(CaseRandom& random);
OpCase RmsNormalizationCase(CaseRandom& random);

// pair_loss_cases.cc
OpCase BinaryCrossEntropyWithLogitsCase(CaseRandom& random);
OpCase HuberLossCase(CaseRandom& random);
OpCase KlDivLossCase(CaseRandom& random);
OpCase L1LossCase(CaseRandom& random);

// training_step_cases.cc
OpCase AdagradCase(CaseRandom& random);
OpCase AdamCase(CaseRandom& random);
OpCase MomentumCase(CaseRandom& random);

struct OpCases {
  const char* op;
  OpCase (*make)(CaseRandom& random);
};

inline constexpr OpCases kOpCases[] = {
    {"Abs", AbsCase},
    {"Acos", AcosCase},
    {"Acosh", AcoshCase},
    {"Adagrad", AdagradCase},
    {"Adam", AdamCase},
    {"Add", AddCase},
    {"And", AndCase},
    {"ArgMax", ArgMaxCase},
    {"ArgMin", ArgMinCase},
    {"Asin", AsinCase},
    {"Asinh", AsinhCase},
    {"Atan", AtanCase},
    {"Atanh", AtanhCase},
    {"Attention", AttentionCase},
    {"AveragePool", AveragePoolCase},
    {"BatchNormalization", BatchNormalizationCase},
    {"BinaryCrossEntropyWithLogits", BinaryCrossEntropyWithLogitsCase},
    {"Cast", CastCase},
    {"Ceil", CeilCase},
    {"Celu", CeluCase},
    {"Clip", ClipCase},
    {"Concat", ConcatCase},
    {"Conv", ConvCase},
    {"ConvTranspose", ConvTransposeCase},
    {"Cos", CosCase},
    {"Cosh", CoshCase},
    {"CumSum", CumSumCase},
    {"DepthToSpace", DepthToSpaceCase},
    {"Div", DivCase},
    {"Dropout", DropoutCase},
    {"Einsum", EinsumCase},
    {"Elu", EluCase},
    {"Equal", EqualCase},
    {"Erf", ErfCase},
    {"Exp", ExpCase},
    {"Expand", ExpandCase},
    {"Flatten", FlattenCase},
    {"Floor", FloorCase},
    {"GRU", GruCase},
    {"Gather", GatherCase},
    {"GatherElements", GatherElementsCase},
    {"GatherND", GatherNdCase},
    {"Gelu", GeluCase},
    {"Gemm", GemmCase},
    {"GlobalAveragePool", GlobalAveragePoolCase},
    {"GlobalMaxPool", GlobalMaxPoolCase},
    {"Greater", GreaterCase},
    {"GreaterOrEqual", GreaterOrEqualCase},
    {"GroupNormalization", GroupNormalizationCase},
    {"HardSigmoid", HardSigmoidCase},
    {"HardSwish", HardSwishCase},
    {"HuberLoss", HuberLossCase},
    {"Identity", IdentityCase},
    {"InstanceNormalization", InstanceNormalizationCase},
    {"IsInf", IsInfCase},
    {"IsNaN", IsNanCase},
    {"KLDivLoss", KlDivLossCase},
    {"L1Loss", L1LossCase},
    {"LRN", LrnCase},
    {"LSTM", LstmCase},
    {"LayerNormalization", LayerNormalizationCase},
    {"LeakyRelu", LeakyReluCase},
    {"Less", LessCase},
    {"LessOrEqual", LessOrEqualCase},
    {"Log", LogCase},
    {"LogSoftmax", LogSoftmaxCase},
    {"LpNormalization", LpNormalizationCase},
    {"LpPool", LpPoolCase},
    {"MatMul", MatMulCase},
    {"Max", MaxCase},
    {"MaxPool", MaxPoolCase},
    {"Mean", MeanCase},
    {"MeanSquaredError", MeanSquaredErrorCase},
    {"MeanVarianceNormalization", MeanVarianceNormalizationCase},
    {"Min", MinCase},
    {"Mish", MishCase},
    {"Mod", ModCase},
    {"Momentum", MomentumCase},
    {"Mul", MulCase},
    {"Neg", NegCase},
    {"NegativeLogLikelihoodLoss", NegativeLogLikelihoodLossCase},
    {"Not", NotCase},
    {"OneHot", OneHotCase},
    {"Or", OrCase},
    {"PRelu", PReluCase},
    {"Pad", PadCase},
    {"Pow", PowCase},
    {"RMSNormalization", RmsNormalizationCase},
    {"RNN", RnnCase},
    {"Reciprocal", ReciprocalCase},
    {"ReduceL1", ReduceL1Case},
    {"ReduceL2", ReduceL2Case},
    {"ReduceLogSum", ReduceLogSumCase},
    {"ReduceLogSumExp", ReduceLogSumExpCase},
    {"ReduceMax", ReduceMaxCase},
    {"ReduceMean", ReduceMeanCase},
    {"ReduceMin", ReduceMinCase},
    {"ReduceProd", ReduceProdCase},
    {"ReduceSum", ReduceSumCase},
    {"ReduceSumSquare", ReduceSumSquareCase},
    {"Relu", ReluCase},
    {"Reshape", ReshapeCase},
    {"Resize", ResizeCase},
    {"Round", RoundCase},
    {"ScatterElements", ScatterElementsCase},
    {"ScatterND", ScatterNdCase},
    {"Selu", SeluCase},
    {"Sigmoid", SigmoidCase},
    {"Sign", SignCase},
    {"Sin", SinCase},
    {"Sinh", SinhCase},
    {"Slice", SliceCase},
    {"Softmax", SoftmaxCase},
    {"SoftmaxCrossEntropyLoss", SoftmaxCrossEntropyLossCase},
    {"Softplus", SoftplusCase},
    {"Softsign", SoftsignCase},
    {"SpaceToDepth", SpaceToDepthCase},
    {"Split", SplitCase},
    {"Sqrt", SqrtCase},
    {"Square", SquareCase},
    {"Squeeze", SqueezeCase},
    {"Sub", SubCase},
    {"Sum", SumCase},
    {"Swish", SwishCase},
    {"Tan", TanCase},
    {"Tanh", TanhCase},
    {"ThresholdedRelu", ThresholdedReluCase},
    {"Tile", TileCase},
    {"TopK", TopKCase},
    {"Transpose", TransposeCase},
    {"Trilu", TriluCase},
    {"Unsqueeze", UnsqueezeCase},
    {"Where", WhereCase},
    {"Xor", XorCase},
};

}  // namespace reprise

#endif  // TESTS_OPS_OP_CASES_H_
