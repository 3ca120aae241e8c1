#include "tools/commands/metrics_report.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace reprise {
namespace {

// The loss of a text model is in nats per character.
double BitsPerCharacter(const Metrics& metrics) {
  return metrics.loss() / std::log(2.0);
}

}  // namespace

std::string MetricsText(const Metrics& metrics, bool text) {
  // The sign of a NaN means nothing.
  std::string line = std::isnan(metrics.loss())
                         ? "loss nan"
                         : absl::StrFormat("loss %.4f", metrics.loss());
  if (text) {
    absl::StrAppendFormat(&line, ", %.3f bits per character",
                          BitsPerCharacter(metrics));
  } else if (metrics.has_accuracy()) {
    absl::StrAppendFormat(&line, ", accuracy %.2f %%",
                          100 * metrics.accuracy());
  }
  return line;
}

Json MetricsJson(const Metrics& metrics, bool text) {
  Json json = {{"rows", metrics.rows}, {"loss", metrics.loss()}};
  if (metrics.has_accuracy()) {
    json["accuracy"] = metrics.accuracy();
    json["correct"] = metrics.correct;
    json["labels"] = metrics.labels;
  }
  if (text) json["bits_per_character"] = BitsPerCharacter(metrics);
  return json;
}

}  // namespace reprise
