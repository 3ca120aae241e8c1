#include "core/thread_scope.h"

#include <omp.h>

#include <algorithm>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace reprise {
namespace {

#if defined(__SSE2__)
// Flush-to-zero and denormals-are-zero of the MXCSR register.
constexpr unsigned kFlushDenormals = 0x8040;
unsigned GetMode() { return _mm_getcsr(); }
void SetMode(unsigned mode) { _mm_setcsr(mode); }
#else
constexpr unsigned kFlushDenormals = 0;
unsigned GetMode() { return 0; }
void SetMode(unsigned) {}
#endif

}  // namespace

ThreadCountScope::ThreadCountScope(int threads)
    : saved_threads_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}

ThreadCountScope::~ThreadCountScope() { omp_set_num_threads(saved_threads_); }

KernelThreadScope::KernelThreadScope(int threads)
    : count_(threads), threads_(std::min(threads, kMaxSaved)) {
  unsigned* const saved = saved_modes_;
  if (threads_ == 1) {
    saved[0] = GetMode();
    SetMode(saved[0] | kFlushDenormals);
    return;
  }
#pragma omp parallel num_threads(threads_)
  {
    const unsigned mode = GetMode();
    saved[omp_get_thread_num()] = mode;
    SetMode(mode | kFlushDenormals);
  }
}

KernelThreadScope::~KernelThreadScope() {
  const unsigned* const saved = saved_modes_;
  if (threads_ == 1) {
    SetMode(saved[0]);
    return;
  }
#pragma omp parallel num_threads(threads_)
  SetMode(saved[omp_get_thread_num()]);
}

}  // namespace reprise
