#include "tools/importer/opset_rules.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "tools/importer/batch_norm_rule.h"
#include "tools/importer/fold.h"
#include "tools/importer/recurrent_rule.h"
#include "tools/importer/resize_rule.h"
#include "tools/importer/softmax_rule.h"

namespace reprise {
namespace {

using Rule = absl::Status (*)(GraphImporter&, ImportNode&);

// Operands that may become attributes, by operator. "*" before a name: it fixes
// a shape even where we have no such operator. "-": data.
const std::map<std::string, std::vector<std::string>, std::less<>>&
OperandTable() {
  static const auto* const kTable =
      new std::map<std::string, std::vector<std::string>, std::less<>>{
          {"AffineGrid", {"-", "*size"}},
          {"CenterCropPad", {"-", "*shape"}},
          {"Clip", {"-", "min", "max"}},
          {"ConstantOfShape", {"*shape"}},
          {"CumProd", {"-", "axis"}},
          {"CumSum", {"-", "axis"}},
          {"Dropout", {"-", "ratio", "training_mode"}},
          {"Expand", {"-", "*shape"}},
          {"MaxUnpool", {"-", "-", "output_shape"}},
          {"OneHot", {"-", "depth", "values"}},
          {"Pad", {"-", "pads", "constant_value", "axes"}},
          {"ReduceL1", {"-", "*axes"}},
          {"ReduceL2", {"-", "*axes"}},
          {"ReduceLogSum", {"-", "*axes"}},
          {"ReduceLogSumExp", {"-", "*axes"}},
          {"ReduceMax", {"-", "*axes"}},
          {"ReduceMean", {"-", "*axes"}},
          {"ReduceMin", {"-", "*axes"}},
          {"ReduceProd", {"-", "*axes"}},
          {"ReduceSum", {"-", "*axes"}},
          {"ReduceSumSquare", {"-", "*axes"}},
          {"Reshape", {"-", "*shape"}},
          {"Resize", {"-", "roi", "scales", "sizes"}},
          {"Slice", {"-", "*starts", "*ends", "*axes", "*steps"}},
          {"Split", {"-", "*split"}},
          {"Squeeze", {"-", "*axes"}},
          {"Tile", {"-", "*repeats"}},
          {"TopK", {"-", "k"}},
          {"Trilu", {"-", "k"}},
          {"Unsqueeze", {"-", "*axes"}},
          {"Upsample", {"-", "scales"}},
      };
  return *kTable;
}

void Rename(Attrs& attrs, absl::string_view from, absl::string_view to) {
  if (!attrs.Has(from)) return;
  const AttrValue value = attrs.values().find(std::string(from))->second;
  attrs.Erase(from);
  attrs.Set(to, value);
}

// Takes away an attribute whose value says what our operator does anyway.
//
//   errors: InvalidArgument if it says anything else.
absl::Status Drop(Attrs& attrs, absl::string_view name, int64_t value) {
  if (!attrs.Has(name)) return absl::OkStatus();
  const AttrValue given = attrs.values().find(std::string(name))->second;
  if (!(given == AttrValue(value))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attribute '", name, "' must be ", value, ", got ", ToString(given)));
  }
  attrs.Erase(name);
  return absl::OkStatus();
}

// Returns whether an attribute is there, and that integer.
bool Is(const Attrs& attrs, const std::string& name, int64_t value) {
  return attrs.Has(name) && attrs.values().at(name) == AttrValue(value);
}

Array ArrayOfLiteral(const Literal& literal) {
  Array array;
  array.type = literal.type;
  array.data = literal.data;
  return array;
}

absl::Status RuleConstant(GraphImporter& graph, ImportNode& node) {
  const auto& values = node.attrs.values();
  if (values.size() != 1 || node.out.size() != 1 || !node.in.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has one attribute and one result, got ", values.size(),
                     " and ", node.out.size()));
  }
  const auto& [name, value] = *values.begin();
  Array array;
  if (name == "value" && KindOf(value) == AttrKind::kTensor) {
    array = ArrayOfLiteral(std::get<Literal>(value));
  } else if (name == "value_int" && KindOf(value) == AttrKind::kInt) {
    array = ScalarOfInt(std::get<int64_t>(value));
  } else if (name == "value_ints" && KindOf(value) == AttrKind::kInts) {
    array = VectorOfInts(std::get<Ints>(value));
  } else if (name == "value_float" && KindOf(value) == AttrKind::kFloat) {
    array = ScalarOfFloat(std::get<float>(value));
  } else if (name == "value_floats" && KindOf(value) == AttrKind::kFloats) {
    const Floats& floats = std::get<Floats>(value);
    array.type = {DType::kF32, {static_cast<int64_t>(floats.size())}};
    array.data.assign(reinterpret_cast<const char*>(floats.data()),
                      floats.size() * sizeof(float));
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("unsupported attribute '", name, "'"));
  }
  graph.SetKnown(node.out[0], std::move(array));
  node.op.clear();
  return absl::OkStatus();
}

