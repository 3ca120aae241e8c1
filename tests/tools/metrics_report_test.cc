#include "tools/commands/metrics_report.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace reprise {
namespace {

// 3 rows of a loss of 0.5; of 4 labels 3 are right.
TEST(MetricsTextTest, ShowsTheLossOfARowAndTheAccuracy) {
  Metrics metrics;
  metrics.rows = 3;
  metrics.loss_sum = 1.5;
  metrics.labels = 4;
  metrics.correct = 3;
  EXPECT_EQ(MetricsText(metrics, /*text=*/false),
            "loss 0.5000, accuracy 75.00 %");
}

TEST(MetricsTextTest, NanHasNoSign) {
  Metrics metrics;
  metrics.rows = 1;
  metrics.loss_sum =
      std::copysign(std::numeric_limits<double>::quiet_NaN(), -1.0);
  EXPECT_EQ(MetricsText(metrics, /*text=*/false), "loss nan");
}

}  // namespace
}  // namespace reprise
