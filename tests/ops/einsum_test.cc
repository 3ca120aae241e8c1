// What random cases do not show of Einsum.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ops/layer_cases.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

// The letters that the definition is given for what "..." stands for are A, B.
TEST(EinsumTest, AnEllipsisStandsForTheOtherAxes) {
  CheckCase(EinsumOf("...ij,...jk->...ik", {{2, 3, 2, 4}, {3, 4, 2}},
                     {"ABij", "Bjk"}, "ABik"),
            1);
  CheckCase(EinsumOf("...i,i...->...", {{2, 3}, {3, 2}}, {"Ai", "iA"}, "A"), 2);
  CheckCase(EinsumOf("i...", {{2, 3}}, {"iA"}, "Ai"), 3);
  CheckCase(EinsumOf("...->", {{2, 3}}, {"AB"}, ""), 4);
  CheckCase(EinsumOf("...,...->...", {{2, 1}, {2, 3}}, {"AB", "AB"}, "AB"), 5);
  CheckCase(EinsumOf("...ij->...", {{2, 3}}, {"ij"}, ""), 6);
}

TEST(EinsumTest, WhatNetworksUse) {
  // Scores and values of attention, a bilinear form, a trace, a diagonal.
  CheckCase(EinsumOf("bhid,bhjd->bhij", {{2, 2, 3, 4}, {2, 2, 5, 4}},
                     {"bhid", "bhjd"}, "bhij"),
            1);
  CheckCase(EinsumOf("bn,anm,bm->ba", {{2, 3}, {4, 3, 2}, {2, 2}},
                     {"bn", "anm", "bm"}, "ba"),
            2);
  CheckCase(EinsumOf("bii->b", {{2, 3, 3}}, {"bii"}, "b"), 3);
  CheckCase(EinsumOf("bii->bi", {{2, 3, 3}}, {"bii"}, "bi"), 4);
  CheckCase(EinsumOf("iii->i", {{3, 3, 3}}, {"iii"}, "i"), 5);
}

TEST(EinsumTest, RefusesWhatDoesNotFit) {
  const std::vector<TensorType> two = {F32({2, 3}), F32({3, 2})};
  const auto equation = [](const char* text) {
    return Attrs{{"equation", std::string(text)}};
  };
  ExpectRefused("Einsum", two, equation("ij->ij"),
                "has 1 terms, but there are 2 operands");
  ExpectRefused("Einsum", two, equation("ij,jkl->il"),
                "term 1 of 'ij,jkl->il' names 3 axes, got f32[3,2]");
  ExpectRefused("Einsum", two, equation("ij,ij->ij"),
                "equally long or 1, got 2 and 3");
  ExpectRefused("Einsum", {F32({2, 3})}, equation("ii->i"),
                "axes of one name must be equally long");
  ExpectRefused("Einsum", two, equation("ij,jk->iz"),
                "must name axes of operands, each once");
  ExpectRefused("Einsum", two, equation("ij,jk->ii"), "each once");
  ExpectRefused("Einsum", two, equation("i1,jk->i"), "got 'i1'");
  ExpectRefused("Einsum", two, equation("......,jk->j"), "at most one '...'");
  ExpectRefused("Einsum", two, equation("ij,jk->...i"),
                "'...' in its result only");
  ExpectRefused("Einsum", {I64({2, 3})}, equation("ij->i"),
                "operand must be f32");
}

}  // namespace
}  // namespace reprise