absl::Status RuleConstantOfShape(GraphImporter& graph, ImportNode& node) {
  if (!node.attrs.Has("shape")) {
    return absl::InvalidArgumentError("operand 'shape' is required");
  }
  Array value = ScalarOfFloat(0);
  if (node.attrs.Has("value")) {
    const AttrValue& given = node.attrs.values().find("value")->second;
    if (KindOf(given) != AttrKind::kTensor ||
        std::get<Literal>(given).type.num_elements() != 1) {
      return absl::InvalidArgumentError(
          "attribute 'value' must be a tensor of one element");
    }
    value = ArrayOfLiteral(std::get<Literal>(given));
  }
  ASSIGN_OR_RETURN(
      TensorType type,
      TensorType::Make(value.type.dtype, node.attrs.IntList("shape")));
  RETURN_IF_ERROR(graph.SetFilled(node.out[0], std::move(type), value.data,
                                  !node.from_shapes));
  node.op.clear();
  return absl::OkStatus();
}

absl::Status RuleShape(GraphImporter& graph, ImportNode& node) {
  const TensorType& type = graph.value(node.in[0]).type;
  const int64_t rank = type.rank();
  const auto bound = [&node, rank](const char* name, int64_t fallback) {
    int64_t at = node.attrs.Has(name) ? node.attrs.Int(name) : fallback;
    if (at < 0) at = std::max(at, -rank) + rank;
    return std::min(at, rank);
  };
  const int64_t start = bound("start", 0);
  const int64_t end = bound("end", rank);
  std::vector<int64_t> dims;
  for (int64_t i = start; i < end; ++i) dims.push_back(type.dims[i]);
  graph.SetShape(node.out[0], VectorOfInts(dims));
  node.op.clear();
  return absl::OkStatus();
}

absl::Status RuleSize(GraphImporter& graph, ImportNode& node) {
  graph.SetShape(node.out[0],
                 ScalarOfInt(graph.value(node.in[0]).type.num_elements()));
  node.op.clear();
  return absl::OkStatus();
}

absl::Status RuleCast(GraphImporter&, ImportNode& node) {
  // Both are about element types that there are not.
  node.attrs.Erase("saturate");
  node.attrs.Erase("round_mode");
  return absl::OkStatus();
}

absl::Status RuleCastLike(GraphImporter& graph, ImportNode& node) {
  if (node.in.size() != 2 || node.in[1] == kAbsent) {
    return absl::InvalidArgumentError("takes two inputs");
  }
  node.attrs = {{"to", graph.value(node.in[1]).type.dtype}};
  node.in.pop_back();
  node.op = "Cast";
  return absl::OkStatus();
}

// A mask comes of dropping ones: 0, or 1 / (1 - ratio).
absl::Status DropoutWithMask(GraphImporter& graph, ImportNode& node) {
  const ImportId x = node.in[0];
  const TensorType& type = graph.value(x).type;
  ASSIGN_OR_RETURN(
      const ImportId one,
      graph.AddNode(node, "Expand", {graph.AddConstant(node, ScalarOfFloat(1))},
                    {{"shape", type.dims}}));
  ASSIGN_OR_RETURN(const ImportId kept,
                   graph.AddNode(node, "Dropout", {one}, node.attrs));
  RETURN_IF_ERROR(graph.AddNamed(node, "Cast", {kept}, {{"to", DType::kBool}},
                                 node.out[1]));
  node.op = "Mul";
  node.attrs = {};
  node.in = {x, kept};
  node.out.resize(1);
  return absl::OkStatus();
}

absl::Status RuleDropout(GraphImporter& graph, ImportNode& node) {
  node.attrs.Erase("seed");
  // Before version 12 the runner knew the mode, as ours does.
  if (graph.version() >= 12) {
    const bool trains = Is(node.attrs, "training_mode", 1);
    node.attrs.Set("training_mode", int64_t{trains});
    if (trains) graph.SetTrainingMode();
  }
  node.in.resize(1);
  if (node.out.size() > 1 && node.out[1] != kAbsent) {
    return DropoutWithMask(graph, node);
  }
  node.out.resize(1);
  return absl::OkStatus();
}

