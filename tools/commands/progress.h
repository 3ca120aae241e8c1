// How a long run shows that it moves: a bar that redraws itself on a terminal,
// plain lines elsewhere.

#ifndef TOOLS_COMMANDS_PROGRESS_H_
#define TOOLS_COMMANDS_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "tools/commands/command.h"

namespace reprise {

class Progress {
 public:
  // total: steps of the whole run, >= 1.
  Progress(const Console& console, int64_t total)
      : console_(console), total_(total) {}

  // Erases the bar.
  ~Progress() { Erase(); }

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows the bar at `done` steps with a remark; at most ten times a second,
  // and only on a terminal.
  void Update(int64_t done, const std::string& remark);

  // Prints a line that stays.
  void Line(const std::string& line);

 private:
  void Erase();

  const Console& console_;
  int64_t total_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_ = {};
};

}  // namespace reprise

#endif  // TOOLS_COMMANDS_PROGRESS_H_
