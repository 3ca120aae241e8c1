// Aligned columns of text.

#ifndef TOOLS_COMMANDS_TEXT_TABLE_H_
#define TOOLS_COMMANDS_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace reprise {

class TextTable {
 public:
  // `header` names the columns; a name that begins with '>' stands for itself
  // without that sign, over a column aligned to the right.
  explicit TextTable(std::vector<std::string> header);

  // As many cells as there are columns.
  void AddRow(std::vector<std::string> cells);

  bool empty() const { return rows_.size() == 1; }

  // Returns the lines, each indented by two spaces.
  std::string ToString() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;  // the header first
};

}  // namespace reprise

#endif  // TOOLS_COMMANDS_TEXT_TABLE_H_
