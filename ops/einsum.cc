// Einsum: products of elements of the operands, summed over the axes that the
// equation does not name in its result.
//
//   "bij,bjk->bik"   y[b, i, k] = sum_j x0[b, i, j] x1[b, j, k]
//
// In the step graph it is what it means: the diagonal of an axis that stands
// twice, a ReduceSum of one that nobody else has, and then, from the first
// operand to the last, a MatMul of two of them (a Mul where nothing is summed)
// between a Transpose and a Reshape each. Their gradients are Einsum's.
//
// EinsumDiagonal: y[.., i, ..] = x[.., i, .., i, ..]. Tested by
// tests/ops/einsum_test.cc.

#include <algorithm>
#include <climits>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/types/span.h"
#include "core/autodiff.h"
#include "core/expand.h"
#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/parallel.h"
#include "ops/lib/strided_copy.h"

namespace reprise {
namespace {

// An axis by name: a letter, or -1, -2, .. for the last, the last but one, ..
// of those that "..." stands for.
using EinsumLabel = int;
using EinsumLabels = std::vector<EinsumLabel>;

struct EinsumEquation {
  std::vector<EinsumLabels> in;  // for each operand a label for each axis
  EinsumLabels out;
  std::map<EinsumLabel, int64_t> dims;  // 1 gives way to another size

  Dims OutDims() const;
};

// What stands between commas.
struct Term {
  std::string before;  // letters before "..."; all of them without one
  std::string after;
  bool ellipsis = false;
};

absl::StatusOr<Term> ParseTerm(const std::string& text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (absl::ascii_isalpha(static_cast<unsigned char>(text[i]))) {
      (term.ellipsis ? term.after : term.before).push_back(text[i]);
    } else if (text.compare(i, 3, "...") == 0 && !term.ellipsis) {
      term.ellipsis = true;
      i += 2;
    } else {
      return Invalid("Einsum: a term has letters and at most one '...', got '",
                     text, "'");
    }
  }
  return term;
}

// The labels of a term of which "..." stands for `extra` axes.
EinsumLabels LabelsOf(const Term& term, int extra) {
  EinsumLabels labels(term.before.begin(), term.before.end());
  for (int i = extra; term.ellipsis && i > 0; --i) labels.push_back(-i);
  labels.insert(labels.end(), term.after.begin(), term.after.end());
  return labels;
}

absl::Status AddDims(const EinsumLabels& labels, const TensorType& type,
                     std::map<EinsumLabel, int64_t>& dims) {
  std::map<EinsumLabel, int64_t> own;
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t dim = type.dims[i];
    const auto [at, added] = own.emplace(labels[i], dim);
    if (!added && at->second != dim) {
      return Invalid("Einsum: axes of one name must be equally long, got ",
                     ToString(type));
    }
    int64_t& known = dims.emplace(labels[i], dim).first->second;
    if (known != dim && known != 1 && dim != 1) {
      return Invalid("Einsum: axes of one name must be equally long or 1, got ",
                     known, " and ", dim, " of ", ToString(type));
    }
    if (known == 1) known = dim;
  }
  return absl::OkStatus();
}

Dims EinsumEquation::OutDims() const {
  Dims result;
  for (const EinsumLabel label : out) result.push_back(dims.at(label));
  return result;
}

