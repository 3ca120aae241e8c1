// The one block of memory that tensors live in.

#ifndef CORE_ARENA_MEMORY_H_
#define CORE_ARENA_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"

namespace reprise {

// Pages taken from the system and given back to it directly, so that a smaller
// arena really is memory for somebody else.
class ArenaMemory {
 public:
  ArenaMemory() = default;
  ~ArenaMemory();
  ArenaMemory(const ArenaMemory&) = delete;
  ArenaMemory& operator=(const ArenaMemory&) = delete;

  // Makes the block `bytes` long. The content up to the smaller of both sizes
  // stays, what is new is zero; the address may change.
  //
  //   bytes:  at least 1.
  //   errors: ResourceExhausted with the bytes; nothing is changed then.
  absl::Status Resize(int64_t bytes);

  // Aligned to a page.
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  int64_t bytes_ = 0;  // whole pages
};

}  // namespace reprise

#endif  // CORE_ARENA_MEMORY_H_
