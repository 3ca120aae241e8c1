// Operators whose operands and attributes the importer rearranges, run and
// compared with their definitions in double.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tools/importer/imported_run.h"
#include "tools/conformance/compare.h"

namespace reprise {
namespace {

// [rows, n, columns] along the middle axis, by a stable sort.
void ExpectTopK(int64_t version, int64_t k, bool largest) {
  SCOPED_TRACE(absl::StrCat("version ", version, ", k ", k));
  const int64_t rows = 2;
  const int64_t n = 5;
  const int64_t columns = 3;
  std::vector<float> x = Wave(rows * n * columns, 0.2);
  x[3] = x[0];  // equal elements of one column: the first comes first
  OnnxBuilder builder(version);
  builder.Input("x", {"2", "5", "3"}).Output("y").Output("i");
  std::vector<std::string> in = {"x"};
  if (version >= 10) {
    builder.Ints("k", {1}, {k});
    in.push_back("k");
  }
  onnx::NodeProto& node = builder.Node("TopK", in, {"y", "i"});
  OnnxBuilder::Int(node, "axis", 1);
  if (version < 10) OnnxBuilder::Int(node, "k", k);
  if (version >= 11) OnnxBuilder::Int(node, "largest", largest ? 1 : 0);

  std::vector<double> values(rows * k * columns);
  std::vector<int64_t> indices(rows * k * columns);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const auto at = [&](int64_t i) {
        return x[(row * n + i) * columns + column];
      };
      std::vector<int64_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return largest ? at(a) > at(b) : at(a) < at(b);
      });
      for (int64_t i = 0; i < k; ++i) {
        values[(row * k + i) * columns + column] = at(order[i]);
        indices[(row * k + i) * columns + column] = order[i];
      }
    }
  }
  const absl::StatusOr<std::vector<Array>> got =
      RunImported(builder, {FloatArray({rows, n, columns}, x)});
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectDefinition("values", (*got)[0], {rows, k, columns}, values);
  ASSERT_EQ(ToString((*got)[1].type),
            ToString(TensorType{DType::kI64, {rows, k, columns}}));
  for (size_t i = 0; i < indices.size(); ++i) {
    EXPECT_EQ(ElementAsInt((*got)[1], static_cast<int64_t>(i)), indices[i])
        << i;
  }
}

TEST(TopKImportTest, TakesTheFirstOfASort) {
  ExpectTopK(/*version=*/9, 2, /*largest=*/true);
  ExpectTopK(/*version=*/10, 3, /*largest=*/true);
  ExpectTopK(/*version=*/11, 5, /*largest=*/true);
  ExpectTopK(/*version=*/11, 2, /*largest=*/false);
  ExpectTopK(/*version=*/24, 1, /*largest=*/false);
}

// indices [2, 3], the new axis at `axis`.
void ExpectOneHot(int64_t axis, int64_t depth) {
  SCOPED_TRACE(absl::StrCat("axis ", axis));
  const std::vector<int64_t> indices = {0, 2, -1, depth - 1, depth, -depth - 1};
  OnnxBuilder builder(11);
  builder.Input("indices", {"2", "3"}, onnx::TensorProto::INT64)
      .Ints("depth", {1}, {depth})
      .Floats("values", {2}, {-1.5f, 2.5f})
      .Output("y");
  OnnxBuilder::Int(
      builder.Node("OneHot", {"indices", "depth", "values"}, {"y"}), "axis",
      axis);
  Dims y_dims = {2, 3};
  const int64_t place = axis < 0 ? axis + 3 : axis;
  y_dims.insert(y_dims.begin() + place, depth);
  std::vector<double> want(Product(y_dims), -1.5);
  for (int64_t row = 0; row < 2; ++row) {
    for (int64_t column = 0; column < 3; ++column) {
      int64_t index = indices[row * 3 + column];
      if (index < 0) index += depth;
      if (index < 0 || index >= depth) continue;  // off everywhere
      Dims at = {row, column};
      at.insert(at.begin() + place, index);
      want[(at[0] * y_dims[1] + at[1]) * y_dims[2] + at[2]] = 2.5;
    }
  }
  const absl::StatusOr<std::vector<Array>> got =
      RunImported(builder, {IntArray({2, 3}, indices)});
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectDefinition("y", (*got)[0], y_dims, want);
}

