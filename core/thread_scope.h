// The threads that kernels run on, for as long as a scope lives.

#ifndef CORE_THREAD_SCOPE_H_
#define CORE_THREAD_SCOPE_H_

namespace reprise {

// Sets the calling thread's OpenMP thread count and gives the caller's back.
// oneDNN reads the count when it describes, builds and runs.
class ThreadCountScope {
 public:
  explicit ThreadCountScope(int threads);
  ~ThreadCountScope();
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;

 private:
  int saved_threads_;
};

// Besides, makes the threads flush denormals to zero (a matmul on denormals is
// 240 times slower) and gives every thread its own setting back.
class KernelThreadScope {
 public:
  explicit KernelThreadScope(int threads);
  ~KernelThreadScope();
  KernelThreadScope(const KernelThreadScope&) = delete;
  KernelThreadScope& operator=(const KernelThreadScope&) = delete;

 private:
  static constexpr int kMaxSaved = 256;

  ThreadCountScope count_;
  int threads_;
  unsigned saved_modes_[kMaxSaved];
};

}  // namespace reprise

#endif  // CORE_THREAD_SCOPE_H_
