#include "core/process_memory.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace reprise {

int64_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

int64_t ProcessBytes() {
  // proc(5): pages of the address space, then resident pages.
  FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  long long size = 0;
  long long resident = 0;
  const int fields = std::fscanf(file, "%lld %lld", &size, &resident);
  std::fclose(file);
  if (fields != 2) return 0;
  struct rlimit limit;
  const bool limited =
      getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return (limited ? size : resident) * sysconf(_SC_PAGESIZE);
}

}  // namespace reprise
