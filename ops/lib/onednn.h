// The thin layer over oneDNN: the only place that knows its versions (2.6 and
// 3.x), what a Layout's format text means to it, and its exceptions.
//
// An operator makes a Session in `describe` and in `build`, creates the same
// primitive descriptor in both, and in `build` an Execution from it:
//
//   const onednn::Session session(env);
//   return onednn::Try("Reorder", [&]() -> absl::StatusOr<Kernel> {
//     ASSIGN_OR_RETURN(const onednn::Md from, onednn::Desc(type, layout));
//     ASSIGN_OR_RETURN(const onednn::Md to, onednn::Desc(type, new_layout));
//     const auto pd = onednn::ReorderDesc(session, from, to);
//     onednn::Execution reorder(session, dnnl::reorder(pd));
//     reorder.In(DNNL_ARG_FROM, 0, from);
//     reorder.Out(DNNL_ARG_TO, 0, to);
//     reorder.Scratchpad(pd.scratchpad_desc());
//     return Kernel{[reorder](const Buffers& b) { reorder.Run(b); }};
//   });

#ifndef OPS_LIB_ONEDNN_H_
#define OPS_LIB_ONEDNN_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/op.h"
#include "core/tensor_type.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace reprise {
namespace onednn {

using Md = dnnl::memory::desc;

// Primitives whose names differ between the versions.
#if DNNL_VERSION_MAJOR >= 3
using PoolingForward = dnnl::pooling_forward;
using PoolingBackward = dnnl::pooling_backward;
#else
using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;
#endif

// An engine, and the thread count for which primitives are created while the
// session lives: kernels and scratchpads depend on it.
class Session {
 public:
  explicit Session(const OpEnv& env);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const dnnl::engine& engine() const { return engine_; }

 private:
  dnnl::engine engine_;
  int caller_threads_;
};

// Returns oneDNN's element type; undef where it has none (i64, bool).
dnnl::memory::data_type DataType(DType dtype);

// Weights [o, i, ..] of a convolution in groups are [groups, o / groups, i, ..]
// to oneDNN. A layout of that tensor names the groups before the tag, such as
// "8:Abcde16a".
int64_t GroupsOf(const Layout& layout);  // 1 if it names none
Layout WithGroups(const Layout& layout, int64_t groups);
TensorType SplitGroups(const TensorType& weights, int64_t groups);

// Returns the descriptor of a tensor; a scalar has dims {1}.
//
//   errors: Internal if the format is no oneDNN tag of that rank;
//           Unimplemented if a dim exceeds 32 bits.
absl::StatusOr<Md> Desc(const TensorType& type, const Layout& layout);

// Returns the descriptor with which oneDNN is free to choose the layout. Throws
// dnnl::error if a dim exceeds 32 bits, as does StridedDesc.
Md AnyDesc(const TensorType& type);

// Returns the descriptor of a row-major tensor, dims and strides as given.
Md StridedDesc(DType dtype, const Dims& dims, const Dims& strides);

// Returns the layout that `md` describes: the first tag that describes it.
//
//   errors: Unimplemented if no tag does.
absl::StatusOr<Layout> LayoutOf(const Md& md);

// Returns the bytes of a tensor in a layout, padding included.
absl::StatusOr<int64_t> LayoutBytes(const TensorType& type,
                                    const Layout& layout);

// The bytes that a descriptor needs; 0 for an absent one.
inline int64_t BytesOf(const Md& md) {
  return static_cast<int64_t>(md.get_size());
}

// Whether `md` is absent, as a workspace that a primitive does not need.
bool IsAbsent(const Md& md);

// Returns attributes with the scratchpad handed over by the caller.
dnnl::primitive_attr UserScratchpad();

// Appends an activation with scale 1 to `ops`.
void AppendEltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha,
                   float beta);

// Whether an implementation is neither oneDNN's slow reference code nor one
// that takes heap inside execute (the "gemm" family, "brgemm" not included).
bool IsClean(absl::string_view implementation);

// Returns the heap that one execution takes by itself: 0 for clean kernels,
// otherwise an estimate of the packed copies that a gemm makes.
//
//   operand_bytes: the sum over the operands.
int64_t HiddenHeapBytes(absl::string_view implementation,
                        int64_t operand_bytes);

// Returns the status of an exception: Unimplemented if oneDNN has no kernel.
absl::Status StatusOfError(absl::string_view who, const dnnl::error& error);

