#include "tests/tools/importer/imported_run.h"

#include <cmath>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tools/conformance/compare.h"
#include "tools/data/pass_arrays.h"

namespace reprise {

std::vector<float> Wave(int64_t n, double phase) {
  std::vector<float> elements(n);
  for (int64_t i = 0; i < n; ++i) {
    elements[i] =
        static_cast<float>(std::sin(1.3 * static_cast<double>(i) + phase));
  }
  return elements;
}

Array FloatArray(const Dims& dims, const std::vector<float>& elements) {
  Array array;
  array.type = {DType::kF32, dims};
  array.data.assign(reinterpret_cast<const char*>(elements.data()),
                    elements.size() * sizeof(float));
  return array;
}

Array IntArray(const Dims& dims, const std::vector<int64_t>& elements) {
  Array array;
  array.type = {DType::kI64, dims};
  array.data.assign(reinterpret_cast<const char*>(elements.data()),
                    elements.size() * sizeof(int64_t));
  return array;
}

std::vector<std::string> DimNames(const Dims& dims) {
  std::vector<std::string> names;
  for (const int64_t dim : dims) names.push_back(absl::StrCat(dim));
  return names;
}

absl::StatusOr<std::vector<Array>> RunImported(
    OnnxBuilder& builder, const std::vector<Array>& inputs) {
  ASSIGN_OR_RETURN(const ImportedModel imported, builder.Import());
  TrainerOptions options;
  options.threads = 1;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Trainer> runner,
      MakeRunner(imported.graph, PlanMode::kEvaluate, {}, options));
  RETURN_IF_ERROR(SetWeights(imported, *runner));
  ASSIGN_OR_RETURN(Pass* const pass, runner->Find(PlanMode::kEvaluate));
  RETURN_IF_ERROR(WriteInputs(imported, inputs, *pass));
  RETURN_IF_ERROR(runner->Run(*pass));
  ASSIGN_OR_RETURN(const std::vector<PassResult> results, ReadResults(*pass));
  std::vector<Array> outputs;
  for (const std::string& output : imported.outputs) {
    for (const PassResult& result : results) {
      if (result.name == output) outputs.push_back(result.array);
    }
  }
  if (outputs.size() != imported.outputs.size()) {
    return absl::InternalError("not every output has a result");
  }
  return outputs;
}

void ExpectDefinition(const std::string& what, const Array& got,
                      const Dims& dims, const std::vector<double>& want) {
  EXPECT_EQ(ToString(got.type), ToString(TensorType{DType::kF32, dims}))
      << what;
  const std::vector<float> floats(want.begin(), want.end());
  EXPECT_EQ(Difference(got, FloatArray(dims, floats), 1e-5, 1e-5), "") << what;
}

void ExpectNotImported(OnnxBuilder& builder, const std::string& text) {
  const absl::Status status = builder.Import().status();
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(absl::StrContains(status.message(), text)) << status;
}

}  // namespace reprise
