#include "tools/commands/progress.h"

#include <algorithm>

namespace reprise {
namespace {

constexpr int64_t kBarWidth = 30;
constexpr std::chrono::milliseconds kInterval(100);

}  // namespace

void Progress::Update(int64_t done, const std::string& remark) {
  if (!console_.err_is_terminal) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && now - last_ < kInterval) return;
  last_ = now;
  const int64_t filled = kBarWidth * std::min(done, total_) / total_;
  Erase();
  console_.err << "[" << std::string(filled, '#')
               << std::string(kBarWidth - filled, '.') << "] " << done << "/"
               << total_ << "  " << remark << std::flush;
  drawn_ = true;
}

void Progress::Line(const std::string& line) {
  Erase();
  console_.out << line << "\n" << std::flush;
}

void Progress::Erase() {
  // To the line's begin; erase to its end.
  if (drawn_) console_.err << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace reprise
