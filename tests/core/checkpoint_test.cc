#include "core/checkpoint.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/safetensors.h"
#include "gtest/gtest.h"
#include "tests/testing/test_path.h"

namespace reprise {
namespace {

// A trainer's persistent values: w [2], its slot, a state, an accumulator and a
// scalar.
struct Values {
  std::vector<float> w = {1, 2};
  std::vector<float> slot = {3, 4};
  std::vector<int64_t> count = {5};
  std::vector<float> sum = {6, 7};
  int64_t step = 8;

  std::vector<PersistentTensor> tensors() {
    const TensorType pair = {DType::kF32, {2}};
    return {{"w", pair, ValueKind::kParameter, w.data()},
            {"__slot/momentum_buffer/w", pair, ValueKind::kSlot, slot.data()},
            {"count", {DType::kI64, {}}, ValueKind::kState, count.data()},
            {"__sum/w", pair, ValueKind::kAccumulator, sum.data()},
            {"__step", {DType::kI64, {}}, ValueKind::kScalar, &step}};
  }
  void Clear() {
    w = slot = sum = {0, 0};
    count = {0};
    step = 0;
  }
};

TrainingPosition Position() {
  TrainingPosition position;
  position.step = 1000;
  position.micro_step = 3;
  position.seed = 18446744073709551615u;
  position.fingerprints = {"parameters", "math"};
  return position;
}

TEST(CheckpointTest, BringsBackEverythingButScalars) {
  const std::string path = TestPath("whole");
  Values values;
  ASSERT_TRUE(SaveCheckpoint(path, values.tensors(), Position()).ok());
  values.Clear();
  const absl::StatusOr<TrainingPosition> position =
      LoadCheckpoint(path, values.tensors(), Position(), false);
  ASSERT_TRUE(position.ok()) << position.status();
  EXPECT_EQ(position->step, 1000);
  EXPECT_EQ(position->micro_step, 3);
  EXPECT_EQ(position->seed, 18446744073709551615u);
  EXPECT_EQ(values.w, (std::vector<float>{1, 2}));
  EXPECT_EQ(values.slot, (std::vector<float>{3, 4}));
  EXPECT_EQ(values.count, std::vector<int64_t>{5});
  EXPECT_EQ(values.sum, (std::vector<float>{6, 7}));
  EXPECT_EQ(values.step, 0);
}

TEST(CheckpointTest, NamesEverythingThatDiffersAndReadsNothing) {
  const std::string path = TestPath("differs");
  Values values;
  ASSERT_TRUE(SaveCheckpoint(path, values.tensors(), Position()).ok());
  values.Clear();
  std::vector<PersistentTensor> tensors = values.tensors();
  tensors[1].name = "__slot/exp_avg/w";
  tensors[3].type = {DType::kF32, {1}};
  TrainingPosition here = Position();
  here.seed = 7;
  here.fingerprints = {"other", "else"};
  const absl::Status status =
      LoadCheckpoint(path, tensors, here, false).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(
      status.message(),
      absl::StrCat(
          path, ": '__slot/exp_avg/w' f32[2] is not in the file\n",  //
          path, ": '__sum/w' is f32[2] in the file, f32[1] here\n",  //
          path,
          ": '__slot/momentum_buffer/w' f32[2] of the file is unknown here\n",
          path,
          ": names and types of parameters and states have the fingerprint "
          "'parameters' in the file, 'other' here\n",
          path,
          ": nodes, attributes and the binding of symbols have the fingerprint "
          "'math' in the file, 'else' here\n",
          path, ": the seed is '18446744073709551615' in the file, '7' here"));
  EXPECT_EQ(values.w, (std::vector<float>{0, 0}));
}

TEST(CheckpointTest, MayGoOnWithDifferentMath) {
  const std::string path = TestPath("math");
  Values values;
  ASSERT_TRUE(SaveCheckpoint(path, values.tensors(), Position()).ok());
  TrainingPosition here = Position();
  here.fingerprints.math = "a larger batch";
  EXPECT_TRUE(LoadCheckpoint(path, values.tensors(), here, true).ok());
  here.fingerprints.parameters = "another model";
  EXPECT_FALSE(LoadCheckpoint(path, values.tensors(), here, true).ok());
}

TEST(CheckpointTest, RefusesFilesThatAreNone) {
  const std::string path = TestPath("weights");
  Values values;
  ASSERT_TRUE(SaveWeights(path, values.tensors()).ok());
  EXPECT_EQ(LoadCheckpoint(path, values.tensors(), Position(), false)
                .status()
                .message(),
            path +
                ": is no checkpoint that this program reads: its format is "
                "'reprise weights 1', not 'reprise checkpoint 1'");
  ASSERT_TRUE(
      WriteSafetensors(path, {},
                       {{"format", "reprise checkpoint 1"}, {"step", "-1"}})
          .ok());
  EXPECT_EQ(LoadCheckpoint(path, {}, Position(), false).status().message(),
            path + ": a checkpoint has a number as metadata 'step', got '-1'");
}

TEST(WeightsTest, AreParametersAndStatesUnderTheirOwnNames) {
  const std::string path = TestPath("bare");
  Values values;
  ASSERT_TRUE(SaveWeights(path, values.tensors()).ok());
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->entries().size(), 2u);
  EXPECT_EQ(file->entries()[0].name, "count");
  EXPECT_EQ(file->entries()[1].name, "w");
}

TEST(WeightsTest, ComeFromACheckpointToo) {
  const std::string path = TestPath("from_checkpoint");
  Values values;
  ASSERT_TRUE(SaveCheckpoint(path, values.tensors(), Position()).ok());
  values.Clear();
  const absl::Status status = LoadWeights(path, values.tensors());
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(values.w, (std::vector<float>{1, 2}));
  EXPECT_EQ(values.count, std::vector<int64_t>{5});
  EXPECT_EQ(values.slot, (std::vector<float>{0, 0}));
}

TEST(WeightsTest, EveryNameCountsInBothDirections) {
  const std::string path = TestPath("names");
  const float x = 1;
  ASSERT_TRUE(WriteSafetensors(path, {{"v", {DType::kF32, {}}, &x}}, {}).ok());
  Values values;
  const absl::Status status = LoadWeights(path, values.tensors());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            absl::StrCat(path, ": 'w' f32[2] is not in the file\n",     //
                         path, ": 'count' i64[] is not in the file\n",  //
                         path, ": 'v' f32[] of the file is unknown here"));
}

TEST(WeightsTest, ComeFromMemoryAsFromAFile) {
  Values values;
  values.Clear();
  const float w[] = {7, 8};
  const int64_t count = 9;
  const absl::Status status = CopyWeights(
      {{"w", {DType::kF32, {2}}, w}, {"count", {DType::kI64, {}}, &count}},
      values.tensors(), "here");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(values.w, (std::vector<float>{7, 8}));
  EXPECT_EQ(values.count, std::vector<int64_t>{9});
}

TEST(WeightsTest, FromMemoryEveryNameCountsInBothDirections) {
  const float x = 1;
  Values values;
  const std::vector<float> before = values.w;
  const absl::Status status =
      CopyWeights({{"v", {DType::kF32, {}}, &x}, {"w", {DType::kF32, {}}, &x}},
                  values.tensors(), "here");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "here: 'w' is given as f32[], and is f32[2] here\n"
            "here: 'count' i64[] is not given\n"
            "here: 'v' f32[] is given and unknown here");
  EXPECT_EQ(values.w, before);
}

}  // namespace
}  // namespace reprise
