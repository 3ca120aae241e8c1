#include "core/arena_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

constexpr int64_t kLargePage = int64_t{2} << 20;

}  // namespace

ArenaMemory::~ArenaMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

absl::Status ArenaMemory::Resize(int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t whole = (bytes + page - 1) / page * page;
  if (whole == bytes_) return absl::OkStatus();
  void* const block =
      data_ == nullptr
          ? mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, /*offset=*/0)
          : mremap(data_, bytes_, whole, MREMAP_MAYMOVE);
  if (block == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the arena's ", bytes, " bytes cannot be allocated"));
  }
  // Kernels walk columns of matrices, a page a row: large pages, where the
  // system has them, save most of the address translation. A hint that fails
  // changes nothing.
  if (whole >= kLargePage) madvise(block, whole, MADV_HUGEPAGE);
  data_ = static_cast<char*>(block);
  bytes_ = whole;
  return absl::OkStatus();
}

}  // namespace reprise
