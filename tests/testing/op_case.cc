#include "tests/testing/op_case.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/load.h"
#include "core/node_appender.h"
#include "core/status_macros.h"
#include "tests/testing/case_random.h"

namespace reprise {
namespace {

bool Contains(const std::vector<int>& list, int x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

}  // namespace

std::string CaseText(const OpCase& c) {
  std::vector<std::string> types;
  for (const TensorType& type : c.in) types.push_back(ToString(type));
  return absl::StrCat(c.op, "{", ToString(c.attrs), "}(",
                      absl::StrJoin(types, ", "), ")");
}

absl::StatusOr<PreparedCase> PrepareCase(const OpCase& c,
                                         const OpTable& table) {
  PreparedCase prepared;
  prepared.op = table.Find(c.op);
  if (prepared.op == nullptr) {
    return absl::NotFoundError(absl::StrCat("no operator ", c.op));
  }
  ASSIGN_OR_RETURN(prepared.attrs, CompleteAttrs(*prepared.op, c.attrs));
  ASSIGN_OR_RETURN(prepared.types,
                   InferTypes("n", *prepared.op, prepared.attrs, c.in));
  if (static_cast<int>(prepared.types.size()) < c.num_outputs) {
    return absl::InvalidArgumentError(
        absl::StrCat(c.op, " has ", prepared.types.size(), " results"));
  }
  prepared.types.resize(c.num_outputs);
  return prepared;
}

HostTensors RandomInputs(const OpCase& c, uint64_t seed) {
  CaseRandom random(seed);
  HostTensors inputs;
  for (size_t i = 0; i < c.in.size(); ++i) {
    const ContentRange range = c.ranges.empty()
                                   ? ContentRange()
                                   : c.ranges[std::min(i, c.ranges.size() - 1)];
    HostTensor tensor{c.in[i], {}};
    for (int64_t k = 0; k < tensor.type.num_elements(); ++k) {
      tensor.data.push_back(
          tensor.type.dtype == DType::kF32
              // As a float, so that the definition sees what the kernel sees.
              ? static_cast<float>(random.Real(range.low, range.high))
              : static_cast<double>(
                    random.Int(static_cast<int64_t>(range.low),
                               static_cast<int64_t>(range.high) - 1)));
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

bool IsChecked(const OpCase& c, int i) {
  return !Contains(c.unchecked_outputs, i);
}

std::vector<int> LossOutputs(const OpCase& c, const PreparedCase& prepared) {
  if (!c.loss_outputs.empty()) return c.loss_outputs;
  std::vector<int> outputs;
  for (int i = 0; i < c.num_outputs; ++i) {
    if (prepared.types[i].dtype == DType::kF32 && IsChecked(c, i)) {
      outputs.push_back(i);
    }
  }
  return outputs;
}

std::vector<int> DifferentiableInputs(const OpCase& c,
                                      const PreparedCase& prepared) {
  std::vector<int> inputs;
  for (size_t i = 0; i < c.in.size(); ++i) {
    const int index = static_cast<int>(i);
    if (c.in[i].dtype == DType::kF32 &&
        !Contains(prepared.op->no_grad_inputs, index)) {
      inputs.push_back(index);
    }
  }
  return inputs;
}

}  // namespace reprise
