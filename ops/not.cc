// Not: BOOL operand and result, no gradient.
// Tested by tests/ops/compare_test.cc.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/op.h"
#include "ops/lib/unary.h"

namespace reprise {
namespace {

ElementLoop Loop(DType dtype, const Attrs&) {
  if (dtype != DType::kBool) return nullptr;
  return LoopOver<uint8_t>([](uint8_t x) -> uint8_t { return x == 0 ? 1 : 0; });
}

}  // namespace

std::vector<OpDef> NotOps() {
  ElementwiseSpec spec;
  spec.name = "Not";
  spec.loop = Loop;
  return {ElementwiseOp(std::move(spec))};
}

}  // namespace reprise
