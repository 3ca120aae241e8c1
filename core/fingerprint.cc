// Fingerprints are digests of a text that names everything that counts, one
// item a line. Names hold no space and attribute strings are escaped, so
// different content gives different text.
//
//   input x f32[32,784]
//   node fc1 MatMul{} (x,w1) (h1)
//
// Tested by tests/core/fingerprint_test.cc.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/load.h"
#include "core/sha256.h"

namespace reprise {
namespace {

// The version of the text below: raised whenever its form changes.
constexpr absl::string_view kParametersHead = "reprise parameters 1\n";
constexpr absl::string_view kMathHead = "reprise math 1\n";

std::string TypedName(const Graph& graph, ValueId v) {
  const Value& value = graph.values[v];
  return absl::StrCat(value.name, " ", ToString(value.type));
}

std::string NameList(const Graph& graph, const std::vector<ValueId>& values) {
  return absl::StrCat("(",
                      absl::StrJoin(values, ",",
                                    [&graph](std::string* out, ValueId v) {
                                      if (v != kNoValue) {
                                        absl::StrAppend(out,
                                                        graph.values[v].name);
                                      }
                                    }),
                      ")");
}

// What a weights file holds, whatever the order in the model file.
std::string ParametersDigest(const Graph& graph) {
  std::vector<std::string> lines;
  for (const Parameter& parameter : graph.parameters) {
    lines.push_back(
        absl::StrCat("parameter ", TypedName(graph, parameter.value), "\n"));
  }
  for (const State& state : graph.states) {
    lines.push_back(
        absl::StrCat("state ", TypedName(graph, state.value), "\n"));
  }
  std::sort(lines.begin(), lines.end());
  return Sha256Hex(absl::StrCat(kParametersHead, absl::StrJoin(lines, "")));
}

std::string MathDigest(const Graph& graph) {
  Sha256 hash;
  hash.Update(kMathHead);
  for (const ValueId v : graph.inputs) {
    hash.Update(absl::StrCat("input ", TypedName(graph, v), "\n"));
  }
  for (const Parameter& parameter : graph.parameters) {
    hash.Update(absl::StrCat("parameter ", TypedName(graph, parameter.value),
                             parameter.trainable ? " trained\n" : "\n"));
  }
  for (const State& state : graph.states) {
    hash.Update(absl::StrCat("state ", TypedName(graph, state.value), " ",
                             NameList(graph, {state.next}), "\n"));
  }
  for (const Node& node : graph.nodes) {
    hash.Update(absl::StrCat(
        "node ", node.name, " ", node.op->name, "{", ToString(node.attrs), "} ",
        NameList(graph, node.in), " ", NameList(graph, node.out), "\n"));
  }
  hash.Update(absl::StrCat("outputs ", NameList(graph, graph.outputs), "\n"));
  for (const Loss& loss : graph.losses) {
    uint32_t bits;
    std::memcpy(&bits, &loss.weight, sizeof(bits));
    hash.Update(absl::StrCat("loss ", graph.values[loss.value].name, " ",
                             absl::Hex(bits), "\n"));
  }
  return absl::BytesToHexString(hash.Finish());
}

}  // namespace

Fingerprints FingerprintsOf(const Graph& graph) {
  return {ParametersDigest(graph), MathDigest(graph)};
}

}  // namespace reprise
