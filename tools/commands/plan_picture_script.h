// What draws a plan in a browser.

#ifndef TOOLS_COMMANDS_PLAN_PICTURE_SCRIPT_H_
#define TOOLS_COMMANDS_PLAN_PICTURE_SCRIPT_H_

namespace reprise {

// CSS of what the script draws into, and of the legend.
extern const char kPlanPictureStyle[];

// JavaScript that draws the data of the page (PlanPictureData), in the elements
// that PlanPicture gives it: `plan` with the data, `frame` with the canvas
// `picture` and `tip`, `to-scale`, `whole` and `range`.
extern const char kPlanPictureScript[];

}  // namespace reprise

#endif  // TOOLS_COMMANDS_PLAN_PICTURE_SCRIPT_H_
