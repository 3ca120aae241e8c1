#include "ops/lib/onednn.h"

#include <omp.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "oneapi/dnnl/dnnl_debug.h"
#include "ops/all_ops.h"
#include "ops/lib/layout.h"

namespace reprise {
namespace onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;

constexpr dnnl_format_tag_t kFirstTag = dnnl_a;

dnnl_format_tag_t Next(dnnl_format_tag_t tag) {
  return static_cast<dnnl_format_tag_t>(static_cast<int>(tag) + 1);
}

memory::dims DimsOf(const Md& md) {
#if DNNL_VERSION_MAJOR >= 3
  return md.get_dims();
#else
  return md.dims();
#endif
}

memory::data_type ElementOf(const Md& md) {
#if DNNL_VERSION_MAJOR >= 3
  return md.get_data_type();
#else
  return md.data_type();
#endif
}

// oneDNN has no scalars.
memory::dims AtLeast1d(const Dims& dims) {
  return dims.empty() ? memory::dims{1} : memory::dims(dims);
}

// oneDNN takes dims of 64 bits, but some of its kernels count in 32: larger
// ones end in a division by zero inside the library.
bool DimsFit(const memory::dims& dims) {
  for (const memory::dim dim : dims) {
    if (dim > std::numeric_limits<int32_t>::max()) return false;
  }
  return true;
}

void CheckDims(const memory::dims& dims) {
  if (DimsFit(dims)) return;
  throw dnnl::error(dnnl_unimplemented, "a dim is above 2147483647");
}

// An invalid combination gives an absent descriptor.
Md TaggedDesc(const memory::dims& dims, memory::data_type element,
              dnnl_format_tag_t tag) {
  return Md(dims, element, static_cast<memory::format_tag>(tag),
            /*allow_empty=*/true);
}

Md RowMajorDesc(const memory::dims& dims, memory::data_type element) {
  memory::dims strides(dims.size());
  memory::dim stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i] > 0 ? dims[i] : 1;
  }
  return Md(dims, element, strides);
}

dnnl_format_tag_t TagOf(absl::string_view format) {
  for (dnnl_format_tag_t tag = kFirstTag; tag < dnnl_format_tag_last;
       tag = Next(tag)) {
    if (format == dnnl_fmt_tag2str(tag)) return tag;
  }
  return dnnl_format_tag_undef;
}

}  // namespace

Session::Session(const OpEnv& env)
    : engine_(dnnl::engine::kind::cpu, 0),
      caller_threads_(omp_get_max_threads()) {
  omp_set_num_threads(env.threads);
}

Session::~Session() { omp_set_num_threads(caller_threads_); }

memory::data_type DataType(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return memory::data_type::f32;
    case DType::kI32:
      return memory::data_type::s32;
    case DType::kU8:
      return memory::data_type::u8;
    case DType::kI64:
    case DType::kBool:
    case DType::kOpaque:
    case DType::kNone:
      break;
  }
  return memory::data_type::undef;
}

int64_t GroupsOf(const Layout& layout) {
  const size_t colon = layout.format.find(':');
  int64_t groups = 1;
  if (colon != std::string::npos) {
    REPRISE_CHECK(absl::SimpleAtoi(layout.format.substr(0, colon), &groups));
  }
  return groups;
}

Layout WithGroups(const Layout& layout, int64_t groups) {
  if (layout.row_major() || groups == 1) return layout;
  return Layout{absl::StrCat(groups, ":", layout.format)};
}

TensorType SplitGroups(const TensorType& weights, int64_t groups) {
  TensorType split = weights;
  if (groups == 1) return split;
  split.dims[0] /= groups;
  split.dims.insert(split.dims.begin(), groups);
  return split;
}

absl::StatusOr<Md> Desc(const TensorType& type, const Layout& layout) {
  const size_t colon = layout.format.find(':');
  if (colon != std::string::npos) {
    return Desc(SplitGroups(type, GroupsOf(layout)),
                Layout{layout.format.substr(colon + 1)});
  }
  const memory::dims dims = AtLeast1d(type.dims);
  if (!DimsFit(dims)) {
    return absl::UnimplementedError(absl::StrCat(
        "oneDNN: a dim of ", ToString(type), " is above 2147483647"));
  }
  const memory::data_type element = DataType(type.dtype);
  if (layout.row_major()) return RowMajorDesc(dims, element);
  const dnnl_format_tag_t tag = TagOf(layout.format);
  Md md;
  if (tag != dnnl_format_tag_undef) md = TaggedDesc(dims, element, tag);
  if (IsAbsent(md)) {
    return absl::InternalError(
        absl::StrCat("no layout '", layout.format, "' for ", ToString(type)));
  }
  return md;
}

Md AnyDesc(const TensorType& type) {
  CheckDims(type.dims);
  return Md(AtLeast1d(type.dims), DataType(type.dtype),
            memory::format_tag::any);
}

Md StridedDesc(DType dtype, const Dims& dims, const Dims& strides) {
  CheckDims(dims);
  return Md(dims, DataType(dtype), strides);
}

