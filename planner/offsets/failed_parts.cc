// A set of hashes without keys: two parts of one hash of 128 bits are taken for
// one. Tested by tests/planner/offset_search_test.cc.

#include "planner/offsets/failed_parts.h"

#include <algorithm>

namespace reprise {
namespace {

// More parts than that (1 GiB) are not remembered.
constexpr size_t kMaxFailedParts = size_t{1} << 25;

bool IsSet(const PartHash& slot) { return slot.low != 0 || slot.high != 0; }

}  // namespace

bool FailedParts::Contains(const PartHash& hash) const {
  return size_ > 0 && IsSet(slots_[Find(hash)]);
}

void FailedParts::Insert(const PartHash& hash) {
  if (size_ >= kMaxFailedParts) return;
  if (2 * (size_ + 1) > slots_.size()) Grow();
  PartHash& slot = slots_[Find(hash)];
  if (!IsSet(slot)) ++size_;
  slot = hash;
}

void FailedParts::Clear() {
  slots_.clear();
  size_ = 0;
}

size_t FailedParts::Find(const PartHash& hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = static_cast<size_t>(hash.low) & mask;
  while (IsSet(slots_[slot]) &&
         (slots_[slot].low != hash.low || slots_[slot].high != hash.high)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void FailedParts::Grow() {
  std::vector<PartHash> old(std::max<size_t>(1024, 2 * slots_.size()));
  old.swap(slots_);
  for (const PartHash& hash : old) {
    if (IsSet(hash)) slots_[Find(hash)] = hash;
  }
}

}  // namespace reprise
