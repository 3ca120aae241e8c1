#include "tests/testing/kernel_check.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/op.h"
#include "core/plan.h"
#include "core/status_macros.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using Bytes = std::vector<char>;

// Written around and into everything that a kernel gets; as a float, NaN.
constexpr char kPoison = static_cast<char>(0xFF);

// A 64-byte aligned buffer between poisoned bytes.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t bytes)
      : bytes_(bytes),
        block_(static_cast<char*>(std::aligned_alloc(
                   kArenaAlignment, AlignUp(bytes) + 2 * kArenaAlignment)),
               std::free) {
    std::memset(block_.get(), kPoison, AlignUp(bytes) + 2 * kArenaAlignment);
  }
  explicit GuardedBuffer(const Bytes& content)
      : GuardedBuffer(static_cast<int64_t>(content.size())) {
    std::copy(content.begin(), content.end(), data());
  }

  char* data() { return block_.get() + kArenaAlignment; }
  Bytes Content() { return Bytes(data(), data() + bytes_); }

  bool GuardsAreIntact() {
    const char* const block = block_.get();
    const char* const end = block + AlignUp(bytes_) + 2 * kArenaAlignment;
    const auto poisoned = [](char c) { return c == kPoison; };
    return std::all_of(block, block + kArenaAlignment, poisoned) &&
           std::all_of(block + kArenaAlignment + bytes_, end, poisoned);
  }

 private:
  int64_t bytes_;
  std::unique_ptr<char, void (*)(void*)> block_;
};

// One way of running a kernel.
struct RunMode {
  int threads = 1;
  bool channels_last = false;
  // Runs with this pair sharing bytes, if they are equally many.
  const Overwrite* in_place = nullptr;
};

Layout ChannelsLast(const TensorType& type) {
  if (type.rank() < 3) return Layout();
  std::string format = "a";
  for (int i = 2; i < type.rank(); ++i) format.push_back('a' + i);
  return Layout{absl::StrCat(format, "b")};
}

// A kernel with what describes it.
struct Built {
  Signature signature;
  Description description;
  Kernel kernel;
};

absl::StatusOr<Built> BuildKernel(Signature offered, const OpEnv& env) {
  Built built;
  ASSIGN_OR_RETURN(built.description, offered.op->describe(offered, env));
  built.signature = std::move(offered);
  built.signature.in_layouts = built.description.in_layouts;
  built.signature.out_layouts = built.description.out_layouts;
  ASSIGN_OR_RETURN(built.kernel,
                   built.signature.op->build(built.signature, env));
  return built;
}

class KernelRunner {
 public:
  KernelRunner(const OpCase& c, const PreparedCase& prepared,
               const OpTable& table)
      : c_(c), prepared_(prepared), reorder_(table.Get("Reorder")) {}

  absl::StatusOr<Built> Build(const RunMode& mode) const {
    Signature offered;
    offered.op = prepared_.op;
    offered.attrs = prepared_.attrs;
    offered.in = c_.in;
    offered.out = prepared_.types;
    for (const TensorType& type : c_.in) {
      offered.in_layouts.push_back(mode.channels_last ? ChannelsLast(type)
                                                      : Layout());
    }
    return BuildKernel(std::move(offered), OpEnv{mode.threads});
  }

  // Returns the bytes of each result, row-major (a workspace's as they are).
  absl::StatusOr<std::vector<Bytes>> Run(const Built& built,
                                         const HostTensors& inputs,
                                         const Overwrite* in_place) const {
    const Signature& s = built.signature;
    const Description& d = built.description;
    std::vector<GuardedBuffer> in;
    for (size_t i = 0; i < inputs.size(); ++i) {
      ASSIGN_OR_RETURN(const Bytes bytes, Reordered(Pack(inputs[i]), s.in[i],
                                                    Layout(), s.in_layouts[i]));
      in.emplace_back(bytes);
    }
    std::vector<Bytes> before;
    for (GuardedBuffer& buffer : in) before.push_back(buffer.Content());
    std::vector<GuardedBuffer> out;
    for (const int64_t bytes : d.out_bytes) out.emplace_back(bytes);
    GuardedBuffer scratchpad(d.scratchpad_bytes);
    std::vector<void*> in_addresses;
    std::vector<void*> out_addresses;
    for (size_t i = 0; i < in.size(); ++i) {
      in_addresses.push_back(before[i].empty() ? nullptr : in[i].data());
    }
    for (size_t i = 0; i < out.size(); ++i) {
      out_addresses.push_back(d.out_bytes[i] == 0 ? nullptr : out[i].data());
    }
    if (in_place != nullptr) {
      out_addresses[in_place->out] = in_addresses[in_place->in];
    }
    Buffers buffers;
    buffers.in = in_addresses.data();
    buffers.out = out_addresses.data();
    buffers.scratchpad = d.scratchpad_bytes > 0 ? scratchpad.data() : nullptr;
    built.kernel.run(buffers);

    EXPECT_TRUE(scratchpad.GuardsAreIntact()) << "scratchpad overrun";
    for (size_t i = 0; i < in.size(); ++i) {
      EXPECT_TRUE(in[i].GuardsAreIntact()) << "overrun at input " << i;
      if (in_place == nullptr || in_place->in != static_cast<int>(i)) {
        EXPECT_TRUE(in[i].Content() == before[i]) << "wrote to input " << i;
      }
    }
    std::vector<Bytes> results;
    for (size_t i = 0; i < out.size(); ++i) {
      EXPECT_TRUE(out[i].GuardsAreIntact()) << "overrun at output " << i;
      const bool shared =
          in_place != nullptr && in_place->out == static_cast<int>(i);
      Bytes bytes = shared ? in[in_place->in].Content() : out[i].Content();
      ASSIGN_OR_RETURN(bytes, Reordered(std::move(bytes), s.out[i],
                                        s.out_layouts[i], Layout()));
      results.push_back(std::move(bytes));
    }
    return results;
  }

