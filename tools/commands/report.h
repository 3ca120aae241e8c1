// Plans and their explanations, as text and JSON. docs/cli.md names the keys.

#ifndef TOOLS_COMMANDS_REPORT_H_
#define TOOLS_COMMANDS_REPORT_H_

#include <string>

#include "nlohmann/json.hpp"
#include "reprise.h"

namespace reprise {

using Json = nlohmann::ordered_json;

// [{value, type, bytes, producer, readers, region, reason}]
Json ResidualsJson(const PlanReport& report);

// [{name, policy, bytes_avoided, peak_bytes_avoided, steps_replayed, verdict}]
Json RegionsJson(const PlanReport& report);

// {parameters, gradients, ..., scratchpads}
Json BytesByClassJson(const BytesByClass& bytes);

std::string ResidualsText(const PlanReport& report);
std::string RegionsText(const PlanReport& report);

// One line for each class that has bytes, with its share.
std::string BytesByClassText(const BytesByClass& bytes);

// Returns the sum of the bytes that keeping the residuals adds.
int64_t ResidualBytes(const PlanReport& report);

// Returns cost of replays / cost of all other steps; 0 without cost.
double RecomputeCostFraction(const PlanReport& report);

// Returns e.g. "train", "evaluate".
std::string ModeName(PlanMode mode);

// Returns `json` as it is printed: indented, a newline at the end. Text that
// is not UTF-8 is shown with replacement characters.
std::string Dump(const Json& json);

}  // namespace reprise

#endif  // TOOLS_COMMANDS_REPORT_H_
