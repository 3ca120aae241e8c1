// A small operator table with types but no kernels, for tests of what happens
// before anything runs: loading, ordering, fingerprints.

#ifndef TESTS_TESTING_TOY_OPS_H_
#define TESTS_TESTING_TOY_OPS_H_

#include <climits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/op.h"

namespace reprise {

using InferredTypes = absl::StatusOr<std::vector<TensorType>>;

inline OpDef ToyOp(std::string name, int num_inputs) {
  OpDef op;
  op.name = std::move(name);
  op.min_inputs = num_inputs;
  op.max_inputs = num_inputs;
  op.infer = [](const OpArgs& args) -> InferredTypes {
    return std::vector<TensorType>{args.in[0]};
  };
  return op;
}

// Returns:
//   Relu(x), Add(a, b): the type of the first operand; Add wants equal types
//   MatMul(a, b):       [m,k] x [k,n] -> [m,n]
//   ReduceSum(x):       a scalar of x's element type
//   LeakyRelu(x):       float `alpha`, 0.01 where absent
//   Concat(x...):       int `axis`, required; the type of the first operand
//   Split(x):           ints `split`; as many results as it has entries
//   Constant():         tensor `value`
//   Pool(x):            result 1 is an opaque workspace
//   Norm(x, m?):        two results, the second optional
//   Transpose(x):       ints `perm`
//   SecretGrad(x):      internal
inline std::vector<OpDef> ToyOps() {
  std::vector<OpDef> ops;
  ops.push_back(ToyOp("Relu", 1));
  ops.push_back(ToyOp("SecretGrad", 1));
  ops.back().internal = true;
  ops.push_back(ToyOp("LeakyRelu", 1));
  ops.back().attrs = {AttrSpec("alpha", AttrValue(0.01f))};
  ops.push_back(ToyOp("Transpose", 1));
  ops.back().attrs = {AttrSpec("perm", AttrKind::kInts)};

  ops.push_back(ToyOp("Add", 2));
  ops.back().infer = [](const OpArgs& args) -> InferredTypes {
    if (args.in[0] != args.in[1]) {
      return absl::InvalidArgumentError(
          absl::StrCat("types must agree, got ", ToString(args.in[0]), " and ",
                       ToString(args.in[1])));
    }
    return std::vector<TensorType>{args.in[0]};
  };

  ops.push_back(ToyOp("MatMul", 2));
  ops.back().matmul = MatmulKind::kDot;
  ops.back().infer = [](const OpArgs& args) -> InferredTypes {
    const TensorType& a = args.in[0];
    const TensorType& b = args.in[1];
    if (a.rank() != 2 || b.rank() != 2 || a.dims[1] != b.dims[0]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "inner dims must agree, got ", ToString(a), " x ", ToString(b)));
    }
    return std::vector<TensorType>{{a.dtype, {a.dims[0], b.dims[1]}}};
  };

  ops.push_back(ToyOp("ReduceSum", 1));
  ops.back().infer = [](const OpArgs& args) -> InferredTypes {
    return std::vector<TensorType>{{args.in[0].dtype, {}}};
  };

  ops.push_back(ToyOp("Concat", 1));
  ops.back().max_inputs = INT_MAX;
  ops.back().attrs = {AttrSpec("axis", AttrKind::kInt, AttrSpec::kRequired)};

  ops.push_back(ToyOp("Split", 1));
  ops.back().max_outputs = INT_MAX;
  ops.back().attrs = {AttrSpec("split", AttrKind::kInts, AttrSpec::kRequired)};
  ops.back().infer = [](const OpArgs& args) -> InferredTypes {
    return std::vector<TensorType>(args.attrs.IntList("split").size(),
                                   args.in[0]);
  };

  ops.push_back(ToyOp("Constant", 0));
  ops.back().attrs = {
      AttrSpec("value", AttrKind::kTensor, AttrSpec::kRequired)};
  ops.back().infer = [](const OpArgs& args) -> InferredTypes {
    return std::vector<TensorType>{args.attrs.Tensor("value").type};
  };

  ops.push_back(ToyOp("Pool", 1));
  ops.back().max_outputs = 2;
  ops.back().first_statistic = 1;
  ops.back().infer = [](const OpArgs& args) -> InferredTypes {
    return std::vector<TensorType>{args.in[0], {DType::kOpaque, {}}};
  };

  ops.push_back(ToyOp("Norm", 1));
  ops.back().max_inputs = 2;
  ops.back().max_outputs = 2;
  ops.back().infer = [](const OpArgs& args) -> InferredTypes {
    return std::vector<TensorType>{args.in[0], {args.in[0].dtype, {}}};
  };
  return ops;
}

}  // namespace reprise

#endif  // TESTS_TESTING_TOY_OPS_H_
