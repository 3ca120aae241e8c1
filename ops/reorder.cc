// Reorder: the same elements in another layout. Lowering inserts it where a
// kernel wants a layout that its operand does not have.
//
// A dense permutation of the axes runs as a copy where it moves no byte; all
// else is oneDNN's, which writes zeros into the padding of blocked layouts.
// Tested by tests/ops/reorder_test.cc.

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/op.h"
#include "core/status_macros.h"
#include "ops/lib/describe.h"
#include "ops/lib/infer.h"
#include "ops/lib/layout.h"
#include "ops/lib/onednn.h"
#include "ops/lib/parallel.h"
#include "ops/lib/transpose.h"

namespace reprise {
namespace {

InferredTypes Infer(const OpArgs& args) {
  return std::vector<TensorType>{args.in[0]};
}

// Whether both layouts are permutations: our own loop serves any element type.
bool IsOurs(const Signature& s, const Layout& to) {
  return IsPermutation(s.in_layouts[0]) && IsPermutation(to);
}

absl::StatusOr<dnnl::reorder::primitive_desc> MakeDesc(
    const onednn::Session& session, const Signature& s, const Layout& to) {
  // If one side is in groups, the other one, row-major, is seen so too.
  const auto desc = [&](const Layout& layout, const Layout& other) {
    return layout.row_major()
               ? onednn::Desc(
                     onednn::SplitGroups(s.in[0], onednn::GroupsOf(other)),
                     layout)
               : onednn::Desc(s.in[0], layout);
  };
  const Layout& from = s.in_layouts[0];
  ASSIGN_OR_RETURN(const onednn::Md from_md, desc(from, to));
  ASSIGN_OR_RETURN(const onednn::Md to_md, desc(to, from));
  return onednn::ReorderDesc(session, from_md, to_md);
}

absl::StatusOr<Description> Describe(const Signature& offered,
                                     const OpEnv& env) {
  const Layout to{offered.attrs.String("__to")};
  Description d = DescribeRowMajor(offered, "hwy:transpose", /*flops=*/0);
  d.in_layouts = offered.in_layouts;
  d.out_layouts = {to};
  ASSIGN_OR_RETURN(const int64_t in_bytes,
                   onednn::LayoutBytes(offered.in[0], d.in_layouts[0]));
  ASSIGN_OR_RETURN(const int64_t out_bytes,
                   onednn::LayoutBytes(offered.in[0], to));
  d.out_bytes = {out_bytes};
  d.bytes_moved = in_bytes + out_bytes;
  if (IsOurs(offered, to) || offered.in[0].num_elements() == 0) return d;
  const onednn::Session session(env);
  return onednn::Try("Reorder", [&]() -> absl::StatusOr<Description> {
    ASSIGN_OR_RETURN(const dnnl::reorder::primitive_desc pd,
                     MakeDesc(session, offered, to));
    d.implementation = pd.impl_info_str();
    d.scratchpad_bytes = onednn::BytesOf(pd.scratchpad_desc());
    d.library_heap_bytes =
        onednn::HiddenHeapBytes(d.implementation, d.bytes_moved);
    return d;
  });
}

absl::StatusOr<Kernel> Build(const Signature& s, const OpEnv& env) {
  const Layout& to = s.out_layouts[0];
  if (s.in[0].num_elements() == 0) return Kernel{[](const Buffers&) {}};
  if (IsOurs(s, to)) {
    const Transposition transposition(
        s.in[0].dims, StridesOf(s.in[0].dims, s.in_layouts[0]),
        AxisOrder(to, s.in[0].rank()), SizeOf(s.in[0].dtype), env.threads);
    return Kernel{[transposition](const Buffers& b) {
      transposition.Run(b.in[0], b.out[0]);
    }};
  }
  const onednn::Session session(env);
  return onednn::Try("Reorder", [&]() -> absl::StatusOr<Kernel> {
    ASSIGN_OR_RETURN(const dnnl::reorder::primitive_desc pd,
                     MakeDesc(session, s, to));
    onednn::Execution reorder(session, dnnl::reorder(pd));
    reorder.In(DNNL_ARG_FROM, 0, pd.src_desc());
    reorder.Out(DNNL_ARG_TO, 0, pd.dst_desc());
    reorder.Scratchpad(pd.scratchpad_desc());
    return Kernel{[reorder](const Buffers& b) { reorder.Run(b); }};
  });
}

}  // namespace

std::vector<OpDef> ReorderOps() {
  OpDef op;
  op.name = "Reorder";
  op.internal = true;
  op.attrs = {AttrSpec("__to", AttrKind::kString, AttrSpec::kRequired)};
  op.infer = Infer;
  op.describe = Describe;
  op.build = Build;
  return {op};
}

}  // namespace reprise
