// What this process holds, as the system and the allocator count it.

#ifndef CORE_PROCESS_MEMORY_H_
#define CORE_PROCESS_MEMORY_H_

#include <cstdint>

namespace reprise {

// Returns the heap in use, in bytes, as the allocator counts it.
int64_t HeapBytes();

// Returns the bytes that count against a limit of the whole process: its
// address space if that is limited (RLIMIT_AS), otherwise what is resident; 0
// where the system does not tell.
int64_t ProcessBytes();

}  // namespace reprise

#endif  // CORE_PROCESS_MEMORY_H_
