// The zoo: networks that people measure by, made at any size.
//
// Each model comes with its loss and labels, and with a region per block where
// that is asked for. The same request gives the same text, byte for byte.

#ifndef TOOLS_ZOO_ZOO_H_
#define TOOLS_ZOO_ZOO_H_

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/graph.pb.h"

namespace reprise {

// Sizes of a model by the name of their flag: "batch", "width", ...
using ZooSizes = std::map<std::string, int64_t>;

inline constexpr int64_t kMaxZooSize = 1'000'000;

struct ZooModel {
  std::string name;
  std::string summary;  // what it is, in one line
  ZooSizes sizes;       // every size that the model has, with its default
  int64_t max_blocks;   // of the size "blocks"
  bool has_dropout;     // whether the published model has places for it
  std::string remark;   // what a reader of the graph should know; may be empty
};

// In the order in which they are shown.
std::vector<ZooModel> ZooModels();

// "--batch=8 --blocks=6 ...".
std::string ToFlags(const ZooSizes& sizes);

struct ZooRequest {
  std::string model;
  ZooSizes sizes;  // in place of defaults

  // Ratio of every Dropout; 0: there is none.
  float dropout = 0;

  // The policy of a region around each block, by its name in graph.proto;
  // empty: no regions.
  std::string block_policy;
};

// The policies that a request may name.
std::vector<std::string> ZooPolicies();

struct ZooGraph {
  proto::Graph graph;
  std::string comment;  // what made it, its size, its data; lines end in '\n'
};

// errors: InvalidArgument if there is no such model, a size is not one of the
//         model's, is out of range or does not fit the others.
absl::StatusOr<ZooGraph> MakeZooGraph(const ZooRequest& request);

// Writes a model file: the comment, then an entry of the graph a line.
void WriteText(const ZooGraph& zoo, std::ostream& out);

// Returns the number of trained elements.
int64_t NumTrained(const proto::Graph& graph);

}  // namespace reprise

#endif  // TOOLS_ZOO_ZOO_H_