// Returns the equation for operands of these types. Without "->" the result has
// what "..." stands for and then the letters that stand once, in their order.
//
//   errors: InvalidArgument starting with "Einsum: ".
absl::StatusOr<EinsumEquation> ParseEinsum(const std::string& text,
                                           absl::Span<const TensorType> in) {
  std::string packed;
  for (const char c : text) {
    if (c != ' ') packed.push_back(c);
  }
  const size_t arrow = packed.find("->");
  const std::string left = packed.substr(0, arrow);
  std::vector<Term> terms;
  for (size_t begin = 0; begin <= left.size();) {
    const size_t comma = std::min(left.find(',', begin), left.size());
    ASSIGN_OR_RETURN(Term term, ParseTerm(left.substr(begin, comma - begin)));
    terms.push_back(std::move(term));
    begin = comma + 1;
  }
  if (terms.size() != in.size()) {
    return Invalid("Einsum: '", text, "' has ", terms.size(),
                   " terms, but there are ", in.size(), " operands");
  }
  EinsumEquation equation;
  int most_extra = 0;
  bool any_ellipsis = false;
  for (size_t i = 0; i < terms.size(); ++i) {
    const int letters =
        static_cast<int>(terms[i].before.size() + terms[i].after.size());
    const int extra = in[i].rank() - letters;
    if (extra < 0 || (extra > 0 && !terms[i].ellipsis)) {
      return Invalid("Einsum: term ", i, " of '", text, "' names ", letters,
                     " axes, got ", ToString(in[i]));
    }
    any_ellipsis = any_ellipsis || terms[i].ellipsis;
    most_extra = std::max(most_extra, extra);
    equation.in.push_back(LabelsOf(terms[i], extra));
    RETURN_IF_ERROR(AddDims(equation.in.back(), in[i], equation.dims));
  }
  if (arrow == std::string::npos) {
    std::map<char, int> counts;
    for (const Term& term : terms) {
      for (const char c : term.before + term.after) ++counts[c];
    }
    Term out;
    out.ellipsis = any_ellipsis;
    for (const auto& [c, count] : counts) {
      if (count == 1) out.after.push_back(c);
    }
    equation.out = LabelsOf(out, most_extra);
    return equation;
  }
  ASSIGN_OR_RETURN(const Term out, ParseTerm(packed.substr(arrow + 2)));
  if (out.ellipsis && !any_ellipsis) {
    return Invalid("Einsum: '", text, "' has '...' in its result only");
  }
  equation.out = LabelsOf(out, most_extra);
  const std::set<EinsumLabel> once(equation.out.begin(), equation.out.end());
  const bool known = std::all_of(once.begin(), once.end(), [&](int label) {
    return equation.dims.count(label) > 0;
  });
  if (once.size() != equation.out.size() || !known) {
    return Invalid("Einsum: the result of '", text,
                   "' must name axes of operands, each once");
  }
  return equation;
}

InferredTypes Infer(const OpArgs& args) {
  for (const TensorType& type : args.in) {
    RETURN_IF_ERROR(RequireF32("Einsum", "operand", type));
  }
  ASSIGN_OR_RETURN(const EinsumEquation equation,
                   ParseEinsum(args.attrs.String("equation"), args.in));
  return OneType("Einsum", DType::kF32, equation.OutDims());
}

// A value with a name for each axis.
struct Factor {
  ValueId value = kNoValue;
  EinsumLabels labels;

  bool Has(EinsumLabel label) const {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  }
};

class Lowering {
 public:
  Lowering(ExpandBuilder& b, const EinsumEquation& equation)
      : b_(b), equation_(equation) {}

  ValueId Run() {
    std::vector<Factor> factors;
    for (size_t i = 0; i < equation_.in.size(); ++i) {
      factors.push_back(Plain({b_.in(static_cast<int>(i)), equation_.in[i]}));
    }
    Factor product = factors[0];
    for (size_t i = 0; i < factors.size(); ++i) {
      std::set<EinsumLabel> needed(equation_.out.begin(), equation_.out.end());
      for (size_t k = i + 1; k < factors.size(); ++k) {
        needed.insert(factors[k].labels.begin(), factors[k].labels.end());
      }
      if (i > 0) {
        // What neither the other one nor a later one has is summed at once.
        std::set<EinsumLabel> with_product = needed;
        with_product.insert(product.labels.begin(), product.labels.end());
        product = Multiplied(product, Summed(factors[i], with_product), needed);
      }
      if (i + 1 < factors.size() || factors.size() == 1) {
        product = Summed(product, needed);
      }
    }
    return Ordered(product, equation_.out);
  }

 private:
  Dims DimsOf(const EinsumLabels& labels) const {
    Dims dims;
    for (const EinsumLabel label : labels) {
      dims.push_back(equation_.dims.at(label));
    }
    return dims;
  }

  ValueId Viewed(ValueId value, const Dims& dims) {
    if (b_.type(value).dims == dims) return value;
    return b_.Add("Reshape", {value},
                  {{"shape", dims}, {"allowzero", int64_t{1}}}, 1)[0];
  }

