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

// axis_cases.cc
OpCase SoftmaxCase(CaseRandom& random);
OpCase LogSoftmaxCase(CaseRandom& random);
OpCase ReduceSumCase(CaseRandom& random);
OpCase ReduceMeanCase(CaseRandom& random);
OpCase ReduceMaxCase(CaseRandom& random);

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

struct OpCases {
  const char* op;
  OpCase (*make)(CaseRandom& random);
};

inline constexpr OpCases kOpCases[] = {
    {"Add", AddCase},
    {"ArgMax", ArgMaxCase},
    {"ArgMin", ArgMinCase},
    {"Attention", AttentionCase},
    {"AveragePool", AveragePoolCase},
    {"BatchNormalization", BatchNormalizationCase},
    {"Cast", CastCase},
    {"Concat", ConcatCase},
    {"Conv", ConvCase},
    {"ConvTranspose", ConvTransposeCase},
    {"CumSum", CumSumCase},
    {"DepthToSpace", DepthToSpaceCase},
    {"Div", DivCase},
    {"Dropout", DropoutCase},
    {"Einsum", EinsumCase},
    {"Elu", EluCase},
    {"Exp", ExpCase},
    {"Expand", ExpandCase},
    {"Flatten", FlattenCase},
    {"GRU", GruCase},
    {"Gather", GatherCase},
    {"GatherElements", GatherElementsCase},
    {"GatherND", GatherNdCase},
    {"Gelu", GeluCase},
    {"Gemm", GemmCase},
    {"GlobalAveragePool", GlobalAveragePoolCase},
    {"GlobalMaxPool", GlobalMaxPoolCase},
    {"Identity", IdentityCase},
    {"LSTM", LstmCase},
    {"LayerNormalization", LayerNormalizationCase},
    {"LeakyRelu", LeakyReluCase},
    {"Log", LogCase},
    {"LogSoftmax", LogSoftmaxCase},
    {"LpPool", LpPoolCase},
    {"MatMul", MatMulCase},
    {"MaxPool", MaxPoolCase},
    {"MeanSquaredError", MeanSquaredErrorCase},
    {"Mul", MulCase},
    {"Neg", NegCase},
    {"NegativeLogLikelihoodLoss", NegativeLogLikelihoodLossCase},
    {"OneHot", OneHotCase},
    {"Pad", PadCase},
    {"Pow", PowCase},
    {"RNN", RnnCase},
    {"ReduceMax", ReduceMaxCase},
    {"ReduceMean", ReduceMeanCase},
    {"ReduceSum", ReduceSumCase},
    {"Relu", ReluCase},
    {"Reshape", ReshapeCase},
    {"Resize", ResizeCase},
    {"ScatterElements", ScatterElementsCase},
    {"ScatterND", ScatterNdCase},
    {"Sigmoid", SigmoidCase},
    {"Slice", SliceCase},
    {"Softmax", SoftmaxCase},
    {"SoftmaxCrossEntropyLoss", SoftmaxCrossEntropyLossCase},
    {"SpaceToDepth", SpaceToDepthCase},
    {"Split", SplitCase},
    {"Sqrt", SqrtCase},
    {"Square", SquareCase},
    {"Squeeze", SqueezeCase},
    {"Sub", SubCase},
    {"Tanh", TanhCase},
    {"Tile", TileCase},
    {"TopK", TopKCase},
    {"Transpose", TransposeCase},
    {"Trilu", TriluCase},
    {"Unsqueeze", UnsqueezeCase},
};

}  // namespace reprise

#endif  // TESTS_OPS_OP_CASES_H_
