// Or with broadcasting: BOOL operands and result, no gradient.
// Tested by tests/ops/compare_test.cc.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/broadcast.h"

namespace reprise {
namespace {

RowLoop Loop(DType dtype) {
  if (dtype != DType::kBool) return nullptr;
  return ScalarRowLoop<uint8_t>(
      [](uint8_t a, uint8_t b) -> uint8_t { return a | b; });
}

}  // namespace

std::vector<OpDef> OrOps() {
  BinarySpec spec;
  spec.name = "Or";
  spec.loop = Loop;
  return {BinaryOp(std::move(spec))};
}

}  // namespace reprise