  // Each name once, and no axis of 1 where another operand is longer.
  Factor Plain(Factor factor) {
    for (size_t i = 0; i < factor.labels.size(); ++i) {
      for (size_t k = i + 1; k < factor.labels.size();) {
        if (factor.labels[k] != factor.labels[i]) {
          ++k;
          continue;
        }
        factor.value = b_.Add("EinsumDiagonal", {factor.value},
                              {{"first", static_cast<int64_t>(i)},
                               {"second", static_cast<int64_t>(k)}},
                              1)[0];
        factor.labels.erase(factor.labels.begin() + k);
      }
    }
    const Dims dims = b_.type(factor.value).dims;
    Factor plain;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == equation_.dims.at(factor.labels[i])) {
        plain.labels.push_back(factor.labels[i]);
      }
    }
    plain.value = Viewed(factor.value, DimsOf(plain.labels));
    return plain;
  }

  // Summed over the axes that nobody needs.
  Factor Summed(const Factor& factor, const std::set<EinsumLabel>& needed) {
    Factor summed;
    Ints axes;
    for (size_t i = 0; i < factor.labels.size(); ++i) {
      if (needed.count(factor.labels[i]) > 0) {
        summed.labels.push_back(factor.labels[i]);
      } else {
        axes.push_back(static_cast<int64_t>(i));
      }
    }
    if (axes.empty()) return factor;
    summed.value = b_.Add("ReduceSum", {factor.value},
                          {{"axes", axes}, {"keepdims", int64_t{0}}}, 1)[0];
    return summed;
  }

  ValueId Ordered(const Factor& factor, const EinsumLabels& labels) {
    if (factor.labels == labels) return factor.value;
    Ints perm;
    for (const EinsumLabel label : labels) {
      perm.push_back(
          std::find(factor.labels.begin(), factor.labels.end(), label) -
          factor.labels.begin());
    }
    return b_.Add("Transpose", {factor.value}, {{"perm", perm}}, 1)[0];
  }

  static EinsumLabels Joined(EinsumLabels a, const EinsumLabels& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  Factor Multiplied(const Factor& a, const Factor& b,
                    const std::set<EinsumLabel>& needed) {
    EinsumLabels batch;
    EinsumLabels summed;
    EinsumLabels rows;
    EinsumLabels columns;
    for (const EinsumLabel label : a.labels) {
      (!b.Has(label)             ? rows
       : needed.count(label) > 0 ? batch
                                 : summed)
          .push_back(label);
    }
    for (const EinsumLabel label : b.labels) {
      if (!a.Has(label)) columns.push_back(label);
    }
    const int64_t batches = Product(DimsOf(batch));
    const auto matrix = [&batch, batches](int64_t m, int64_t n) {
      return batch.empty() ? Dims{m, n} : Dims{batches, m, n};
    };
    const int64_t m = Product(DimsOf(rows));
    const int64_t n = Product(DimsOf(columns));
    const int64_t k = Product(DimsOf(summed));
    const ValueId left =
        Viewed(Ordered(a, Joined(Joined(batch, rows), summed)), matrix(m, k));
    const ValueId right = Viewed(
        Ordered(b, Joined(Joined(batch, summed), columns)), matrix(k, n));
    Factor product;
    product.labels = Joined(Joined(batch, rows), columns);
    const char* op = summed.empty() ? "Mul" : "MatMul";
    product.value =
        Viewed(b_.Add(op, {left, right}, {}, 1)[0], DimsOf(product.labels));
    return product;
  }

  ExpandBuilder& b_;
  const EinsumEquation& equation_;
};

absl::Status ExpandToProducts(ExpandBuilder& b) {
  std::vector<TensorType> types;
  for (int i = 0; b.in(i) != kNoValue; ++i) types.push_back(b.type(b.in(i)));
  ASSIGN_OR_RETURN(const EinsumEquation equation,
                   ParseEinsum(b.attrs().String("equation"), types));
  const ValueId y = Lowering(b, equation).Run();
  const bool handed_through = y == b.in(0);
  b.SetOut(0, handed_through ? b.Add("Identity", {y}, {}, 1)[0] : y);
  return absl::OkStatus();
}