TEST(OneHotImportTest, IsOnAtTheIndexAndOffElsewhere) {
  for (const int64_t axis : {-1, 0, 1, 2, -3}) ExpectOneHot(axis, 4);
}

TEST(OneHotImportTest, DepthMayBeAFloat) {
  for (const float depth : {3.0f, 2.5f}) {
    OnnxBuilder builder;
    builder.Input("x", {"2"}, onnx::TensorProto::INT64).Output("y");
    builder.Floats("depth", {1}, {depth}).Floats("values", {2}, {0, 1});
    builder.Node("OneHot", {"x", "depth", "values"}, {"y"});
    if (depth != 3) {
      ExpectNotImported(builder, "operand 'depth' must be an integer");
      continue;
    }
    const absl::StatusOr<std::vector<Array>> got =
        RunImported(builder, {IntArray({2}, {2, 0})});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(
        Difference((*got)[0], FloatArray({2, 3}, {0, 0, 1, 1, 0, 0}), 0, 0),
        "");
  }
}

// [1, 2, h, w] by the corners: an output pixel at p lies at p / scale.
void ExpectUpsample(int64_t version, const std::string& mode, float scale_h,
                    float scale_w) {
  SCOPED_TRACE(absl::StrCat("version ", version, ", ", mode, " ", scale_h, " ",
                            scale_w));
  const int64_t h = 3;
  const int64_t w = 4;
  const std::vector<float> x = Wave(2 * h * w, 0.3);
  const std::vector<float> scales = {1, 1, scale_h, scale_w};
  OnnxBuilder builder(version);
  builder.Input("x", {"1", "2", "3", "4"}).Output("y");
  std::vector<std::string> in = {"x"};
  if (version >= 9) {
    builder.Floats("scales", {4}, scales);
    in.push_back("scales");
  }
  onnx::NodeProto& node = builder.Node("Upsample", in, {"y"});
  OnnxBuilder::String(node, "mode", mode);
  if (version < 9) OnnxBuilder::FloatList(node, "scales", scales);

  const auto out_h = static_cast<int64_t>(std::floor(h * scale_h));
  const auto out_w = static_cast<int64_t>(std::floor(w * scale_w));
  std::vector<double> want;
  for (int64_t channel = 0; channel < 2; ++channel) {
    const auto at = [&](int64_t row, int64_t column) {
      return static_cast<double>(x[(channel * h + std::min(row, h - 1)) * w +
                                   std::min(column, w - 1)]);
    };
    for (int64_t row = 0; row < out_h; ++row) {
      for (int64_t column = 0; column < out_w; ++column) {
        const double y_at = static_cast<double>(row) / scale_h;
        const double x_at = static_cast<double>(column) / scale_w;
        const auto top = static_cast<int64_t>(std::floor(y_at));
        const auto left = static_cast<int64_t>(std::floor(x_at));
        const double down = mode == "nearest" ? 0 : y_at - std::floor(y_at);
        const double right = mode == "nearest" ? 0 : x_at - std::floor(x_at);
        want.push_back((1 - down) * (1 - right) * at(top, left) +
                       (1 - down) * right * at(top, left + 1) +
                       down * (1 - right) * at(top + 1, left) +
                       down * right * at(top + 1, left + 1));
      }
    }
  }
  const absl::StatusOr<std::vector<Array>> got =
      RunImported(builder, {FloatArray({1, 2, h, w}, x)});
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectDefinition("y", (*got)[0], {1, 2, out_h, out_w}, want);
}

TEST(UpsampleImportTest, LooksFromTheCorner) {
  for (const int64_t version : {7, 9}) {
    for (const char* const mode : {"nearest", "linear"}) {
      ExpectUpsample(version, mode, 2, 3);
      ExpectUpsample(version, mode, 1.5f, 2.5f);
      ExpectUpsample(version, mode, 1, 4);
    }
  }
}

