#include "core/attributes.h"

#include <cmath>
#include <set>
#include <string>

#include "core/node_appender.h"
#include "gtest/gtest.h"
#include "tests/testing/toy_ops.h"

namespace reprise {
namespace {

TEST(AttrsTest, HoldWhatTheyAreGiven) {
  Attrs attrs({{"axis", int64_t{1}}, {"alpha", 0.5f}});
  EXPECT_EQ(attrs.Int("axis"), 1);
  EXPECT_EQ(attrs.Float("alpha"), 0.5f);
  EXPECT_FALSE(attrs.Has("perm"));
  attrs.Set("perm", Ints{1, 0});
  attrs.Set("axis", int64_t{2});
  EXPECT_EQ(attrs.IntList("perm"), (Ints{1, 0}));
  EXPECT_EQ(attrs.Int("axis"), 2);
  attrs.Erase("perm");
  EXPECT_FALSE(attrs.Has("perm"));
}

TEST(AttrsTest, TextIsInTheOrderOfNames) {
  EXPECT_EQ(ToString(Attrs({{"keepdims", int64_t{1}}, {"axes", Ints{0, 2}}})),
            "axes=[0,2],keepdims=1");
}

// Kernels are shared and fingerprints made by this text.
TEST(AttrsTest, DifferentValuesHaveDifferentText) {
  const std::vector<AttrValue> values = {int64_t{1},
                                         int64_t{-1},
                                         1.0f,
                                         std::nextafter(1.0f, 2.0f),
                                         0.0f,
                                         -0.0f,
                                         std::string("1"),
                                         std::string("\"1\""),
                                         std::string("true"),
                                         std::string(),
                                         true,
                                         false,
                                         DType::kF32,
                                         DType::kI32,
                                         Ints{},
                                         Ints{1},
                                         Ints{1, 1},
                                         Ints{11},
                                         Floats{},
                                         Floats{1},
                                         Floats{1, 1},
                                         Literal{{DType::kU8, {1}}, "a"},
                                         Literal{{DType::kU8, {1}}, "b"},
                                         Literal{{DType::kU8, {1, 1}}, "a"},
                                         Literal{{DType::kBool, {1}}, "a"}};
  std::set<std::string> texts;
  for (const AttrValue& value : values) texts.insert(ToString(value));
  EXPECT_EQ(texts.size(), values.size());
}

TEST(CompleteAttrsTest, FillsInDefaultsAndLeavesOptionalOnesOut) {
  OpDef op = ToyOp("Op", 1);
  op.attrs = {AttrSpec("alpha", AttrValue(0.5f)),
              AttrSpec("perm", AttrKind::kInts),
              AttrSpec("axis", AttrKind::kInt, AttrSpec::kRequired)};
  const absl::StatusOr<Attrs> attrs =
      CompleteAttrs(op, Attrs({{"axis", int64_t{3}}}));
  ASSERT_TRUE(attrs.ok()) << attrs.status();
  EXPECT_EQ(*attrs, Attrs({{"axis", int64_t{3}}, {"alpha", 0.5f}}));
}

TEST(AttrSpecTest, KindsFollowTheDefault) {
  EXPECT_EQ(AttrSpec("a", AttrValue(int64_t{1})).kind, AttrKind::kInt);
  EXPECT_EQ(AttrSpec("a", AttrValue(1.0f)).kind, AttrKind::kFloat);
  EXPECT_EQ(AttrSpec("a", AttrValue(std::string())).kind, AttrKind::kString);
  EXPECT_EQ(AttrSpec("a", AttrValue(true)).kind, AttrKind::kBool);
  EXPECT_EQ(AttrSpec("a", AttrValue(DType::kF32)).kind, AttrKind::kType);
  EXPECT_EQ(AttrSpec("a", AttrValue(Ints())).kind, AttrKind::kInts);
  EXPECT_EQ(AttrSpec("a", AttrValue(Floats())).kind, AttrKind::kFloats);
  EXPECT_EQ(AttrSpec("a", AttrValue(Literal())).kind, AttrKind::kTensor);
}

}  // namespace
}  // namespace reprise