 private:
  absl::StatusOr<Bytes> Reordered(Bytes bytes, const TensorType& type,
                                  const Layout& from, const Layout& to) const {
    if (from == to || !type.present()) return bytes;
    Signature s;
    s.op = &reorder_;
    s.attrs.Set("__to", to.format);
    s.in = {type};
    s.out = {type};
    s.in_layouts = {from};
    ASSIGN_OR_RETURN(const Built built, BuildKernel(std::move(s), OpEnv{1}));
    GuardedBuffer in(bytes);
    GuardedBuffer out(built.description.out_bytes[0]);
    GuardedBuffer scratchpad(built.description.scratchpad_bytes);
    void* in_address = in.data();
    void* out_address = out.data();
    Buffers buffers;
    buffers.in = &in_address;
    buffers.out = &out_address;
    buffers.scratchpad = scratchpad.data();
    built.kernel.run(buffers);
    EXPECT_TRUE(out.GuardsAreIntact()) << "reorder overrun";
    return out.Content();
  }

  const OpCase& c_;
  const PreparedCase& prepared_;
  const OpDef& reorder_;
};

}  // namespace

absl::StatusOr<std::vector<std::vector<char>>> RunKernel(
    const OpCase& c, const PreparedCase& prepared, const OpTable& table,
    const HostTensors& inputs) {
  const KernelRunner runner(c, prepared, table);
  ASSIGN_OR_RETURN(const Built built, runner.Build(RunMode()));
  return runner.Run(built, inputs, /*in_place=*/nullptr);
}

absl::Status CheckKernel(const OpCase& c, const PreparedCase& prepared,
                         const OpTable& table, const HostTensors& inputs,
                         const HostTensors& want) {
  const KernelRunner runner(c, prepared, table);
  for (const int threads : {1, 2}) {
    for (const bool channels_last : {false, true}) {
      RunMode mode;
      mode.threads = threads;
      mode.channels_last = channels_last;
      ASSIGN_OR_RETURN(const Built built, runner.Build(mode));
      const Description& d = built.description;
      SCOPED_TRACE(absl::StrCat("kernel ", d.implementation, ", ", threads,
                                " threads",
                                channels_last ? ", channels last" : ""));
      EXPECT_FALSE(absl::StrContains(d.implementation, "ref"));
      EXPECT_EQ(d.library_heap_bytes, 0);
      EXPECT_GE(d.flops, 0);
      EXPECT_GE(d.bytes_moved, 0);
      ASSIGN_OR_RETURN(const std::vector<Bytes> bits,
                       runner.Run(built, inputs, /*in_place=*/nullptr));
      for (int i = 0; i < c.num_outputs; ++i) {
        if (!IsChecked(c, i)) continue;
        EXPECT_GE(d.out_bytes[i], prepared.types[i].bytes());
        ExpectNear(Unpack(prepared.types[i], bits[i].data()), want[i],
                   c.tolerance, absl::StrCat("output ", i));
      }
      ASSIGN_OR_RETURN(const std::vector<Bytes> again,
                       runner.Run(built, inputs, /*in_place=*/nullptr));
      EXPECT_TRUE(again == bits) << "a second run gives other bits";
      for (const Overwrite& pair : d.may_overwrite) {
        const bool same_bytes =
            c.in[pair.in].present() && d.out_bytes[pair.out] > 0 &&
            d.in_layouts[pair.in] == d.out_layouts[pair.out] &&
            c.in[pair.in].dims == prepared.types[pair.out].dims &&
            c.in[pair.in].dtype == prepared.types[pair.out].dtype;
        if (!same_bytes) continue;
        ASSIGN_OR_RETURN(const std::vector<Bytes> in_place,
                         runner.Run(built, inputs, &pair));
        EXPECT_TRUE(in_place == bits) << "other bits where output " << pair.out
                                      << " overwrites input " << pair.in;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace reprise
