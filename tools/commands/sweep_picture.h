// The trade-off of memory against time as a picture.

#ifndef TOOLS_COMMANDS_SWEEP_PICTURE_H_
#define TOOLS_COMMANDS_SWEEP_PICTURE_H_

#include <string>

#include "reprise.h"

namespace reprise {

// Returns added cost / cost; 0 without cost.
double AddedFraction(const TradeOff& point);

// Returns a page that needs nothing but itself: arena against added cost, a
// circle for each plan of the curve, the graph as annotated and save everything
// marked, the working set as the bound.
std::string SweepPicture(const std::string& model, const Sweep& sweep);

}  // namespace reprise

#endif  // TOOLS_COMMANDS_SWEEP_PICTURE_H_
