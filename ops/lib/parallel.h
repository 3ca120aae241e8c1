// Loops shared among threads, in chunks that depend on nothing but the numbers
// passed: the same call splits the same way on every run.

#ifndef OPS_LIB_PARALLEL_H_
#define OPS_LIB_PARALLEL_H_

#include <algorithm>
#include <cstdint>

namespace reprise {

// Elements below which a thread costs more than it brings (a few microseconds
// of a streaming loop).
inline constexpr int64_t kElementsPerThread = int64_t{1} << 15;

// Returns into how many chunks `ParallelFor` splits.
inline int NumChunks(int threads, int64_t n, int64_t grain) {
  return static_cast<int>(std::clamp<int64_t>(n / grain, 1, threads));
}

// Calls f(begin, end) for chunks that partition [0, n), one per thread.
//
//   grain: items for which one more thread pays off, at least 1.
template <class F>
void ParallelFor(int threads, int64_t n, int64_t grain, const F& f) {
  if (n <= 0) return;
  const int chunks = NumChunks(threads, n, grain);
  if (chunks == 1) {
    f(int64_t{0}, n);
    return;
  }
#pragma omp parallel for num_threads(chunks) schedule(static, 1)
  for (int c = 0; c < chunks; ++c) {
    f(n * c / chunks, n * (c + 1) / chunks);
  }
}

// Returns the grain of loops whose items each cost `elements_per_item`.
inline int64_t GrainOf(int64_t elements_per_item) {
  return std::max<int64_t>(
      1, kElementsPerThread / std::max<int64_t>(1, elements_per_item));
}

}  // namespace reprise

#endif  // OPS_LIB_PARALLEL_H_