absl::Status RuleGroupNormalization(GraphImporter& graph, ImportNode& node) {
  if (graph.version() >= 21 || node.in.size() != 3) return absl::OkStatus();
  // One scale and bias a group, not a channel.
  const TensorType& x = graph.value(node.in[0]).type;
  const int64_t groups =
      node.attrs.Has("num_groups") ? node.attrs.Int("num_groups") : 0;
  if (x.rank() < 2 || groups < 1 || x.dims[1] % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_groups divides the channels, got ", groups, " and ", ToString(x)));
  }
  for (int i = 1; i < 3; ++i) {
    if (node.in[i] == kAbsent) continue;
    const int64_t each = x.dims[1] / groups;
    ASSIGN_OR_RETURN(ImportId id, graph.AddNode(node, "Reshape", {node.in[i]},
                                                {{"shape", Ints{groups, 1}}}));
    ASSIGN_OR_RETURN(id, graph.AddNode(node, "Expand", {id},
                                       {{"shape", Ints{groups, each}}}));
    ASSIGN_OR_RETURN(node.in[i], graph.AddNode(node, "Reshape", {id},
                                               {{"shape", Ints{x.dims[1]}}}));
  }
  return absl::OkStatus();
}

// Bounds of integers: the larger of two, then the smaller of two.
absl::Status RuleClip(GraphImporter& graph, ImportNode& node) {
  const DType dtype = graph.value(node.in[0]).type.dtype;
  if (dtype != DType::kI32 && dtype != DType::kI64) return absl::OkStatus();
  // Beyond this a float, which the attribute is, need not be the integer.
  constexpr float kMostExact = 1 << 24;
  for (const char* const name : {"min", "max"}) {
    if (!node.attrs.Has(name)) continue;
    const float bound = node.attrs.Float(name);
    if (!(std::abs(bound) <= kMostExact)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " of integers must be within ", kMostExact,
                       " of 0, got ", bound));
    }
    const ImportId number =
        graph.AddConstant(node, ScalarOfInt(static_cast<int64_t>(bound)));
    ASSIGN_OR_RETURN(const ImportId same_type,
                     graph.AddNode(node, "Cast", {number}, {{"to", dtype}}));
    const char* const op = absl::string_view(name) == "min" ? "Max" : "Min";
    ASSIGN_OR_RETURN(node.in[0],
                     graph.AddNode(node, op, {node.in[0], same_type}, {}));
  }
  node.op = "Identity";
  node.in.resize(1);
  node.attrs = {};
  return absl::OkStatus();
}

// Scale and bias may broadcast to the rows that are normalized.
absl::Status RuleRowNormalization(GraphImporter& graph, ImportNode& node) {
  const TensorType& x = graph.value(node.in[0]).type;
  const int64_t given = node.attrs.Has("axis") ? node.attrs.Int("axis") : -1;
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, x.rank(), node.op));
  const Dims row(x.dims.begin() + axis, x.dims.end());
  for (size_t i = 1; i < node.in.size(); ++i) {
    if (node.in[i] == kAbsent) continue;
    const Dims& dims = graph.value(node.in[i]).type.dims;
    const absl::StatusOr<Dims> both = BroadcastDims(dims, row, node.op);
    // The operator itself says what is wrong with others.
    if (dims == row || !both.ok() || *both != row) continue;
    ASSIGN_OR_RETURN(node.in[i], graph.AddNode(node, "Expand", {node.in[i]},
                                               {{"shape", row}}));
  }
  return absl::OkStatus();
}

absl::Status RulePad(GraphImporter& graph, ImportNode& node) {
  if (graph.version() < 11) Rename(node.attrs, "value", "constant_value");
  return absl::OkStatus();
}

// Without sizes, as many equal parts as there are results.
absl::Status RuleSplit(GraphImporter& graph, ImportNode& node) {
  if (node.attrs.Has("split") || node.attrs.Has("num_outputs")) {
    return absl::OkStatus();
  }
  const TensorType& type = graph.value(node.in[0]).type;
  const int64_t given = node.attrs.Has("axis") ? node.attrs.Int("axis") : 0;
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, type.rank(), "Split"));
  const int64_t parts = static_cast<int64_t>(node.out.size());
  if (parts == 0 || type.dims[axis] % parts != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        parts, " equal parts of axis ", axis, ", got ", ToString(type)));
  }
  node.attrs.Set("split", Ints(parts, type.dims[axis] / parts));
  return absl::OkStatus();
}

// Operands of two types are brought to one, as the first has it in the end.
absl::Status RulePow(GraphImporter& graph, ImportNode& node) {
  if (node.in.size() != 2 || node.in[1] == kAbsent) return absl::OkStatus();
  const DType base = graph.value(node.in[0]).type.dtype;
  const DType power = graph.value(node.in[1]).type.dtype;
  if (base == power) return absl::OkStatus();
  if (base == DType::kF32) {
    ASSIGN_OR_RETURN(node.in[1], graph.AddNode(node, "Cast", {node.in[1]},
                                               {{"to", DType::kF32}}));
    return absl::OkStatus();
  }
  if (power != DType::kF32) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ImportId x, graph.AddNode(node, "Cast", {node.in[0]},
                                                   {{"to", DType::kF32}}));
  ASSIGN_OR_RETURN(const ImportId y,
                   graph.AddNode(node, "Pow", {x, node.in[1]}, {}));
  node.op = "Cast";
  node.in = {y};
  node.attrs = {{"to", base}};
  return absl::OkStatus();
}

