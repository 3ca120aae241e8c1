// nntrainer's layers as graphs of our operators.

#ifndef TESTS_CONFORMANCE_LAYER_NETWORKS_H_
#define TESTS_CONFORMANCE_LAYER_NETWORKS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tests/conformance/network.h"

namespace reprise {

// What the index says of a layer.
struct LayerCase {
  std::string layer;                         // its class
  std::map<std::string, std::string> props;  // "kernel_size" to "3,3"
  std::vector<Dims> inputs;                  // [n, c, h, w] each
  bool inference = false;
  bool has_weight_gradients = true;  // the file has them
  bool has_input_gradients = true;   // what the file has for them are gradients

  int64_t Int(const std::string& name, int64_t otherwise) const;
  bool Bool(const std::string& name) const;
  std::string String(const std::string& name,
                     const std::string& otherwise) const;
  // Numbers between commas; as many `otherwise` as `count` if not given.
  Ints List(const std::string& name, size_t count, int64_t otherwise) const;
};

// Returns an entry of the index' list `cases`.
//
//   errors: InvalidArgument naming what is missing or no number.
absl::StatusOr<LayerCase> ParseLayerCase(const nlohmann::json& entry);

// Returns the share of elements that a Dropout drops.
float DropoutRatio(const LayerCase& c);

// A layer of the table: what it adds to a network.
struct LayerNetwork {
  void (*add)(const LayerCase& c, Network& net);
  // Elements are dropped at random: results follow Dropout's law, no more.
  bool drops = false;
};

// Returns the network of a layer, or null if there is none.
const LayerNetwork* FindLayerNetwork(const std::string& layer);

}  // namespace reprise

#endif  // TESTS_CONFORMANCE_LAYER_NETWORKS_H_
