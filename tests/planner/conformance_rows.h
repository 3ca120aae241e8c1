// The graphs of the residual conformance table, written in the project's text
// format.

#ifndef TESTS_PLANNER_CONFORMANCE_ROWS_H_
#define TESTS_PLANNER_CONFORMANCE_ROWS_H_

#include <map>
#include <string>
#include <vector>

namespace reprise {

// A model as text, and what of it is differentiated.
struct RowModel {
  std::string text;
  std::vector<std::string> differentiated;
};

// Writes models out of the kinds of operators that the table speaks of. Every
// matrix is square; a node lies in the region opened last.
class ModelWriter {
 public:
  // Each returns the name of its result: `name`, or one that is made up.
  std::string Arg(const std::string& name, bool differentiated = true);
  std::string S(const std::string& in, const std::string& name = "");
  std::string D(const std::string& in, const std::string& name = "");
  // S or D by letter.
  std::string Act(char kind, const std::string& in,
                  const std::string& name = "");
  std::string L(const std::string& a, const std::string& b);
  std::string Dot(const std::string& a, const std::string& b,
                  const std::string& name = "");
  std::string Mul(const std::string& a, const std::string& b);
  std::string Softmax(const std::string& in);
  std::string MaxPool(const std::string& in);
  std::string LayerNorm(const std::string& in);

  // Nodes that follow lie in a new region inside the present one.
  //
  //   policy: a field of proto Policy, e.g. "save_matmuls: true"; empty: the
  //           default.
  void Open(const std::string& name, const std::string& policy = "");
  void Close();
  // Nodes that follow lie in a region that was opened before.
  void Reopen(const std::string& name);

  // Adds to the text, e.g. "annotation { ... }".
  void AddText(const std::string& text) { text_ += text; }

  // Returns the model whose loss is the sum of `out`.
  RowModel Finish(const std::string& out);

 private:
  std::string AddNode(const std::string& op, const std::vector<std::string>& in,
                      const std::string& name,
                      const std::string& attributes = "");

  std::string text_ = "format_version: 1\nname: \"row\"\n";
  std::vector<std::string> differentiated_;
  std::map<std::string, bool> args_;
  std::vector<std::string> open_;
  int num_nodes_ = 0;
};

// Returns the model of a row of the shared table, e.g. "S01"; an empty text if
// there is none.
RowModel SharedRow(const std::string& id);

}  // namespace reprise

#endif  // TESTS_PLANNER_CONFORMANCE_ROWS_H_
