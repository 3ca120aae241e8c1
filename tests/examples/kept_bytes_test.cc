// The bytes that the heads of mnist_cnn and char_transformer name.

#include <map>
#include <string>

#include "gtest/gtest.h"
#include "reprise.h"

namespace reprise {
namespace {

PlanReport ReportOf(const std::string& path) {
  const absl::StatusOr<proto::Graph> graph = ReadGraphFile(path);
  EXPECT_TRUE(graph.ok()) << graph.status();
  proto::TrainConfig config;
  config.set_format_version(1);
  config.mutable_adamw();
  TrainerOptions options;
  options.threads = 1;
  options.evaluate = false;
  absl::StatusOr<PlannedTrainer> planned = PlanTrainer(*graph, config, options);
  EXPECT_TRUE(planned.ok()) << planned.status();
  return planned.ok() ? planned->reports[0] : PlanReport();
}

int64_t KeptBytes(const PlanReport& report) {
  int64_t bytes = 0;
  for (const Residual& residual : report.residuals) bytes += residual.bytes;
  return bytes;
}

std::map<std::string, int64_t> BytesAvoided(const PlanReport& report) {
  std::map<std::string, int64_t> bytes;
  for (const RegionReport& region : report.regions) {
    bytes[region.name] = region.bytes_avoided;
  }
  return bytes;
}

TEST(KeptBytesTest, OfMnistCnnAreThoseOfItsHead) {
  const PlanReport report = ReportOf("examples/mnist_cnn.textproto");
  // block1.y, block2.y, hidden.dropped, logits.z
  EXPECT_EQ(KeptBytes(report), 802'816 + 401'408 + 32'768 + 2'560);
  const int64_t c = 4 * 64 * 16 * 28 * 28;
  const std::map<std::string, int64_t> want = {{"block1", 2 * c + c / 16},
                                               {"block2", (2 * c + c / 16) / 2},
                                               {"head", 4 * 64 * 128}};
  EXPECT_EQ(BytesAvoided(report), want);
}

TEST(KeptBytesTest, OfCharTransformerAreThoseOfItsHead) {
  const PlanReport report = ReportOf("examples/char_transformer.textproto");
  const int64_t e = 4 * 32 * 64 * 64;
  const int64_t statistics = 2 * 4 * 2'048;  // of one norm
  EXPECT_EQ(KeptBytes(report), 10 * e + statistics);
  for (const auto& [name, bytes] : BytesAvoided(report)) {
    EXPECT_EQ(bytes, 23 * e + 2 * statistics) << name;
  }
}

}  // namespace
}  // namespace reprise
