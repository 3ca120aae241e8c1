#include "ops/lib/indexed_kernels.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "ops/lib/parallel.h"

namespace reprise {
namespace {

// Columns of a slice that are worth a thread.
constexpr int64_t kColumnsPerThread = 16;

// Calls f(item, slice number) for every item in order; threads own slices.
template <class I, class F>
void ForEachItemOfSlices(const IndexedCall& call, const I* indices,
                         const F& f) {
  const SliceIndex& index = call.index;
  const int64_t items = index.num_items();
  const int64_t slices = index.num_slices();
  const int64_t per_slice =
      items * index.slice() / std::max<int64_t>(1, slices);
  ParallelFor(call.threads, slices, GrainOf(per_slice),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = 0; i < items; ++i) {
                  const int64_t number = index.SliceOf(indices, i);
                  if (number >= begin && number < end) f(i, number);
                }
              });
}

// Calls f(item, slice number, first column, end column) for every item in
// order; threads own columns, or slices.
template <class I, class F>
void ForEachItem(const IndexedCall& call, const I* indices, const F& f) {
  const SliceIndex& index = call.index;
  const int64_t slice = index.slice();
  if (slice < kColumnsPerThread * call.threads) {
    ForEachItemOfSlices(call, indices, [&](int64_t item, int64_t number) {
      f(item, number, int64_t{0}, slice);
    });
    return;
  }
  ParallelFor(call.threads, slice, GrainOf(index.num_items()),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = 0; i < index.num_items(); ++i) {
                  const int64_t number = index.SliceOf(indices, i);
                  if (number >= 0) f(i, number, begin, end);
                }
              });
}

// Calls f(begin, end) for ranges of n elements.
template <class F>
void ForElements(const IndexedCall& call, int64_t n, const F& f) {
  ParallelFor(call.threads, n, kElementsPerThread, f);
}

// `last`: by slice the only item that gets it; nullptr: all do. `missing`: what
// the others get, if they are floats; zeros for integers.
template <class I>
void GatherItems(const IndexedCall& call, const Buffers& b, const int64_t* last,
                 float missing) {
  const char* data = static_cast<const char*>(b.in[0]);
  const I* indices = static_cast<const I*>(b.in[1]);
  char* y = static_cast<char*>(b.out[0]);
  const SliceIndex& index = call.index;
  const int64_t slice = index.slice();
  const int64_t bytes = slice * SizeOf(call.element);
  if (bytes == 0) return;
  ParallelFor(call.threads, index.num_items(), GrainOf(slice),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t number = index.SliceOf(indices, i);
                  char* to = y + i * bytes;
                  if (number >= 0 && (last == nullptr || last[number] == i)) {
                    std::memcpy(to, data + number * bytes,
                                static_cast<size_t>(bytes));
                  } else if (call.element == DType::kF32) {
                    std::fill_n(reinterpret_cast<float*>(to), slice, missing);
                  } else {
                    std::memset(to, 0, static_cast<size_t>(bytes));
                  }
                }
              });
}

template <class I>
Kernel Gather(const IndexedCall& call) {
  return Kernel{[call](const Buffers& b) {
    GatherItems<I>(call, b, nullptr, std::numeric_limits<float>::quiet_NaN());
  }};
}

// Where updates overwrite each other the last one of each slice gets the
// gradient; the scratchpad says which item that is.
template <class I>
Kernel UpdateGrad(const IndexedCall& call) {
  return Kernel{[call](const Buffers& b) {
    int64_t* last = nullptr;
    if (call.reduction == ScatterReduction::kNone) {
      last = static_cast<int64_t*>(b.scratchpad);
      ForEachItemOfSlices(
          call, static_cast<const I*>(b.in[1]),
          [last](int64_t item, int64_t number) { last[number] = item; });
    }
    GatherItems<I>(call, b, last, 0.0f);
  }};
}

template <class I>
Kernel GatherGrad(const IndexedCall& call) {
  return Kernel{[call](const Buffers& b) {
    const I* indices = static_cast<const I*>(b.in[0]);
    const float* dy = static_cast<const float*>(b.in[1]);
    float* ddata = static_cast<float*>(b.out[0]);
    const int64_t slice = call.index.slice();
    ForElements(call, call.index.num_slices() * slice,
                [ddata](int64_t begin, int64_t end) {
                  std::fill(ddata + begin, ddata + end, 0.0f);
                });
    ForEachItem(call, indices,
                [&](int64_t item, int64_t number, int64_t begin, int64_t end) {
                  const float* from = dy + item * slice;
                  float* to = ddata + number * slice;
                  for (int64_t j = begin; j < end; ++j) to[j] += from[j];
                });
  }};
}

// How an update of type T meets what is there. Integers wrap around, NaN beats
// every number.
template <class T>
T Meet(ScatterReduction reduction, T old, T update) {
  switch (reduction) {
    case ScatterReduction::kNone:
      return update;
    case ScatterReduction::kAdd:
      return old + update;
    case ScatterReduction::kMul:
      return old * update;
    case ScatterReduction::kMax:
      return update > old || update != update ? update : old;
    case ScatterReduction::kMin:
      return update < old || update != update ? update : old;
  }
  return update;
}

