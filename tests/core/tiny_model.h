// A small model file, and text to add to it or to change in it, for tests of
// what is refused.

#ifndef TESTS_CORE_TINY_MODEL_H_
#define TESTS_CORE_TINY_MODEL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/load.h"
#include "core/op_table.h"
#include "core/proto_file.h"

namespace reprise {

// y = relu(x w); l = sum(y)
inline constexpr absl::string_view kTinyModel = R"(
format_version: 1
name: "tiny"
symbol { name: "batch" default_value: 4 }
input { name: "x" type { dtype: FLOAT32 dim { symbol: "batch" } dim { value: 3 } } }
parameter { name: "w" type { dtype: FLOAT32 dim { value: 3 } dim { value: 2 } } }
region { name: "r" }
node { name: "fc" op: "MatMul" input: "x" input: "w" output: "h" region: "r" }
node { name: "act" op: "Relu" input: "h" output: "y" }
node { name: "sum" op: "ReduceSum" input: "y" output: "l" }
output: "y"
loss { value: "l" }
)";

// Returns `inside` within `times` pairs of `open` and `close`.
inline std::string Nested(absl::string_view open, absl::string_view inside,
                          absl::string_view close, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) absl::StrAppend(&text, open);
  absl::StrAppend(&text, inside);
  for (int i = 0; i < times; ++i) absl::StrAppend(&text, close);
  return text;
}

// Returns regions c1, c2, ..., each but the first inside of the one before.
inline std::string RegionChain(int length) {
  std::string text;
  for (int i = 1; i <= length; ++i) {
    absl::StrAppend(&text, "region { name: \"c", i, "\" ",
                    i > 1 ? absl::StrCat("parent: \"c", i - 1, "\"") : "",
                    " }\n");
  }
  return text;
}

// Returns a parameter `p`.
inline std::string Param(absl::string_view rest) {
  return absl::StrCat("parameter { name: \"p\" ", rest, " }");
}

// Loads a model file's text, as of `model.textproto`.
inline absl::StatusOr<Graph> LoadText(absl::string_view text,
                                      const OpTable& ops,
                                      const Bindings& bindings = {}) {
  proto::Graph file;
  const absl::Status parsed = ParseText(text, "model.textproto", file);
  if (!parsed.ok()) return parsed;
  return LoadGraph(file, ops, bindings, "model.textproto");
}

}  // namespace reprise

#endif  // TESTS_CORE_TINY_MODEL_H_
