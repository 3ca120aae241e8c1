// The networks that nntrainer's model goldens were recorded of.

#ifndef TESTS_CONFORMANCE_MODEL_NETWORKS_H_
#define TESTS_CONFORMANCE_MODEL_NETWORKS_H_

#include <functional>
#include <string>
#include <vector>

#include "proto/train.pb.h"
#include "tests/conformance/network.h"

namespace reprise {

struct ModelGolden {
  std::string name;  // of the file
  std::function<void(Network&)> add;
  // SGD with this learning rate unless said otherwise.
  float learning_rate = 0.1f;
  bool adam = false;
  float clip_global_norm = 0;  // 0: not
  // The first loss is no number: PyTorch goes on, a step here must not.
  bool diverges = false;
};

// Returns the goldens whose network is certain: it gives every output and every
// parameter that the file has.
std::vector<ModelGolden> ModelGoldens();

// Those of cells that are unrolled by hand, and of attention.
std::vector<ModelGolden> CellGoldens();
std::vector<ModelGolden> AttentionGoldens();

proto::TrainConfig ConfigOf(const ModelGolden& golden);

}  // namespace reprise

#endif  // TESTS_CONFORMANCE_MODEL_NETWORKS_H_