// T: of comparisons; U: of sums and products.
template <class I, class T, class U>
Kernel Scatter(const IndexedCall& call) {
  return Kernel{[call](const Buffers& b) {
    const I* indices = static_cast<const I*>(b.in[1]);
    const T* updates = static_cast<const T*>(b.in[2]);
    T* y = static_cast<T*>(b.out[0]);
    const int64_t slice = call.index.slice();
    if (b.in[0] != b.out[0]) {
      const T* data = static_cast<const T*>(b.in[0]);
      ForElements(call, call.index.num_slices() * slice,
                  [data, y](int64_t begin, int64_t end) {
                    std::copy(data + begin, data + end, y + begin);
                  });
    }
    const ScatterReduction reduction = call.reduction;
    const bool wraps = reduction == ScatterReduction::kAdd ||
                       reduction == ScatterReduction::kMul;
    ForEachItem(call, indices,
                [&](int64_t item, int64_t number, int64_t begin, int64_t end) {
                  const T* from = updates + item * slice;
                  T* to = y + number * slice;
                  for (int64_t j = begin; j < end; ++j) {
                    to[j] = wraps ? static_cast<T>(
                                        Meet(reduction, static_cast<U>(to[j]),
                                             static_cast<U>(from[j])))
                                  : Meet(reduction, to[j], from[j]);
                  }
                });
  }};
}

template <class I>
Kernel ScatterAs(const IndexedCall& call) {
  switch (call.element) {
    case DType::kF32:
      return Scatter<I, float, float>(call);
    case DType::kI32:
      return Scatter<I, int32_t, uint32_t>(call);
    case DType::kI64:
      return Scatter<I, int64_t, uint64_t>(call);
    default:
      return Scatter<I, uint8_t, uint8_t>(call);
  }
}

// The scratchpad holds for each element of data a float and an integer: of mul
// the product of the updates that are not 0 and the number of those that are,
// of max and min the number of operands that equal y.
template <class I>
Kernel ScatterGrad(const IndexedCall& call) {
  return Kernel{[call](const Buffers& b) {
    const float* data = static_cast<const float*>(b.in[0]);
    const I* indices = static_cast<const I*>(b.in[1]);
    const float* updates = static_cast<const float*>(b.in[2]);
    const float* y = static_cast<const float*>(b.in[3]);
    const float* dy = static_cast<const float*>(b.in[4]);
    float* ddata = static_cast<float*>(b.out[0]);
    float* dupdates = static_cast<float*>(b.out[1]);
    const int64_t slice = call.index.slice();
    const int64_t n = call.index.num_slices() * slice;
    float* product = static_cast<float*>(b.scratchpad);
    int32_t* count = static_cast<int32_t*>(b.scratchpad) + n;
    const bool mul = call.reduction == ScatterReduction::kMul;
    ForElements(call, n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        product[i] = 1;
        count[i] = !mul && data[i] == y[i] ? 1 : 0;
      }
    });
    ForEachItem(call, indices,
                [&](int64_t item, int64_t number, int64_t begin, int64_t end) {
                  for (int64_t j = begin; j < end; ++j) {
                    const float update = updates[item * slice + j];
                    const int64_t at = number * slice + j;
                    if (mul && update != 0) {
                      product[at] *= update;
                    } else if (mul || update == y[at]) {
                      ++count[at];
                    }
                  }
                });
    if (dupdates != nullptr) {
      ParallelFor(call.threads, call.index.num_items(), GrainOf(slice),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t item = begin; item < end; ++item) {
                      const int64_t number = call.index.SliceOf(indices, item);
                      for (int64_t j = 0; j < slice; ++j) {
                        float& to = dupdates[item * slice + j];
                        to = 0;
                        if (number < 0) continue;
                        const float update = updates[item * slice + j];
                        const int64_t at = number * slice + j;
                        if (!mul) {
                          if (update == y[at]) {
                            to = dy[at] / static_cast<float>(count[at]);
                          }
                          continue;
                        }
                        // Of all updates but this one.
                        if (count[at] == 0) {
                          to = dy[at] * data[at] * (product[at] / update);
                        } else if (count[at] == 1 && update == 0) {
                          to = dy[at] * data[at] * product[at];
                        }
                      }
                    }
                  });
    }
    if (ddata == nullptr) return;
    ForElements(call, n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (mul) {
          ddata[i] = count[i] == 0 ? dy[i] * product[i] : 0.0f;
        } else {
          ddata[i] =
              data[i] == y[i] ? dy[i] / static_cast<float>(count[i]) : 0.0f;
        }
      }
    });
  }};
}

}  // namespace

Kernel GatherSlicesKernel(const IndexedCall& call) {
  return call.indices == DType::kI32 ? Gather<int32_t>(call)
                                     : Gather<int64_t>(call);
}

Kernel ScatterUpdateGradKernel(const IndexedCall& call) {
  return call.indices == DType::kI32 ? UpdateGrad<int32_t>(call)
                                     : UpdateGrad<int64_t>(call);
}

int64_t ScatterUpdateGradScratchpad(const IndexedCall& call) {
  return call.reduction == ScatterReduction::kNone ? call.index.num_slices() * 8
                                                   : 0;
}

Kernel GatherSlicesGradKernel(const IndexedCall& call) {
  return call.indices == DType::kI32 ? GatherGrad<int32_t>(call)
                                     : GatherGrad<int64_t>(call);
}

Kernel ScatterSlicesKernel(const IndexedCall& call) {
  return call.indices == DType::kI32 ? ScatterAs<int32_t>(call)
                                     : ScatterAs<int64_t>(call);
}

Kernel ScatterSlicesGradKernel(const IndexedCall& call) {
  return call.indices == DType::kI32 ? ScatterGrad<int32_t>(call)
                                     : ScatterGrad<int64_t>(call);
}

int64_t ScatterSlicesGradScratchpad(const IndexedCall& call) {
  return call.index.num_slices() * call.index.slice() * 8;
}

}  // namespace reprise
