#include "tools/commands/text_table.h"

#include <algorithm>
#include <utility>

#include "core/status_macros.h"

namespace reprise {

TextTable::TextTable(std::vector<std::string> header) {
  for (std::string& name : header) {
    right_.push_back(!name.empty() && name[0] == '>');
    if (right_.back()) name.erase(0, 1);
  }
  rows_.push_back(std::move(header));
}

void TextTable::AddRow(std::vector<std::string> cells) {
  REPRISE_CHECK(cells.size() == right_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToString() const {
  std::vector<size_t> widths(right_.size(), 0);
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += "  " + (right_[i] ? padding + row[i] : row[i] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace reprise
