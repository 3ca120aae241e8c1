// What checkpoint regions mean, on real operators: models in text form are
// loaded, differentiated, lowered and planned, and the values saved and the
// nodes replayed are compared with what must follow.
//
// Kinds of operators, by what their gradient reads: S its input (Gelu), D its
// output (Tanh), L nothing (Add), dot a matmul: each operand for the gradient
// of the other.

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/check_plan.h"
#include "core/load.h"
#include "core/lowering.h"
#include "core/machine.h"
#include "core/op_table.h"
#include "core/proto_file.h"
#include "core/status_macros.h"
#include "core/train_step.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "ops/all_ops.h"
#include "planner/planner.h"
#include "tests/planner/conformance_rows.h"

namespace reprise {
namespace {

using Counts = std::map<std::string, int>;

struct Outcome {
  Counts saved;
  Counts replayed;
  int64_t saved_bytes = 0;
  int num_replayed = 0;
};

// The table's word for an operator.
std::string KindOf(const std::string& op) {
  const std::map<std::string, std::string> kinds = {
      {"Gelu", "S"},          {"Tanh", "D"},
      {"Add", "L"},           {"MatMul", "dot"},
      {"MaxPool", "maxpool"}, {"LayerNormalization", "ln"},
      {"Softmax", "softmax"}};
  const auto it = kinds.find(op);
  return it == kinds.end() ? op : it->second;
}

Counts SavedOf(const std::vector<Residual>& residuals, bool by_name) {
  Counts saved;
  std::map<std::string, bool> seen_stats;  // by node
  for (const Residual& r : residuals) {
    if (absl::StartsWith(r.value, "constant_")) continue;
    if (r.producer.empty()) {
      ++saved[absl::StrCat("arg:",
                           absl::StrReplaceAll(r.value, {{"_2", "'"}}))];
      continue;
    }
    const std::string kind = KindOf(r.producer_op);
    if (r.workspace && kind == "ln") {
      // Mean and deviation count as one.
      if (seen_stats.emplace(r.producer, true).second) ++saved["ln.stats"];
    } else if (r.workspace) {
      ++saved[kind + ".ws"];
    } else if (by_name && r.value == "a") {
      ++saved["name:a"];
    } else {
      ++saved[kind];
    }
  }
  return saved;
}

absl::StatusOr<Outcome> OutcomeOf(const RowModel& model, const OpTable& ops,
                                  bool fusion) {
  proto::Graph file;
  RETURN_IF_ERROR(ParseText(model.text, "row", file));
  ASSIGN_OR_RETURN(const Graph graph, LoadGraph(file, ops, {}, "row"));
  StepOptions step_options;
  step_options.mode = PlanMode::kGradients;
  step_options.gradients = model.differentiated;
  ASSIGN_OR_RETURN(const StepGraph step,
                   BuildStepGraph(graph, ops, step_options));
  LoweringOptions lowering;
  lowering.fusion = fusion;
  lowering.machine = DefaultMachine();
  ASSIGN_OR_RETURN(const LoweredGraph lowered, Lower(step, ops, lowering));
  ASSIGN_OR_RETURN(
      const PlanResult result,
      MakePlan(step.graph, lowered, PlanMode::kGradients,
               PlacePersistent(step.graph, lowered), PlanOptions()));
  RETURN_IF_ERROR(CheckPlan(lowered, result.plan).status());
  Outcome outcome;
  outcome.saved = SavedOf(result.report.residuals,
                          absl::StrContains(model.text, "save_names"));
  for (const Residual& r : result.report.residuals) {
    outcome.saved_bytes += r.bytes;
  }
  for (const Step& s : result.plan.steps) {
    if (s.run == 0 || lowered.nodes[s.node].is_reorder) continue;
    ++outcome.replayed[KindOf(lowered.op(s.node).name)];
    ++outcome.num_replayed;
  }
  return outcome;
}

class ConformanceTest : public ::testing::Test {
 protected:
  ConformanceTest() : ops_(AllOps()) {}

