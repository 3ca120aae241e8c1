// Promise 1: no allocation of 16 KiB or more happens inside a step.
//
// malloc and its kin are replaced by functions that count before they call the
// C library's own, so that what oneDNN and OpenMP take is seen as well.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tests/testing/instances.h"
#include "tests/testing/plan_oracle.h"

namespace {

constexpr size_t kLarge = 16 * 1024;

std::atomic<bool> counting{false};
std::atomic<long> num_large{0};
std::atomic<size_t> largest{0};

// The sanitizers have allocators of their own, which may not be replaced.
#ifndef REPRISE_SANITIZED
void Count(size_t bytes) {
  if (!counting.load(std::memory_order_relaxed)) return;
  size_t seen = largest.load(std::memory_order_relaxed);
  while (bytes > seen && !largest.compare_exchange_weak(seen, bytes)) {
  }
  if (bytes >= kLarge) num_large.fetch_add(1, std::memory_order_relaxed);
}
#endif

}  // namespace

#ifndef REPRISE_SANITIZED
// glibc's own entry points; present in every glibc.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  Count(bytes);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  Count(count * bytes);
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  Count(bytes);
  return __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  Count(bytes);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  Count(bytes);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  Count(bytes);
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? 12 /* ENOMEM */ : 0;
}
}  // extern "C"
#endif

namespace reprise {
namespace {

TEST(AllocationTest, TheCounterSeesALargeAllocation) {
#ifdef REPRISE_SANITIZED
  GTEST_SKIP() << "the sanitizer's allocator cannot be watched";
#endif
  counting = true;
  num_large = 0;
  void* volatile block = malloc(kLarge);
  free(block);
  counting = false;
  EXPECT_EQ(num_large.load(), 1);
}

// At sizes where a hidden buffer of a kernel would be far above 16 KiB.
TEST(AllocationTest, NoExampleAllocatesSixteenKibibytesInsideAStep) {
#ifdef REPRISE_SANITIZED
  GTEST_SKIP() << "the sanitizer's allocator cannot be watched";
#endif
  struct Example {
    std::string file;
    int64_t batch;
    int64_t index_limit;
  };
  for (const Example& example :
       {Example{"lesson", 512, 1}, Example{"digits_mlp", 256, 10},
        Example{"mnist_cnn", 32, 10}, Example{"char_transformer", 4, 256},
        Example{"deep_mlp", 64, 10}}) {
    for (const int threads : {1, 2}) {
      const absl::StatusOr<proto::Graph> graph =
          ReadGraphFile(absl::StrCat("examples/", example.file, ".textproto"));
      ASSERT_TRUE(graph.ok()) << graph.status();
      TrainerOptions options;
      options.threads = threads;
      options.symbols = {{"batch", example.batch}};
      absl::StatusOr<PlannedTrainer> planned =
          PlanTrainer(*graph, ConfigOf("adamw", 1e-3f), options);
      ASSERT_TRUE(planned.ok()) << planned.status();
      int64_t library_heap_bytes = 0;
      for (const PlanReport& report : planned->reports) {
        library_heap_bytes =
            std::max(library_heap_bytes, report.library_heap_bytes);
      }
      absl::StatusOr<std::unique_ptr<Trainer>> trainer =
          Trainer::Create(std::move(planned->plan));
      ASSERT_TRUE(trainer.ok()) << trainer.status();
      absl::StatusOr<Pass*> evaluate = (*trainer)->Find(PlanMode::kEvaluate);
      ASSERT_TRUE(evaluate.ok()) << evaluate.status();
      FillInputs((*trainer)->next(), 1, example.index_limit);
      // The first region of a thread pool allocates the pool.
      ASSERT_TRUE((*trainer)->Step().ok());
      num_large = 0;
      largest = 0;
      for (int step = 0; step < 2; ++step) {
        FillInputs((*trainer)->next(), 1, example.index_limit);
        counting = true;
        const absl::Status stepped = (*trainer)->Step();
        counting = false;
        ASSERT_TRUE(stepped.ok()) << stepped;
        FillInputs(**evaluate, 1, example.index_limit);
        counting = true;
        const absl::Status evaluated = (*trainer)->Run(**evaluate);
        counting = false;
        ASSERT_TRUE(evaluated.ok()) << evaluated;
      }
      if (library_heap_bytes > 0) {
        std::printf("%s: library_heap_bytes %lld on this CPU, not counted\n",
                    example.file.c_str(),
                    static_cast<long long>(library_heap_bytes));
        continue;
      }
      EXPECT_EQ(num_large.load(), 0)
          << example.file << " with " << threads << " threads: the largest has "
          << largest.load() << " bytes";
    }
  }
}

}  // namespace
}  // namespace reprise
