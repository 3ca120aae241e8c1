// The rules that random operators are drawn from.

#ifndef TESTS_TESTING_RANDOM_RULES_H_
#define TESTS_TESTING_RANDOM_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/testing/random_pool.h"

namespace reprise {

// Adds nodes of one operator, or of a few that need each other.
using RandomRule = void (*)(RandomPool&);

// Comparisons, logic, choices and elementary functions.
std::vector<RandomRule> MathRules();

// Layers of networks, in random_layer_ops.cc. `op`: the operator's name, where
// several have the same rule.
void MatMul(RandomPool& g);
void Gemm(RandomPool& g);
void Einsum(RandomPool& g);
void Conv(RandomPool& g);
void ConvTranspose(RandomPool& g);
void Pool(RandomPool& g, const std::string& op);
void DilatedPool(RandomPool& g, const std::string& op);
void GlobalPool(RandomPool& g, const std::string& op);
void Resize(RandomPool& g);
void BatchNormalization(RandomPool& g);
void LayerNormalization(RandomPool& g);
void Softmax(RandomPool& g, const std::string& op);
void Dropout(RandomPool& g);
void Attention(RandomPool& g);
// `gates`: rows of a weight for each hidden element.
void Recurrent(RandomPool& g, const std::string& op, int64_t gates);

// What moves or picks elements, in random_shape_ops.cc: other dims, another
// order, parts, copies, elements by index or by rank.
void Reshape(RandomPool& g);
void Flatten(RandomPool& g);
void Unsqueeze(RandomPool& g);
void Squeeze(RandomPool& g);
void Transpose(RandomPool& g);
void SpaceToDepth(RandomPool& g);  // and DepthToSpace
void Concat(RandomPool& g);
void Split(RandomPool& g);
void Slice(RandomPool& g);
void Trilu(RandomPool& g);
void Pad(RandomPool& g);
void Tile(RandomPool& g);
void Expand(RandomPool& g);
void Gather(RandomPool& g);
void GatherByElements(RandomPool& g);
void GatherRows(RandomPool& g);
void ScatterByElements(RandomPool& g);
void ScatterRows(RandomPool& g);
void ArgExtreme(RandomPool& g, const std::string& op);
void TopK(RandomPool& g);

}  // namespace reprise

#endif  // TESTS_TESTING_RANDOM_RULES_H_