  void Check(const std::string& id, const RowModel& model, const Counts& saved,
             const Counts& replayed) const {
    SCOPED_TRACE(id + "\n" + model.text);
    const absl::StatusOr<Outcome> plain =
        OutcomeOf(model, ops_, /*fusion=*/false);
    ASSERT_TRUE(plain.ok()) << plain.status();
    EXPECT_EQ(plain->saved, saved);
    EXPECT_EQ(plain->replayed, replayed);
    const absl::StatusOr<Outcome> fused =
        OutcomeOf(model, ops_, /*fusion=*/true);
    ASSERT_TRUE(fused.ok()) << fused.status();
    EXPECT_LE(fused->saved_bytes, plain->saved_bytes);
    EXPECT_LE(fused->num_replayed, plain->num_replayed);
  }

  OpTable ops_;
};

TEST_F(ConformanceTest, EveryRowOfTheSharedTableHolds) {
  const char* shared = std::getenv("REPRISE_SHARED_DIR");
  if (shared == nullptr) GTEST_SKIP() << "REPRISE_SHARED_DIR is not set";
  std::ifstream file(absl::StrCat(shared, "/conformance/residuals.json"));
  if (!file.good()) GTEST_SKIP() << "no residuals.json in " << shared;
  const nlohmann::json rows = nlohmann::json::parse(file);
  EXPECT_GE(rows.size(), 50u);
  for (const nlohmann::json& row : rows) {
    const std::string id = row.at("id").get<std::string>();
    const RowModel model = SharedRow(id);
    ASSERT_FALSE(model.text.empty()) << "no model of row " << id;
    Check(id, model, row.at("saved").get<Counts>(),
          row.at("replayed").get<Counts>());
  }
}

// Rows of our own.

TEST_F(ConformanceTest, AnUnannotatedLayerSavesWhatItsGradientReads) {
  ModelWriter w;
  const std::string x = w.Arg("x");
  const RowModel model = w.Finish(w.S(w.Dot(x, w.Arg("W"))));
  Check("layer", model, {{"arg:x", 1}, {"arg:W", 1}, {"dot", 1}}, {});
}

// The gradient of a product reads its operands, not the product.
TEST_F(ConformanceTest, ARegionAroundOneMatmulChangesNothing) {
  ModelWriter w;
  const std::string x = w.Arg("x");
  const std::string weight = w.Arg("W");
  w.Open("product");
  const std::string y = w.Dot(x, weight);
  w.Close();
  Check("product", w.Finish(w.D(y)), {{"arg:x", 1}, {"arg:W", 1}, {"D", 1}},
        {});
}

// The last product of the region is not replayed: nobody reads it again.
TEST_F(ConformanceTest, AReplayEndsWithTheLastValueThatIsRead) {
  ModelWriter w;
  const std::string x = w.Arg("x");
  const std::string w1 = w.Arg("W1");
  const std::string w2 = w.Arg("W2");
  w.Open("mlp");
  const std::string y = w.Dot(w.D(w.Dot(x, w1)), w2);
  w.Close();
  Check("mlp", w.Finish(y), {{"arg:x", 1}, {"arg:W1", 1}, {"arg:W2", 1}},
        {{"dot", 1}, {"D", 1}});
}

// b is kept for the gradient of Mul outside; it serves the region too, so only
// a is replayed.
TEST_F(ConformanceTest, AValueKeptForAReaderOutsideServesTheRegion) {
  ModelWriter w;
  const std::string x = w.Arg("x");
  w.Open("r");
  const std::string b = w.D(w.D(x));
  w.Close();
  Check("kept", w.Finish(w.Mul(b, b)), {{"arg:x", 1}, {"D", 1}}, {{"D", 1}});
}

TEST_F(ConformanceTest, SaveOpsKeepsResultsOfThoseOperators) {
  ModelWriter w;
  const std::string x = w.Arg("x");
  const std::string weight = w.Arg("W");
  w.Open("r", "save_ops { v: \"Tanh\" }");
  const std::string y = w.S(w.D(w.Dot(x, weight)));
  w.Close();
  Check("save_ops", w.Finish(y), {{"arg:x", 1}, {"arg:W", 1}, {"D", 1}}, {});
}

// drop1 and keep are read by the gradients of the two S behind them.
TEST_F(ConformanceTest, SaveAllButNamesReplaysTheNamed) {
  ModelWriter w;
  const std::string x = w.Arg("x");
  w.Open("r", "save_all_but_names { v: \"drop*\" }");
  const std::string y = w.S(w.S(w.S(x, "drop1"), "keep"), "drop2");
  w.Close();
  Check("all but", w.Finish(y), {{"arg:x", 1}, {"S", 1}}, {{"S", 1}});
}

TEST_F(ConformanceTest, AnyOfKeepsWhatOnePolicyKeeps) {
  ModelWriter w;
  const std::string x = w.Arg("x");
  const std::string weight = w.Arg("W");
  w.Open("r",
         "any_of { policy { save_matmuls: true } "
         "policy { save_names { v: \"kept\" } } }");
  const std::string y = w.S(w.S(w.S(w.Dot(x, weight), "kept"), "dropped"));
  w.Close();
  Check("any of", w.Finish(y),
        {{"arg:x", 1}, {"arg:W", 1}, {"dot", 1}, {"S", 1}}, {{"S", 1}});
}

// The core's replay stops at q, k, v, which are inputs of the region.
TEST_F(ConformanceTest, InputsOfARegionAreThereForItsReplay) {
  ModelWriter w;
  const std::string x = w.Arg("x");
  const std::string q = w.S(x);
  w.Open("core");
  const std::string p = w.Softmax(w.Dot(q, q));
  w.Close();
  // q is read by the gradient of the product; x by that of S.
  Check("core", w.Finish(p), {{"arg:x", 1}, {"S", 1}},
        {{"dot", 1}, {"softmax", 1}});
}

// The inner region drops a again when the outer one is replayed.
TEST_F(ConformanceTest, NestedRegionsReplayInsideTheReplay) {
  ModelWriter w;
  std::string v = w.Arg("x");
  w.Open("outer");
  w.Open("inner");
  v = w.D(w.D(v));
  w.Close();
  v = w.D(v);
  w.Close();
  // outer replays all three for its last output; inner its own two, of which
  // the second is what outer holds: it serves inner. Hence 3 + 2.
  Check("nested", w.Finish(v), {{"arg:x", 1}}, {{"D", 5}});
}

TEST_F(ConformanceTest, MustSaveBeatsThePolicyOfEveryLevel) {
  ModelWriter w;
  std::string v = w.Arg("x");
  w.Open("outer");
  w.Open("inner");
  v = w.S(w.S(v, "kept"));
  w.Close();
  w.Close();
  w.AddText("annotation { value: \"kept\" keep: MUST_SAVE }\n");
  Check("must_save", w.Finish(v), {{"arg:x", 1}, {"S", 1}}, {});
}

TEST_F(ConformanceTest, MustRecomputeIsARegionOfItsProducer) {
  ModelWriter w;
  std::string v = w.Arg("x");
  v = w.S(w.S(v, "dropped"));
  w.AddText("annotation { value: \"dropped\" keep: MUST_RECOMPUTE }\n");
  Check("must_recompute", w.Finish(v), {{"arg:x", 1}}, {{"S", 1}});
}

TEST_F(ConformanceTest, StatisticsFollowTheFirstOutput) {
  ModelWriter w;
  const std::string x = w.Arg("x");
  w.Open("r", "save_names { v: \"other\" }");
  const std::string y = w.LayerNorm(x);
  w.Close();
  // Replayed for its statistics; its input x is there.
  Check("statistics", w.Finish(y), {{"arg:x", 1}}, {{"ln", 1}});
}

TEST_F(ConformanceTest, FileOrderChangesNothing) {
  // N06 with B's nodes between A's: b1 b2 need only a1.
  ModelWriter w;
  const std::string x = w.Arg("x");
  w.Open("A");
  const std::string a1 = w.S(x);
  w.Close();
  w.Open("B");
  const std::string b2 = w.S(w.S(a1));
  w.Close();
  w.Reopen("A");
  const std::string a3 = w.S(w.S(a1));
  w.Close();
  Check("order", w.Finish(w.L(a3, b2)), {{"arg:x", 1}, {"S", 1}}, {{"S", 2}});
}

}  // namespace
}  // namespace reprise