const std::map<std::string, Rule, std::less<>>& Rules() {
  static const auto* const kRules =
      new std::map<std::string, Rule, std::less<>>{
          {"BatchNormalization", RuleBatchNormalization},
          {"Cast", RuleCast},
          {"CastLike", RuleCastLike},
          {"Clip", RuleClip},
          {"Constant", RuleConstant},
          {"ConstantOfShape", RuleConstantOfShape},
          {"Dropout", RuleDropout},
          {"GRU", RuleRecurrent},
          {"GroupNormalization", RuleGroupNormalization},
          {"Hardmax", RuleHardmax},
          {"LSTM", RuleRecurrent},
          {"LayerNormalization", RuleRowNormalization},
          {"LogSoftmax", RuleSoftmax},
          {"Pad", RulePad},
          {"Pow", RulePow},
          {"RMSNormalization", RuleRowNormalization},
          {"RNN", RuleRecurrent},
          {"Resize", RuleResize},
          {"Shape", RuleShape},
          {"Size", RuleSize},
          {"Softmax", RuleSoftmax},
          {"Split", RuleSplit},
      };
  return *kRules;
}

// Attributes of which only one value is supported, which says what our operator
// does anyway.
struct FixedAttr {
  const char* op;
  const char* name;
  int64_t value;
};
constexpr FixedAttr kFixedAttrs[] = {
    {"Attention", "qk_matmul_output_mode", 0},
    {"BatchNormalization", "spatial", 1},
    {"GRU", "input_forget", 0},
    {"GroupNormalization", "stash_type", 1},
    {"LayerNormalization", "stash_type", 1},
    {"LSTM", "input_forget", 0},
    {"RMSNormalization", "stash_type", 1},
};

// Operators whose first result is as optional as the others.
bool MayLackFirst(absl::string_view op) {
  return op == "GRU" || op == "LSTM" || op == "RNN" || op == "Split";
}

bool TakesNoInput(absl::string_view op) {
  return op == "Constant" || op == "ConstantOfShape";
}

}  // namespace

std::string NewestName(absl::string_view domain, const std::string& op_type) {
  if (domain == "ai.onnx.preview.training") return op_type;
  if (!domain.empty()) return "";
  if (op_type == "Upsample") return "Resize";
  if (op_type == "Scatter") return "ScatterElements";
  return op_type;
}

bool IsKnownWithoutOperator(const std::string& op) {
  return op == "Constant" || op == "ConstantOfShape" || op == "Shape" ||
         op == "Size" || op == "CastLike" || op == "Hardmax" || CanFold(op);
}

std::vector<OperandName> OperandNames(const std::string& op_type,
                                      int64_t version) {
  std::vector<OperandName> names;
  const auto entry = OperandTable().find(op_type);
  if (entry == OperandTable().end()) return names;
  for (const std::string& name : entry->second) {
    names.push_back({name, false});
    if (name[0] != '*') continue;
    names.back() = {name.substr(1), true};
  }
  // Version 10 had no region of interest.
  if (op_type == "Resize" && version < 11) names = {{"-"}, {"scales"}};
  return names;
}

void DropJudgedAttrs(const std::string& op, Attrs& attrs) {
  for (const FixedAttr& fixed : kFixedAttrs) {
    if (op == fixed.op) attrs.Erase(fixed.name);
  }
  if (op == "Cast") {
    attrs.Erase("saturate");
    attrs.Erase("round_mode");
  }
  if (op == "Dropout") attrs.Erase("seed");
  if (op == "Pad") attrs.Erase("value");
}

absl::Status ApplyRule(GraphImporter& graph, ImportNode& node) {
  for (const FixedAttr& fixed : kFixedAttrs) {
    if (node.op == fixed.op) {
      RETURN_IF_ERROR(Drop(node.attrs, fixed.name, fixed.value));
    }
  }
  const auto rule = Rules().find(node.op);
  if (rule == Rules().end()) return absl::OkStatus();
  if (!TakesNoInput(node.op) && (node.in.empty() || node.in[0] == kAbsent)) {
    return absl::InvalidArgumentError("takes at least one input, got none");
  }
  const bool none = std::all_of(node.out.begin(), node.out.end(),
                                [](ImportId id) { return id == kAbsent; });
  if (none || (node.out[0] == kAbsent && !MayLackFirst(node.op))) {
    return absl::InvalidArgumentError("its first result has no name");
  }
  return rule->second(graph, node);
}

}  // namespace reprise
