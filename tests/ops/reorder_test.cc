// Reorder and Fill, which no file names.

#include <algorithm>
#include <string>
#include <vector>

#include "core/op_table.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

struct Reordered {
  Description description;
  std::vector<float> content;
};

Reordered Reorder(const TensorType& type, const std::vector<float>& x,
                  const std::string& from, const std::string& to,
                  int threads = 1) {
  const OpTable table(AllOps());
  Signature s;
  s.op = &table.Get("Reorder");
  s.attrs.Set("__to", to);
  s.in = {type};
  s.out = {type};
  s.in_layouts = {Layout{from}};
  const OpEnv env{threads};
  Reordered result;
  result.description = *s.op->describe(s, env);
  s.in_layouts = result.description.in_layouts;
  s.out_layouts = result.description.out_layouts;
  const Kernel kernel = *s.op->build(s, env);
  // 7 is what the arena may hold before.
  result.content.assign(result.description.out_bytes[0] / sizeof(float), 7);
  std::vector<char> scratchpad(result.description.scratchpad_bytes + 1);
  void* in = const_cast<float*>(x.data());
  void* out = result.content.data();
  Buffers buffers;
  buffers.in = &in;
  buffers.out = &out;
  buffers.scratchpad = scratchpad.data();
  kernel.run(buffers);
  return result;
}

std::vector<float> Counted(int64_t n) {
  std::vector<float> x(n);
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i + 1);
  return x;
}

// [2,3,4,5] holds x[a,b,c,d] at ((a 3 + b) 4 + c) 5 + d; channels-last at
// ((a 4 + c) 5 + d) 3 + b.
TEST(ReorderTest, ChannelsLastHasTheChannelsInnermost) {
  const TensorType type = F32({2, 3, 4, 5});
  const std::vector<float> x = Counted(120);
  const Reordered to = Reorder(type, x, "", "acdb");
  EXPECT_EQ(to.content[((1 * 4 + 2) * 5 + 3) * 3 + 2],
            x[((1 * 3 + 2) * 4 + 2) * 5 + 3]);
  EXPECT_EQ(Reorder(type, to.content, "acdb", "").content, x);
}

// Blocks of 16 channels: 3 channels are padded to 16. Kernels rely on zeros.
TEST(ReorderTest, PaddingIsWrittenAsZeros) {
  const TensorType type = F32({2, 3, 4, 5});
  const std::vector<float> x = Counted(120);
  const Reordered blocked = Reorder(type, x, "", "aBcd16b");
  EXPECT_EQ(blocked.description.out_bytes[0], 2 * 16 * 4 * 5 * 4);
  EXPECT_EQ(std::count(blocked.content.begin(), blocked.content.end(), 0.0f),
            2 * 13 * 4 * 5);
  EXPECT_EQ(Reorder(type, blocked.content, "aBcd16b", "").content, x);
  // From one layout of oneDNN's to another, without a row-major one between.
  EXPECT_EQ(Reorder(type, blocked.content, "aBcd16b", "acdb").content,
            Reorder(type, x, "", "acdb").content);
}

TEST(ReorderTest, ThreadsMoveEveryElement) {
  const TensorType type = F32({2, 64, 30, 31});
  const std::vector<float> x = Counted(type.num_elements());
  for (const char* to : {"acdb", "aBcd16b", "dcba"}) {
    const Reordered there = Reorder(type, x, "", to, /*threads=*/2);
    EXPECT_EQ(Reorder(type, there.content, to, "", /*threads=*/2).content, x)
        << to;
    EXPECT_EQ(there.description.library_heap_bytes, 0);
  }
}

TEST(ReorderTest, ALayoutThatIsNoneIsAnError) {
  const OpTable table(AllOps());
  Signature s;
  s.op = &table.Get("Reorder");
  s.attrs.Set("__to", std::string("nonsense"));
  s.in = {F32({2, 3})};
  s.out = s.in;
  s.in_layouts = {Layout()};
  EXPECT_FALSE(s.op->describe(s, OpEnv()).ok());
}

TEST(FillTest, EveryElementTypeIsFilled) {
  for (const DType dtype :
       {DType::kF32, DType::kI32, DType::kI64, DType::kU8, DType::kBool}) {
    OpCase c;
    c.op = "Fill";
    c.attrs = Attrs{{"dims", Ints{3}}, {"dtype", dtype}, {"value", 1.0f}};
    const HostTensors out = RunOp(c, {});
    EXPECT_EQ(out[0].type.dtype, dtype);
    EXPECT_EQ(out[0].data, (std::vector<double>{1, 1, 1}));
  }
}

}  // namespace
}  // namespace reprise
