// Arena bytes of the examples, under recorded descriptions: equal on every
// machine. A change of a number here is a change of what users pay; say so in
// the commit. After a change of what kernels ask for, record anew (see
// record_descriptions.cc).

#include <map>
#include <string>

#include "core/file.h"
#include "gtest/gtest.h"
#include "tests/flow/pinned_examples.h"
#include "tests/testing/recorded_ops.h"

namespace reprise {
namespace {

TEST(PinnedArenaTest, ExamplesNeedWhatTheyNeeded) {
  const absl::StatusOr<std::string> text =
      ReadFile("tests/flow/descriptions.txt", /*max_bytes=*/1 << 20);
  ASSERT_TRUE(text.ok()) << text.status();
  const absl::StatusOr<Recording> recording = FromText(*text);
  ASSERT_TRUE(recording.ok()) << recording.status();
  const OpTable ops(RecordedOps(*recording));
  // Arena bytes; each equals the lower bound of its schedule.
  const std::map<std::string, int64_t> pinned = {
      {"lesson", 1492032},
      {"lesson_layer", 1492032},
      {"lesson_two_layers", 1229888},
      {"digits_mlp", 867840},
      {"mnist_cnn", 13324992},
      {"char_transformer", 20412224},
      {"deep_mlp", 4868864},
  };
  for (const std::string& name : PinnedExamples()) {
    const absl::StatusOr<Plan> plan = PlanExample(name, ops);
    ASSERT_TRUE(plan.ok()) << name << ": " << plan.status();
    EXPECT_EQ(plan->end_bytes, pinned.at(name)) << name;
    EXPECT_EQ(plan->end_bytes, plan->peak_live_bytes) << name;
  }
}

}  // namespace
}  // namespace reprise