// EinsumDiagonal, and its gradient with the attribute `dims`.

InferredTypes DiagonalInfer(const OpArgs& args) {
  Dims dims = args.in[0].dims;
  dims.erase(dims.begin() + args.attrs.Int("second"));
  return OneType("EinsumDiagonal", args.in[0].dtype, std::move(dims));
}

std::vector<ValueId> DiagonalGrad(GradBuilder& b) {
  if (!b.needs_grad(0)) return {kNoValue};
  Attrs attrs = b.attrs();
  attrs.Set("dims", Ints(b.type(b.in(0)).dims));
  return {b.Add("EinsumDiagonalGrad", {b.out_grad(0)}, std::move(attrs))};
}

InferredTypes DiagonalGradInfer(const OpArgs& args) {
  return OneType("EinsumDiagonalGrad", args.in[0].dtype,
                 args.attrs.IntList("dims"));
}

absl::StatusOr<Description> DiagonalDescribe(const Signature& offered,
                                             const OpEnv&) {
  return DescribeRowMajor(offered, "loop:diagonal", /*flops=*/0);
}

// The diagonal as it lies in a tensor of `dims`.
StridedSide DiagonalSide(const Attrs& attrs, const Dims& dims) {
  StridedSide side;
  side.strides = StridesOf(dims, Layout());
  const int64_t second = attrs.Int("second");
  side.strides[attrs.Int("first")] += side.strides[second];
  side.strides.erase(side.strides.begin() + second);
  return side;
}

absl::StatusOr<Kernel> DiagonalBuild(const Signature& s, const OpEnv& env) {
  const Dims& y = s.out[0].dims;
  const StridedCopy copy(y, DiagonalSide(s.attrs, s.in[0].dims),
                         {StridesOf(y, Layout()), 0}, SizeOf(s.in[0].dtype),
                         env.threads);
  return Kernel{[copy](const Buffers& b) { copy.Run(b.in[0], b.out[0]); }};
}

absl::StatusOr<Kernel> DiagonalGradBuild(const Signature& s, const OpEnv& env) {
  const Dims& dy = s.in[0].dims;
  const StridedCopy copy(dy, {StridesOf(dy, Layout()), 0},
                         DiagonalSide(s.attrs, s.out[0].dims),
                         SizeOf(s.in[0].dtype), env.threads);
  const int64_t bytes = s.out[0].bytes();
  const int threads = env.threads;
  return Kernel{[copy, bytes, threads](const Buffers& b) {
    char* dx = static_cast<char*>(b.out[0]);
    ParallelFor(threads, bytes, 4 * kElementsPerThread,
                [dx](int64_t begin, int64_t end) {
                  std::memset(dx + begin, 0, static_cast<size_t>(end - begin));
                });
    copy.Run(b.in[0], dx);
  }};
}

}  // namespace

std::vector<OpDef> EinsumOps() {
  OpDef op;
  op.name = "Einsum";
  op.max_inputs = INT_MAX;
  op.attrs = {AttrSpec("equation", AttrKind::kString, AttrSpec::kRequired)};
  op.infer = Infer;
  op.expand = ExpandToProducts;

  OpDef diagonal;
  diagonal.name = "EinsumDiagonal";
  diagonal.internal = true;
  diagonal.attrs = {AttrSpec("first", AttrKind::kInt, AttrSpec::kRequired),
                    AttrSpec("second", AttrKind::kInt, AttrSpec::kRequired)};
  diagonal.infer = DiagonalInfer;
  diagonal.grad = DiagonalGrad;
  diagonal.describe = DiagonalDescribe;
  diagonal.build = DiagonalBuild;

  OpDef grad;
  grad.name = "EinsumDiagonalGrad";
  grad.internal = true;
  grad.attrs = diagonal.attrs;
  grad.attrs.emplace_back("dims", AttrKind::kInts, AttrSpec::kRequired);
  grad.infer = DiagonalGradInfer;
  grad.describe = DiagonalDescribe;
  grad.build = DiagonalGradBuild;
  return {op, diagonal, grad};
}

}  // namespace reprise
