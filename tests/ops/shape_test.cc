// What random cases do not show of Transpose, Concat, Split, Slice and Expand.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

OpCase Case(const std::string& op, std::vector<TensorType> in, Attrs attrs) {
  OpCase c;
  c.op = op;
  c.in = std::move(in);
  c.attrs = std::move(attrs);
  return c;
}

// x's elements are their own positions, so every move shows.
HostTensor Counted(TensorType type) {
  HostTensor x{std::move(type), {}};
  for (int64_t i = 0; i < x.type.num_elements(); ++i) {
    x.data.push_back(static_cast<double>(i));
  }
  return x;
}

// Whole tiles, remainders on both sides, and several threads.
TEST(ShapeTest, TransposesOfEveryTileSizeMoveEveryElement) {
  for (const Dims& dims : {Dims{16, 16}, Dims{33, 18}, Dims{3, 301},
                           Dims{301, 5}, Dims{257, 300}, Dims{4, 37, 500}}) {
    for (const DType dtype : {DType::kF32, DType::kI64}) {
      OpCase c = Case("Transpose", {{dtype, dims}}, {});
      const HostTensor x = Counted(c.in[0]);
      c.definition = [](const HostTensors& in, const Attrs&) {
        Dims to(in[0].type.dims.rbegin(), in[0].type.dims.rend());
        return HostTensors{
            FromIndex({in[0].type.dtype, to}, [&](const Dims& index) {
              return At(in[0], Dims(index.rbegin(), index.rend()));
            })};
      };
      EXPECT_EQ(RunOp(c, {x})[0].data, c.definition({x}, {})[0].data);
      CheckForward(c, /*seed=*/1);
    }
  }
}

// Long rows are split among threads, short ones dealt out.
TEST(ShapeTest, ThreadsShareLongCopies) {
  for (const Dims& dims : {Dims{1, 200000}, Dims{500, 300}, Dims{70000, 2}}) {
    OpCase c = Case("Slice", {F32(dims)},
                    Attrs{{"starts", Ints{1}},
                          {"ends", Ints{std::numeric_limits<int64_t>::max()}},
                          {"axes", Ints{1}}});
    c.definition = [](const HostTensors& in, const Attrs&) {
      TensorType type = in[0].type;
      --type.dims[1];
      return HostTensors{FromIndex(type, [&](const Dims& index) {
        return At(in[0], {index[0], index[1] + 1});
      })};
    };
    CheckForward(c, /*seed=*/1);
  }
}

TEST(ShapeTest, StepsAsLargeAsNumbersGetTakeOneElement) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t least = std::numeric_limits<int64_t>::min();
  const HostTensors x = {Counted(F32({5}))};
  const auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return RunOp(Case("Slice", {F32({5})},
                      Attrs{{"starts", Ints{start}},
                            {"ends", Ints{end}},
                            {"steps", Ints{step}}}),
                 x)[0]
        .data;
  };
  EXPECT_EQ(slice(1, most, most), (std::vector<double>{1}));
  EXPECT_EQ(slice(-1, least, least), (std::vector<double>{4}));
  EXPECT_EQ(slice(-1, least, -2), (std::vector<double>{4, 2, 0}));
}

TEST(ShapeTest, AResultOfASplitNeedNotBeWanted) {
  OpCase c = Case("Split", {F32({4})}, Attrs{{"split", Ints{1, 2, 1}}});
  c.num_outputs = 2;
  const HostTensors out = RunOp(c, {Counted(F32({4}))});
  EXPECT_EQ(out[1].data, (std::vector<double>{1, 2}));
}

TEST(ShapeTest, GradientsKeepNothing) {
  const TensorType x = F32({2, 4});
  EXPECT_EQ(KeptValues(Case("Transpose", {x}, {})), "");
  EXPECT_EQ(KeptValues(Case("Concat", {x, x}, Attrs{{"axis", int64_t{0}}})),
            "");
  OpCase split = Case("Split", {x}, Attrs{{"split", Ints{1, 1}}});
  split.num_outputs = 2;
  EXPECT_EQ(KeptValues(split), "");
  EXPECT_EQ(KeptValues(Case("Slice", {x},
                            Attrs{{"starts", Ints{1}}, {"ends", Ints{2}}})),
            "");
  EXPECT_EQ(KeptValues(Case("Expand", {x}, Attrs{{"shape", Ints{3, 2, 4}}})),
            "");
}

TEST(ShapeTest, RefusesWhatDoesNotFit) {
  const std::vector<TensorType> x = {F32({2, 3})};
  ExpectRefused("Transpose", x, Attrs{{"perm", Ints{0, 0}}}, "got [0,0]");
  ExpectRefused("Transpose", x, Attrs{{"perm", Ints{0}}}, "f32[2,3]");
  ExpectRefused("Concat", {F32({2, 3}), F32({3, 3})},
                Attrs{{"axis", int64_t{1}}}, "f32[2,3] and f32[3,3]");
  ExpectRefused("Concat", {F32({2, 3}), I32({2, 3})},
                Attrs{{"axis", int64_t{1}}}, "i32[2,3]");
  ExpectRefused("Split", x, Attrs{{"split", Ints{1, 2}}},
                "sizes must add up to 2, got [1,2]");
  ExpectRefused("Split", x, Attrs{{"split", Ints{3, -1}}}, "[3,-1]");
  ExpectRefused("Split", x, {}, "exactly one of split and num_outputs");
  ExpectRefused("Split", x,
                Attrs{{"num_outputs", std::numeric_limits<int64_t>::max()}},
                "num_outputs");
  ExpectRefused("Slice", x, Attrs{{"starts", Ints{0}}, {"ends", Ints{}}},
                "equally long, got 1, 0");
  ExpectRefused(
      "Slice", x,
      Attrs{{"starts", Ints{0}}, {"ends", Ints{1}}, {"steps", Ints{0}}},
      "steps must not be 0");
  ExpectRefused("Expand", x, Attrs{{"shape", Ints{3, 3}}}, "[2,3]");
  ExpectRefused("Tile", x, Attrs{{"repeats", Ints{1, -1}}},
                "repeats must be at least 0, got [1,-1]");
  ExpectRefused("Tile", x, Attrs{{"repeats", Ints{1, int64_t{1} << 60}}},
                "repeats must be at most 4398046511104, got "
                "[1,1152921504606846976]");
  ExpectRefused("Pad", x, Attrs{{"pads", Ints{0, 0, 0, int64_t{1} << 60}}},
                "pads must be at most 4398046511104, got 1152921504606846976");
  ExpectRefused("Pad", x, Attrs{{"pads", Ints{-(int64_t{1} << 60), 0, 0, 0}}},
                "pads must be at least -4398046511104, got "
                "-1152921504606846976");
  ExpectRefused("DepthToSpace", {F32({1, 4, 2, 2})},
                Attrs{{"blocksize", int64_t{1} << 31}},
                "blocksize must be at most 2147483647, got 2147483648");
}

}  // namespace
}  // namespace reprise