// Before version 21 scale and bias are of groups, afterwards of channels.
void ExpectGroupNormalization(int64_t version, int64_t groups) {
  SCOPED_TRACE(absl::StrCat("version ", version, ", groups ", groups));
  const int64_t n = 2;
  const int64_t channels = 6;
  const int64_t pixels = 4;
  const double epsilon = 1e-2;
  const int64_t each = channels / groups;
  const int64_t size = version < 21 ? groups : channels;
  const std::vector<float> x = Wave(n * channels * pixels, 0.3);
  const std::vector<float> scale = Wave(size, 0.5);
  const std::vector<float> bias = Wave(size, 0.7);
  OnnxBuilder builder(version);
  builder.Input("x", {"2", "6", "2", "2"})
      .Floats("scale", {size}, scale)
      .Floats("bias", {size}, bias)
      .Output("y");
  onnx::NodeProto& node =
      builder.Node("GroupNormalization", {"x", "scale", "bias"}, {"y"});
  OnnxBuilder::Int(node, "num_groups", groups);
  OnnxBuilder::Float(node, "epsilon", static_cast<float>(epsilon));

  const std::vector<double> in(x.begin(), x.end());
  std::vector<double> want(in.size());
  const int64_t group_size = each * pixels;
  for (int64_t group = 0; group < n * groups; ++group) {
    const double* const first = &in[group * group_size];
    const double mean =
        std::accumulate(first, first + group_size, 0.0) / group_size;
    double variance = 0;
    for (int64_t i = 0; i < group_size; ++i) {
      variance += (first[i] - mean) * (first[i] - mean) / group_size;
    }
    for (int64_t i = 0; i < group_size; ++i) {
      const int64_t channel = group % groups * each + i / pixels;
      const int64_t at = version < 21 ? channel / each : channel;
      want[group * group_size + i] =
          (first[i] - mean) / std::sqrt(variance + epsilon) * scale[at] +
          bias[at];
    }
  }
  const absl::StatusOr<std::vector<Array>> got =
      RunImported(builder, {FloatArray({n, channels, 2, 2}, x)});
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectDefinition("y", (*got)[0], {n, channels, 2, 2}, want);
}

TEST(GroupNormalizationImportTest, ScaleIsOfGroupsBeforeTwentyOne) {
  for (const int64_t version : {18, 21}) {
    for (const int64_t groups : {1, 2, 3, 6}) {
      ExpectGroupNormalization(version, groups);
    }
  }
}

TEST(GroupNormalizationImportTest, GroupsThatDoNotDivideAreRefused) {
  for (const int64_t groups : {0, 4}) {
    OnnxBuilder builder(18);
    builder.Input("x", {"2", "6", "2", "2"})
        .Floats("scale", {4}, {1, 1, 1, 1})
        .Floats("bias", {4}, {0, 0, 0, 0})
        .Output("y");
    OnnxBuilder::Int(
        builder.Node("GroupNormalization", {"x", "scale", "bias"}, {"y"}),
        "num_groups", groups);
    ExpectNotImported(builder,
                      absl::StrCat("divides the channels, got ", groups));
  }
}

TEST(OperatorsImportTest, ARangeThatIsTooLongSaysSo) {
  OnnxBuilder builder;
  builder.Ints("start", {}, {0}).Ints("limit", {}, {10'000'000});
  builder.Ints("delta", {}, {1}).Output("y");
  builder.Node("Range", {"start", "limit", "delta"}, {"y"});
  ExpectNotImported(builder,
                    "node 'Range_node' (Range): unsupported operator where its "
                    "result is not one of at most 1048576 elements");
}

TEST(OperatorsImportTest, ARangeOfInputsIsOneOnceTheyAreBound) {
  OnnxBuilder builder;
  builder.Input("limit", {}, onnx::TensorProto::INT64).Output("y");
  builder.Ints("start", {}, {2}).Ints("delta", {}, {3});
  builder.Node("Range", {"start", "limit", "delta"}, {"y"});
  ExpectNotImported(builder,
                    "each must be constant, it is the input 'limit': bind "
                    "content to it (--bind)");
  ImportOptions options;
  options.bind["limit"] = IntArray({}, {9});
  const absl::StatusOr<ImportedModel> imported = builder.Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->weights.size(), 1);
  EXPECT_EQ(
      Difference(imported->weights[0].array, IntArray({3}, {2, 5, 8}), 0, 0),
      "");
}

