// Losses and accuracies as text and JSON.

#ifndef TOOLS_COMMANDS_METRICS_REPORT_H_
#define TOOLS_COMMANDS_METRICS_REPORT_H_

#include <string>

#include "tools/commands/report.h"
#include "tools/training/batches.h"

namespace reprise {

// Returns e.g. "loss 0.1234, accuracy 96.12 %"; for text "loss 1.6, 2.31 bits
// per character".
//
//   text: the rows are windows of a text.
std::string MetricsText(const Metrics& metrics, bool text);

// {rows, loss, accuracy} with {correct, labels} where the model has scores, and
// {bits_per_character} for text.
Json MetricsJson(const Metrics& metrics, bool text);

}  // namespace reprise

#endif  // TOOLS_COMMANDS_METRICS_REPORT_H_
