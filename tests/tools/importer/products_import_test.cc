// Einsum and Attention of ONNX, run and compared with their definitions in
// double.

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tools/importer/imported_run.h"

namespace reprise {
namespace {

struct EinsumCase {
  std::string equation;
  std::string spelled_out;  // without "..." and with a result
  std::map<char, int64_t> sizes;
};

std::vector<std::string> Terms(const std::string& equation, size_t arrow) {
  std::vector<std::string> terms(1);
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  return terms;
}

Dims DimsOf(const std::string& term, const std::map<char, int64_t>& sizes) {
  Dims dims;
  for (const char c : term) dims.push_back(sizes.at(c));
  return dims;
}

int64_t IndexOf(const std::string& term, const std::map<char, int64_t>& sizes,
                const std::map<char, int64_t>& at) {
  int64_t index = 0;
  for (const char c : term) index = index * sizes.at(c) + at.at(c);
  return index;
}

// The sum, over all values of all letters, of the product of the operands.
void ExpectEinsum(const EinsumCase& c) {
  SCOPED_TRACE(c.equation);
  const size_t arrow = c.spelled_out.find("->");
  const std::vector<std::string> terms = Terms(c.spelled_out, arrow);
  const std::string result = c.spelled_out.substr(arrow + 2);
  OnnxBuilder builder(12);
  std::vector<std::string> names;
  std::vector<Array> inputs;
  std::vector<std::vector<float>> operands;
  for (const std::string& term : terms) {
    const Dims dims = DimsOf(term, c.sizes);
    names.push_back(absl::StrCat("x", names.size()));
    builder.Input(names.back(), DimNames(dims));
    operands.push_back(
        Wave(Product(dims), 0.3 * static_cast<double>(names.size())));
    inputs.push_back(FloatArray(dims, operands.back()));
  }
  builder.Output("y");
  OnnxBuilder::String(builder.Node("Einsum", names, {"y"}), "equation",
                      c.equation);
  const Dims y_dims = DimsOf(result, c.sizes);
  std::vector<double> want(Product(y_dims), 0);
  std::map<char, int64_t> at;
  int64_t points = 1;
  for (const auto& [letter, size] : c.sizes) points *= size;
  for (int64_t point = 0; point < points; ++point) {
    int64_t rest = point;
    for (const auto& [letter, size] : c.sizes) {
      at[letter] = rest % size;
      rest /= size;
    }
    double product = 1;
    for (size_t i = 0; i < terms.size(); ++i) {
      product *= operands[i][IndexOf(terms[i], c.sizes, at)];
    }
    want[IndexOf(result, c.sizes, at)] += product;
  }
  const absl::StatusOr<std::vector<Array>> got = RunImported(builder, inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectDefinition("y", (*got)[0], y_dims, want);
}

TEST(EinsumImportTest, IsTheSumOfProductsThatItsEquationSays) {
  const std::vector<EinsumCase> cases = {
      {"ij->ji", "ij->ji", {{'i', 3}, {'j', 4}}},
      {"ij->i", "ij->i", {{'i', 3}, {'j', 4}}},
      {"ii->i", "ii->i", {{'i', 4}}},
      {"i,i", "i,i->", {{'i', 6}}},
      {"i,j->ij", "i,j->ij", {{'i', 3}, {'j', 4}}},
      {"bij, bjk -> bik",
       "bij,bjk->bik",
       {{'b', 2}, {'i', 3}, {'j', 4}, {'k', 5}}},
      {"ij,jk,kl->il",
       "ij,jk,kl->il",
       {{'i', 2}, {'j', 3}, {'k', 4}, {'l', 5}}},
      {"bhqd,bhkd->bhqk",
       "bhqd,bhkd->bhqk",
       {{'b', 2}, {'h', 2}, {'q', 3}, {'k', 4}, {'d', 5}}},
      // Letters of an implicit result come in the order of the alphabet.
      {"kj,ji", "kj,ji->ik", {{'i', 2}, {'j', 3}, {'k', 4}}},
      {"...ij,...jk->...ik",
       "abij,abjk->abik",
       {{'a', 2}, {'b', 3}, {'i', 2}, {'j', 3}, {'k', 4}}},
  };
  for (const EinsumCase& c : cases) ExpectEinsum(c);
}

TEST(EinsumImportTest, AnEquationThatDoesNotFitIsRefused) {
  OnnxBuilder builder(12);
  builder.Input("a", {"2", "3"}).Input("b", {"2", "3"}).Output("y");
  OnnxBuilder::String(builder.Node("Einsum", {"a", "b"}, {"y"}), "equation",
                      "ij,jk->ik");
  ExpectNotImported(builder, "Einsum");
}

struct AttentionCase {
  int64_t heads = 2;
  int64_t kv_heads = 2;
  bool packed = false;  // rank 3
  bool causal = false;
  bool mask = false;  // floats, for each query and key
  float scale = 0;    // 0: not said
  float softcap = 0;  // 0: not said
};

constexpr int64_t kBatch = 2;
constexpr int64_t kQueries = 3;
constexpr int64_t kKeys = 4;
constexpr int64_t kSize = 5;
constexpr int64_t kValueSize = 3;

// Element [batch, head, row, column] of heads side by side, or of rank 4.
int64_t At(bool packed, int64_t heads, int64_t rows, int64_t size, int64_t b,
           int64_t h, int64_t row, int64_t column) {
  return packed ? ((b * rows + row) * heads + h) * size + column
                : ((b * heads + h) * rows + row) * size + column;
}

Dims HeadDims(bool packed, int64_t heads, int64_t rows, int64_t size) {
  return packed ? Dims{kBatch, rows, heads * size}
                : Dims{kBatch, heads, rows, size};
}

void ExpectAttention(const AttentionCase& c) {
  SCOPED_TRACE(absl::StrCat("heads ", c.heads, " of ", c.kv_heads,
                            c.packed ? ", packed" : "",
                            c.causal ? ", causal" : "", c.mask ? ", mask" : "",
                            ", scale ", c.scale, ", softcap ", c.softcap));
  const Dims q_dims = HeadDims(c.packed, c.heads, kQueries, kSize);
  const Dims k_dims = HeadDims(c.packed, c.kv_heads, kKeys, kSize);
  const Dims v_dims = HeadDims(c.packed, c.kv_heads, kKeys, kValueSize);
  const Dims mask_dims = {kQueries, kKeys};
  const std::vector<float> q = Wave(Product(q_dims), 0.1);
  const std::vector<float> k = Wave(Product(k_dims), 0.2);
  const std::vector<float> v = Wave(Product(v_dims), 0.3);
  const std::vector<float> mask = Wave(Product(mask_dims), 0.4);
  OnnxBuilder builder(23);
  builder.Input("q", DimNames(q_dims)).Input("k", DimNames(k_dims));
  builder.Input("v", DimNames(v_dims)).Output("y");
  std::vector<std::string> in = {"q", "k", "v"};
  std::vector<Array> inputs = {FloatArray(q_dims, q), FloatArray(k_dims, k),
                               FloatArray(v_dims, v)};
  if (c.mask) {
    builder.Input("mask", DimNames(mask_dims));
    in.push_back("mask");
    inputs.push_back(FloatArray(mask_dims, mask));
  }
  onnx::NodeProto& node = builder.Node("Attention", in, {"y"});
  if (c.packed) {
    OnnxBuilder::Int(node, "q_num_heads", c.heads);
    OnnxBuilder::Int(node, "kv_num_heads", c.kv_heads);
  }
  if (c.causal) OnnxBuilder::Int(node, "is_causal", 1);
  if (c.scale > 0) OnnxBuilder::Float(node, "scale", c.scale);
  if (c.softcap > 0) OnnxBuilder::Float(node, "softcap", c.softcap);

  const Dims y_dims = HeadDims(c.packed, c.heads, kQueries, kValueSize);
  std::vector<double> want(Product(y_dims));
  const double scale =
      c.scale > 0 ? c.scale : 1 / std::sqrt(static_cast<double>(kSize));
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t h = 0; h < c.heads; ++h) {
      const int64_t kv = h / (c.heads / c.kv_heads);
      for (int64_t row = 0; row < kQueries; ++row) {
        std::vector<double> weights(kKeys, 0);
        double sum = 0;
        for (int64_t key = 0; key < kKeys; ++key) {
          double score = 0;
          for (int64_t i = 0; i < kSize; ++i) {
            score +=
                static_cast<double>(
                    q[At(c.packed, c.heads, kQueries, kSize, b, h, row, i)]) *
                k[At(c.packed, c.kv_heads, kKeys, kSize, b, kv, key, i)];
          }
          score *= scale;
          if (c.mask) score += mask[row * kKeys + key];
          if (c.softcap > 0) score = c.softcap * std::tanh(score / c.softcap);
          if (c.causal && key > row) continue;
          weights[key] = std::exp(score);
          sum += weights[key];
        }
        for (int64_t i = 0; i < kValueSize; ++i) {
          double y = 0;
          for (int64_t key = 0; key < kKeys; ++key) {
            y += weights[key] / sum *
                 v[At(c.packed, c.kv_heads, kKeys, kValueSize, b, kv, key, i)];
          }
          want[At(c.packed, c.heads, kQueries, kValueSize, b, h, row, i)] = y;
        }
      }
    }
  }
  const absl::StatusOr<std::vector<Array>> got = RunImported(builder, inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectDefinition("y", (*got)[0], y_dims, want);
}

TEST(AttentionImportTest, IsASoftmaxOverScaledAndMaskedProducts) {
  for (const bool packed : {false, true}) {
    AttentionCase c;
    c.packed = packed;
    ExpectAttention(c);
    c.mask = true;
    ExpectAttention(c);
    c.causal = true;
    ExpectAttention(c);
    c.scale = 0.7f;
    ExpectAttention(c);
    // Four heads of queries, two of keys.
    c.heads = 4;
    ExpectAttention(c);
  }
}

TEST(AttentionImportTest, ScoresMayBeCapped) {
  AttentionCase c;
  c.softcap = 0.5f;
  ExpectAttention(c);
}

TEST(AttentionImportTest, WhatIsNotSupportedIsRefused) {
  OnnxBuilder builder(23);
  const Dims dims = {1, 1, 2, 3};
  for (const char* const name : {"q", "k", "v"}) {
    builder.Input(name, DimNames(dims));
  }
  builder.Output("y");
  onnx::NodeProto& node = builder.Node("Attention", {"q", "k", "v"}, {"y"});
  OnnxBuilder::Int(node, "qk_matmul_output_mode", 1);
  ExpectNotImported(builder, "'qk_matmul_output_mode' must be 0, got 1");
}

}  // namespace
}  // namespace reprise