template <class T>
struct WithoutStatus {
  using type = T;
};
template <class T>
struct WithoutStatus<absl::StatusOr<T>> {
  using type = T;
};

// Returns what `f` returns (a T or a StatusOr<T>), or the status of the
// exception that oneDNN threw in it.
template <class F>
auto Try(absl::string_view who, F&& f) -> absl::StatusOr<
    typename WithoutStatus<std::decay_t<decltype(f())>>::type> {
  try {
    return f();
  } catch (const dnnl::error& error) {
    return StatusOfError(who, error);
  }
}

// Returns the descriptor of a forward (or standalone) primitive P; `args` are
// those that follow the engine in oneDNN 3.
template <class P, class... Args>
typename P::primitive_desc ForwardDesc(const Session& session,
                                       const dnnl::primitive_attr& attr,
                                       const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename P::primitive_desc(session.engine(), args..., attr);
#else
  return typename P::primitive_desc(typename P::desc(args...), attr,
                                    session.engine());
#endif
}

// Likewise for a backward primitive with its forward descriptor.
template <class P, class Forward, class... Args>
typename P::primitive_desc BackwardDesc(const Session& session,
                                        const dnnl::primitive_attr& attr,
                                        const Forward& forward,
                                        const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename P::primitive_desc(session.engine(), args..., forward, attr);
#else
  return typename P::primitive_desc(typename P::desc(args...), attr,
                                    session.engine(), forward);
#endif
}

// Returns what `make` makes, moved on to its first clean implementation; as
// made if there is none.
template <class Make>
auto FirstClean(const Make& make) -> decltype(make()) {
  auto pd = make();
  do {
    if (IsClean(pd.impl_info_str())) return pd;
  } while (pd.next_impl());
  return make();
}

// Likewise, with the first clean implementation; with the first of all if none
// is clean. oneDNN 2 looks for the next one through what the first was made
// of, so these make a descriptor and look in one call.
template <class P, class... Args>
typename P::primitive_desc CleanForwardDesc(const Session& session,
                                            const dnnl::primitive_attr& attr,
                                            const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  const auto make = [&] {
    return typename P::primitive_desc(session.engine(), args..., attr);
  };
#else
  const typename P::desc desc(args...);
  const auto make = [&] {
    return typename P::primitive_desc(desc, attr, session.engine());
  };
#endif
  return FirstClean(make);
}

template <class P, class Forward, class... Args>
typename P::primitive_desc CleanBackwardDesc(const Session& session,
                                             const dnnl::primitive_attr& attr,
                                             const Forward& forward,
                                             const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  const auto make = [&] {
    return typename P::primitive_desc(session.engine(), args..., forward, attr);
  };
#else
  const typename P::desc desc(args...);
  const auto make = [&] {
    return typename P::primitive_desc(desc, attr, session.engine(), forward);
  };
#endif
  return FirstClean(make);
}

dnnl::reorder::primitive_desc ReorderDesc(const Session& session,
                                          const Md& from, const Md& to);

// One primitive with its memory objects made once; running it sets addresses
// and executes, with a few hundred bytes of heap inside oneDNN. Copies share
// the memory objects: one of them runs at a time.
class Execution {
 public:
  // An empty one, to be assigned to.
  Execution() = default;
  Execution(const Session& session, const dnnl::primitive& primitive);

  // Binds an argument to an operand of the kernel.
  //
  //   argument:    DNNL_ARG_...
  //   operand:     index into Buffers::in or Buffers::out.
  //   byte_offset: from the start of that buffer, or of the scratchpad.
  void In(int argument, int operand, const Md& md, int64_t byte_offset = 0);
  void Out(int argument, int operand, const Md& md, int64_t byte_offset = 0);
  void Scratch(int argument, const Md& md, int64_t byte_offset);

  // Binds oneDNN's own scratchpad; nothing if `md` is absent.
  void Scratchpad(const Md& md, int64_t byte_offset = 0);

  // Ends the process if oneDNN fails: everything that can has been tried when
  // the primitive was made.
  void Run(const Buffers& buffers) const;

 private:
  enum class Source : uint8_t { kIn, kOut, kScratch };
  struct Binding {
    Source source;
    int operand;
    int64_t byte_offset;
  };

  void Bind(int argument, const Md& md, const Binding& binding);

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;  // owns what arguments_ points to
  std::vector<Binding> bindings_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace onednn
}  // namespace reprise

#endif  // OPS_LIB_ONEDNN_H_
