// Random cases of Einsum.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/ops/layer_cases.h"
#include "tests/ops/op_cases.h"

namespace reprise {
namespace {

// By its definition, for terms without "...": every combination of positions.
HostTensors Defined(const std::vector<std::string>& terms,
                    const std::string& out, const HostTensors& in) {
  std::map<char, int64_t> dims;
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t k = 0; k < terms[i].size(); ++k) {
      int64_t& dim = dims.emplace(terms[i][k], 1).first->second;
      dim = dim == 1 ? in[i].type.dims[k] : dim;
    }
  }
  std::string letters;
  Dims all;
  for (const auto& [letter, dim] : dims) {
    letters.push_back(letter);
    all.push_back(dim);
  }
  const auto at = [&](const std::string& term, const Dims& index,
                      const Dims& sizes) {
    Dims position;
    for (size_t k = 0; k < term.size(); ++k) {
      position.push_back(sizes[k] == 1 ? 0 : index[letters.find(term[k])]);
    }
    return position;
  };
  Dims out_dims;
  for (const char c : out) out_dims.push_back(dims[c]);
  HostTensor y{F32(out_dims), {}};
  y.data.assign(y.type.num_elements(), 0.0);
  ForEachIndex(all, [&](const Dims& index) {
    double product = 1;
    for (size_t i = 0; i < terms.size(); ++i) {
      product *= At(in[i], at(terms[i], index, in[i].type.dims));
    }
    int64_t offset = 0;
    const Dims to = at(out, index, out_dims);
    for (size_t k = 0; k < to.size(); ++k) {
      offset = offset * out_dims[k] + to[k];
    }
    y.data[offset] += product;
  });
  return {y};
}

}  // namespace

OpCase EinsumOf(const std::string& equation, std::vector<Dims> in,
                const std::vector<std::string>& terms, const std::string& out) {
  OpCase c;
  c.op = "Einsum";
  for (Dims& dims : in) c.in.push_back(F32(std::move(dims)));
  c.attrs.Set("equation", equation);
  c.ranges = {{-1.5, 1.5}};
  // Sums of up to some hundred products.
  c.tolerance = 1e-4;
  c.gradient_tolerance = 5e-4;
  c.definition = [terms, out](const HostTensors& x, const Attrs&) {
    return Defined(terms, out, x);
  };
  return c;
}

OpCase EinsumCase(CaseRandom& random) {
  const std::string letters = "abcD";
  std::map<char, int64_t> dims;
  for (const char c : letters) dims[c] = random.Int(1, 3);
  if (random.Int(0, 15) == 0) dims['a'] = 0;
  const int64_t count = random.Int(1, 3);
  std::vector<std::string> terms;
  std::vector<Dims> in;
  std::string used;
  for (int64_t i = 0; i < count; ++i) {
    terms.emplace_back();
    in.emplace_back();
    for (int64_t k = random.Int(0, 3); k > 0; --k) {
      const char c = letters[random.Int(0, 3)];
      const bool again = terms[i].find(c) != std::string::npos;
      // One that gives way to another operand's size.
      const bool narrow = !again && random.Int(0, 6) == 0;
      const int64_t dim =
          again ? in[i][terms[i].find(c)] : (narrow ? 1 : dims[c]);
      terms[i].push_back(c);
      in[i].push_back(dim);
      if (used.find(c) == std::string::npos) used.push_back(c);
    }
  }
  std::string equation;
  for (int64_t i = 0; i < count; ++i) {
    absl::StrAppend(&equation, i > 0 ? "," : "", terms[i]);
  }
  std::string out;
  if (random.Int(0, 3) == 0) {
    // What is not said: the letters that stand once, in their order.
    std::map<char, int> times;
    for (const std::string& term : terms) {
      for (const char c : term) ++times[c];
    }
    for (const auto& [c, n] : times) {
      if (n == 1) out.push_back(c);
    }
  } else {
    for (const char c : used) {
      if (random.Bool()) out.insert(out.begin() + random.Int(0, out.size()), c);
    }
    absl::StrAppend(&equation, random.Bool() ? "->" : " -> ", out);
  }
  return EinsumOf(equation, std::move(in), terms, out);
}

}  // namespace reprise
