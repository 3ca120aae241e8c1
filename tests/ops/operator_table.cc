#include "tests/ops/operator_table.h"

#include <climits>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/op.h"
#include "core/op_table.h"
#include "ops/all_ops.h"
#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

// Cases of each operator that are looked at.
constexpr uint64_t kCases = 40;

std::string Count(int least, int most) {
  if (least == most) return absl::StrCat(least);
  if (most == INT_MAX) return absl::StrCat(least, " or more");
  return absl::StrCat(least, " to ", most);
}

// Returns e.g. "axis (-1), depth!, k": with its default, required, optional.
std::string AttributesOf(const OpDef& op) {
  std::vector<std::string> attributes;
  for (const AttrSpec& spec : op.attrs) {
    std::string text = spec.name;
    if (spec.has_default) {
      // A float's bits follow a slash.
      const std::string value = ToString(spec.default_value);
      absl::StrAppend(&text, " (", value.substr(0, value.find('/')), ")");
    } else if (spec.required) {
      text += "!";
    }
    attributes.push_back(text);
  }
  return absl::StrJoin(attributes, ", ");
}

// Returns the element types that the operator accepts for operand `i` of `c`,
// all others as they are.
std::set<DType> TypesOf(const OpCase& c, const PreparedCase& prepared, int i) {
  std::set<DType> types;
  for (const DType dtype :
       {DType::kF32, DType::kI32, DType::kI64, DType::kBool}) {
    std::vector<TensorType> in = c.in;
    // Operands of one type change together.
    for (TensorType& type : in) {
      if (type.dtype == c.in[i].dtype) type.dtype = dtype;
    }
    if (prepared.op->infer({in, prepared.attrs}).ok()) types.insert(dtype);
    in = c.in;
    in[i].dtype = dtype;
    if (prepared.op->infer({in, prepared.attrs}).ok()) types.insert(dtype);
  }
  return types;
}

struct Facts {
  int cases = 0;
  int differentiable = 0;
  std::map<int, std::set<DType>> types;  // by operand
  std::map<std::string, int> kept;       // in how many cases
};

Facts FactsOf(const OpCases& cases, const OpTable& table) {
  Facts facts;
  for (uint64_t seed = 1; seed <= kCases; ++seed) {
    CaseRandom random(seed);
    const OpCase c = cases.make(random);
    const absl::StatusOr<PreparedCase> prepared = PrepareCase(c, table);
    if (!prepared.ok()) continue;
    ++facts.cases;
    for (size_t i = 0; i < c.in.size(); ++i) {
      if (!c.in[i].present()) continue;
      const std::set<DType> types = TypesOf(c, *prepared, static_cast<int>(i));
      facts.types[static_cast<int>(i)].insert(types.begin(), types.end());
    }
    if (!c.gradient || LossOutputs(c, *prepared).empty() ||
        DifferentiableInputs(c, *prepared).empty()) {
      continue;
    }
    ++facts.differentiable;
    std::set<std::string> kept;
    for (const absl::string_view name :
         absl::StrSplit(KeptValues(c), ' ', absl::SkipEmpty())) {
      const bool is_named = name.size() == 2 && absl::ascii_isdigit(name[1]);
      kept.insert(is_named ? std::string(name) : "inner values");
    }
    for (const std::string& name : kept) ++facts.kept[name];
  }
  return facts;
}

// Returns e.g. "f32 i32; f32; bool": one list for each operand, the last of
// which stands for the rest.
std::string Text(const std::map<int, std::set<DType>>& types) {
  std::vector<std::string> lists;
  for (const auto& [operand, set] : types) {
    lists.push_back(absl::StrJoin(set, " ", [](std::string* out, DType dtype) {
      absl::StrAppend(out, absl::string_view(ToString(dtype)));
    }));
  }
  while (lists.size() > 1 && lists.back() == lists[lists.size() - 2]) {
    lists.pop_back();
  }
  return absl::StrJoin(lists, "; ");
}

std::string KeptText(const OpDef& op, const Facts& facts) {
  if (!op.grad && !op.expand) {
    return op.no_grad_inputs.empty() ? "no gradient" : "nothing: zero";
  }
  if (facts.differentiable == 0)
    return op.grad ? "nothing: zero" : "no gradient";
  if (facts.kept.empty()) return "nothing";
  return absl::StrJoin(
      facts.kept, ", ", [&facts](std::string* out, const auto& entry) {
        const bool always = entry.second == facts.differentiable;
        absl::StrAppend(
            out, always ? entry.first : absl::StrCat("(", entry.first, ")"));
      });
}

}  // namespace

std::string OperatorTable() {
  std::string page =
      "# Table of operators\n\n"
      "Written by `bazel run //tests/ops:write_operator_table > "
      "docs/operator_table.md` from the operators and\nthe cases that test "
      "them, and held against them by a test. What a table cannot say is in\n"
      "[operators.md](operators.md).\n\n"
      "* *in*, *out*: how many operands and results.\n"
      "* *types*: what each operand may hold, `;` between operands; the last "
      "list is that of all further ones.\n"
      "* *attributes*: with the default in parentheses, `!` where one must be "
      "given.\n"
      "* *kept*: what the gradients of all operands read: operands `x0`, "
      "`x1`, .., results `y0`, `y1`, .. (a result\n  that a file cannot name "
      "is a statistic or a workspace), *inner values* of the nodes that it "
      "becomes;\n  in parentheses what only some attributes or shapes "
      "need.\n\n"
      "| operator | in | out | types | attributes | kept for the gradient |\n"
      "|---|---|---|---|---|---|\n";
  const OpTable table(AllOps());
  for (const OpCases& cases : kOpCases) {
    const OpDef& op = table.Get(cases.op);
    const Facts facts = FactsOf(cases, table);
    absl::StrAppend(
        &page, "| ", op.name, " | ", Count(op.min_inputs, op.max_inputs), " | ",
        Count(op.min_outputs, op.max_outputs), " | ", Text(facts.types), " | ",
        AttributesOf(op), " | ", KeptText(op, facts), " |\n");
  }
  return page;
}

}  // namespace reprise