absl::StatusOr<Layout> LayoutOf(const Md& md) {
  const memory::dims dims = DimsOf(md);
  const memory::data_type element = ElementOf(md);
  if (md == RowMajorDesc(dims, element)) return Layout();
  for (dnnl_format_tag_t tag = kFirstTag; tag < dnnl_format_tag_last;
       tag = Next(tag)) {
    const Md candidate = TaggedDesc(dims, element, tag);
    if (!IsAbsent(candidate) && candidate == md) {
      return Layout{dnnl_fmt_tag2str(tag)};
    }
  }
  return absl::UnimplementedError(absl::StrCat(
      "oneDNN chose a layout without a name for dims ", DimsToString(dims)));
}

absl::StatusOr<int64_t> LayoutBytes(const TensorType& type,
                                    const Layout& layout) {
  // Not of every element type, and of no empty tensor, has oneDNN a descriptor.
  if (IsPermutation(layout) || type.num_elements() == 0) return type.bytes();
  ASSIGN_OR_RETURN(const Md md, Desc(type, layout));
  return BytesOf(md);
}

bool IsAbsent(const Md& md) {
#if DNNL_VERSION_MAJOR >= 3
  // What cannot be described is an empty handle here, which may not be asked.
  if (md.get(/*allow_empty=*/true) == nullptr) return true;
#endif
  return DimsOf(md).empty();
}

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

void AppendEltwise(dnnl::post_ops& ops, algorithm algorithm, float alpha,
                   float beta) {
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(algorithm, alpha, beta);
#else
  ops.append_eltwise(/*scale=*/1.0f, algorithm, alpha, beta);
#endif
}

bool IsClean(absl::string_view implementation) {
  if (implementation.find("ref") != absl::string_view::npos) return false;
  for (size_t at = implementation.find("gemm"); at != absl::string_view::npos;
       at = implementation.find("gemm", at + 1)) {
    const bool brgemm = at >= 2 && implementation.substr(at - 2, 2) == "br";
    if (!brgemm) return false;
  }
  return true;
}

int64_t HiddenHeapBytes(absl::string_view implementation,
                        int64_t operand_bytes) {
  // Reference code is slow but takes no heap.
  return IsClean(implementation) ||
                 implementation.find("gemm") == absl::string_view::npos
             ? 0
             : operand_bytes;
}

absl::Status StatusOfError(absl::string_view who, const dnnl::error& error) {
  const std::string text = absl::StrCat(who, ": oneDNN: ", error.what());
  switch (error.status) {
    case dnnl_unimplemented:
      return absl::UnimplementedError(text);
    case dnnl_out_of_memory:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::InternalError(text);
  }
}

dnnl::reorder::primitive_desc ReorderDesc(const Session& session,
                                          const Md& from, const Md& to) {
  return dnnl::reorder::primitive_desc(session.engine(), from, session.engine(),
                                       to, UserScratchpad());
}

Execution::Execution(const Session& session, const dnnl::primitive& primitive)
    : engine_(session.engine()), stream_(engine_), primitive_(primitive) {}

void Execution::In(int argument, int operand, const Md& md,
                   int64_t byte_offset) {
  Bind(argument, md, {Source::kIn, operand, byte_offset});
}

void Execution::Out(int argument, int operand, const Md& md,
                    int64_t byte_offset) {
  Bind(argument, md, {Source::kOut, operand, byte_offset});
}

void Execution::Scratch(int argument, const Md& md, int64_t byte_offset) {
  Bind(argument, md, {Source::kScratch, 0, byte_offset});
}

void Execution::Scratchpad(const Md& md, int64_t byte_offset) {
  if (IsAbsent(md) || BytesOf(md) == 0) return;
  Scratch(DNNL_ARG_SCRATCHPAD, md, byte_offset);
}

void Execution::Bind(int argument, const Md& md, const Binding& binding) {
  memories_.push_back(dnnl::memory(md, engine_, /*handle=*/nullptr));
  arguments_.push_back({argument, memories_.back().get()});
  bindings_.push_back(binding);
}

void Execution::Run(const Buffers& buffers) const {
  for (size_t i = 0; i < bindings_.size(); ++i) {
    const Binding& binding = bindings_[i];
    void* base = buffers.scratchpad;
    if (binding.source == Source::kIn) base = buffers.in[binding.operand];
    if (binding.source == Source::kOut) base = buffers.out[binding.operand];
    REPRISE_CHECK(dnnl_memory_set_data_handle(
                      arguments_[i].memory,
                      static_cast<char*>(base) + binding.byte_offset) ==
                  dnnl_success);
  }
  REPRISE_CHECK(dnnl_primitive_execute(primitive_.get(), stream_.get(),
                                       static_cast<int>(arguments_.size()),
                                       arguments_.data()) == dnnl_success);
  REPRISE_CHECK(dnnl_stream_wait(stream_.get()) == dnnl_success);
}

}  // namespace onednn
std::string KernelLibrary() {
  const dnnl_version_t* const version = dnnl_version();
  return absl::StrCat("oneDNN ", version->major, ".", version->minor, ".",
                      version->patch, ", ISA ",
                      static_cast<int>(dnnl_get_effective_cpu_isa()));
}

}  // namespace reprise
