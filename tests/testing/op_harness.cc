#include "tests/testing/op_harness.h"

#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/graph.h"
#include "core/load.h"
#include "core/node_appender.h"
#include "core/op_table.h"
#include "core/status_macros.h"
#include "core/train_step.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/graph_check.h"
#include "tests/testing/kernel_check.h"

namespace reprise {
namespace {

enum class Part { kForward, kGradient, kBoth };

void CheckParts(const OpCase& c, uint64_t seed, Part part) {
  SCOPED_TRACE(absl::StrCat(CaseText(c), ", seed ", seed));
  const std::unique_ptr<OpTable> table = MakeOpTable();
  const absl::StatusOr<PreparedCase> prepared = PrepareCase(c, *table);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const HostTensors inputs = RandomInputs(c, seed);
  const HostTensors want = c.definition(inputs, prepared->attrs);
  ASSERT_GE(static_cast<int>(want.size()), c.num_outputs);
  if (part != Part::kGradient && prepared->op->build != nullptr) {
    const absl::Status status = CheckKernel(c, *prepared, *table, inputs, want);
    ASSERT_TRUE(status.ok()) << status;
  }
  if (part != Part::kForward) {
    const absl::Status status = CheckGraph(c, *prepared, inputs, want, seed);
    ASSERT_TRUE(status.ok()) << status;
  }
}

}  // namespace

void CheckCase(const OpCase& c, uint64_t seed) {
  CheckParts(c, seed, Part::kBoth);
}
void CheckForward(const OpCase& c, uint64_t seed) {
  CheckParts(c, seed, Part::kForward);
}
void CheckGradient(const OpCase& c, uint64_t seed) {
  CheckParts(c, seed, Part::kGradient);
}

HostTensors RunOp(const OpCase& c, const HostTensors& inputs) {
  const std::unique_ptr<OpTable> table = MakeOpTable();
  const absl::StatusOr<PreparedCase> prepared = PrepareCase(c, *table);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  if (!prepared.ok()) return {};
  const absl::StatusOr<std::vector<std::vector<char>>> bits =
      RunKernel(c, *prepared, *table, inputs);
  EXPECT_TRUE(bits.ok()) << bits.status();
  if (!bits.ok()) return {};
  HostTensors out;
  for (int i = 0; i < c.num_outputs; ++i) {
    out.push_back(Unpack(prepared->types[i], (*bits)[i].data()));
  }
  return out;
}

HostTensors GradientsThroughGraph(const OpCase& c, const HostTensors& inputs,
                                  const HostTensors& weights) {
  const std::unique_ptr<OpTable> table = MakeOpTable();
  const absl::StatusOr<PreparedCase> prepared = PrepareCase(c, *table);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  if (!prepared.ok()) return {};
  const absl::StatusOr<GraphResults> results =
      RunGraph(c, *prepared, inputs, weights, /*threads=*/1);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? results->gradients : HostTensors();
}

std::string KeptValues(const OpCase& c, std::vector<int> wanted) {
  const std::unique_ptr<OpTable> table = MakeOpTable();
  const auto kept = [&]() -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const PreparedCase prepared, PrepareCase(c, *table));
    if (wanted.empty()) wanted = DifferentiableInputs(c, prepared);
    const proto::Graph model = ModelOf(c, prepared, LossOutputs(c, prepared));
    ASSIGN_OR_RETURN(const Graph graph,
                     LoadGraph(model, *table, Bindings(), "case"));
    StepOptions options;
    options.mode = PlanMode::kGradients;
    options.gradients = InputNames(wanted);
    ASSIGN_OR_RETURN(const StepGraph step,
                     BuildStepGraph(graph, *table, options));
    std::set<std::string> names;
    for (const Node& node : step.graph.nodes) {
      if (node.role != Role::kBackward) continue;
      for (const ValueId v : node.in) {
        if (v == kNoValue) continue;
        const Value& value = step.graph.values[v];
        const bool forward =
            value.producer == kNoNode ||
            step.graph.nodes[value.producer].role == Role::kForward;
        // Weights and losses are the harness's own.
        if (forward && !absl::StartsWith(value.name, "w") &&
            value.kind != ValueKind::kScalar) {
          names.insert(value.name);
        }
      }
    }
    return absl::StrJoin(names, " ");
  }();
  EXPECT_TRUE(kept.ok()) << kept.status();
  return kept.ok() ? *kept : "";
}

void ExpectRefused(absl::string_view op, const std::vector<TensorType>& in,
                   const Attrs& attrs, absl::string_view text) {
  const std::unique_ptr<OpTable> table = MakeOpTable();
  const OpDef* def = table->Find(op);
  ASSERT_NE(def, nullptr) << "no operator " << op;
  absl::StatusOr<Attrs> complete = CompleteAttrs(*def, attrs);
  ASSERT_TRUE(complete.ok()) << complete.status();
  const absl::Status status = InferTypes("n", *def, *complete, in).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "node 'n'")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), op)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), text))
      << status << "\ndoes not contain: " << text;
}

}  // namespace reprise