// What exporters write of Python's numbers: doubles that a Cast makes floats.
TEST(OperatorsImportTest, ADoubleThatIsCastIsWhatTheCastMakesOfIt) {
  for (const bool raw : {false, true}) {
    OnnxBuilder builder;
    builder.Input("x", {"3"}).Output("y");
    onnx::AttributeProto& value =
        *builder.Node("Constant", {}, {"wide"}).add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(onnx::TensorProto::DOUBLE);
    const double tenth = 0.1;
    if (raw) {
      value.mutable_t()->set_raw_data(&tenth, sizeof(tenth));
    } else {
      value.mutable_t()->add_double_data(tenth);
    }
    OnnxBuilder::Int(builder.Node("Cast", {"wide"}, {"least"}), "to",
                     onnx::TensorProto::FLOAT);
    builder.Node("Clip", {"x", "least"}, {"y"});
    const absl::StatusOr<std::vector<Array>> got =
        RunImported(builder, {FloatArray({3}, {-1, 0.25f, 3})});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(Difference((*got)[0], FloatArray({3}, {0.1f, 0.25f, 3}), 0, 0),
              "");

    // Read by anything else it stays what it is.
    builder.Output("wide");
    ExpectNotImported(builder, "element type DOUBLE is not supported");
  }
}

TEST(OperatorsImportTest, AClipOfIntegersIsOne) {
  OnnxBuilder builder;
  builder.Input("x", {"4"}, onnx::TensorProto::INT64).Output("y");
  builder.Ints("least", {}, {1}).Ints("most", {}, {5});
  builder.Node("Clip", {"x", "least", "most"}, {"y"});
  const absl::StatusOr<std::vector<Array>> got =
      RunImported(builder, {IntArray({4}, {-7, 1, 4, int64_t{1} << 40})});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(Difference((*got)[0], IntArray({4}, {1, 1, 4, 5}), 0, 0), "");

  OnnxBuilder large;
  large.Input("x", {"4"}, onnx::TensorProto::INT64).Output("y");
  large.Ints("least", {}, {(1 << 24) + 2});
  large.Node("Clip", {"x", "least"}, {"y"});
  ExpectNotImported(large, "min of integers must be within 1.67772e+07 of 0");
}

// The first of the largest; before version 13 of everything from the axis on.
TEST(OperatorsImportTest, HardmaxIsOneAtTheFirstOfTheLargest) {
  const Array x = FloatArray({2, 2, 2}, {1, 5, 5, 0, 2, 1, 2, 2});
  const auto run = [&x](int64_t version, int64_t axis) {
    OnnxBuilder builder(version);
    builder.Input("x", {"2", "2", "2"}).Output("y");
    OnnxBuilder::Int(builder.Node("Hardmax", {"x"}, {"y"}), "axis", axis);
    const absl::StatusOr<std::vector<Array>> got = RunImported(builder, {x});
    EXPECT_TRUE(got.ok()) << got.status();
    return got.ok() ? (*got)[0] : Array();
  };
  EXPECT_EQ(Difference(run(13, 1),
                       FloatArray({2, 2, 2}, {0, 1, 1, 0, 1, 0, 0, 1}), 0, 0),
            "");
  EXPECT_EQ(Difference(run(11, 1),
                       FloatArray({2, 2, 2}, {0, 1, 0, 0, 1, 0, 0, 0}), 0, 0),
            "");
}

// x = [-1, 1] in every row: (x - mean) / deviation is x, up to epsilon.
TEST(OperatorsImportTest, ScaleAndBiasOfRowsBroadcast) {
  OnnxBuilder builder;
  builder.Input("x", {"2", "2"}).Output("y");
  builder.Floats("scale", {1}, {3}).Floats("b", {2}, {10, 20});
  OnnxBuilder::Int(
      builder.Node("LayerNormalization", {"x", "scale", "b"}, {"y"}), "axis",
      0);
  const absl::StatusOr<std::vector<Array>> got =
      RunImported(builder, {FloatArray({2, 2}, {-1, 1, 1, -1})});
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectDefinition("y", (*got)[0], {2, 2}, {7, 23, 13, 17});
}

}  // namespace
}  // namespace reprise
