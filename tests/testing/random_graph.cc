#include "tests/testing/random_graph.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/random_ops.h"
#include "tests/testing/random_pool.h"

namespace reprise {
namespace {

using Dims = RandomPool::Dims;
using Tensor = RandomPool::Tensor;

// A pool of float values of a few ranks grows by random operators. Contents
// stay of order one (results of growing operators pass through Tanh), so that
// losses are finite whatever is drawn.
class Generator {
 public:
  Generator(uint64_t seed, const RandomGraphOptions& options)
      : pool_(seed), options_(options) {}

  proto::Graph Generate() {
    pool_.graph().set_format_version(1);
    pool_.graph().set_name("random");
    MakeRegions();
    const int64_t batch = pool_.Draw(1, 4);
    pool_.SetBatch(batch);
    pool_.Keep(pool_.Input("x", proto::FLOAT32, {batch, pool_.Draw(1, 6)}));
    const int64_t channels = pool_.Draw(1, 4);
    const int64_t side = pool_.Draw(4, 7);
    pool_.Keep(
        pool_.Input("image", proto::FLOAT32, {batch, channels, side, side}));
    for (int i = 0; i < options_.num_ops; ++i) {
      PickRegion();
      AddRandomOp(pool_);
    }
    Finish();
    return std::move(pool_.graph());
  }

 private:
  // Nodes are put into regions one after the other, never back into one that
  // was left: the graph of regions stays acyclic, as data flows forward.
  void MakeRegions() {
    if (!options_.regions) return;
    const int count = static_cast<int>(pool_.Draw(0, 5));
    for (int i = 0; i < count; ++i) {
      proto::Region& region = *pool_.graph().add_region();
      region.set_name(absl::StrCat("r", i));
      if (i > 0 && pool_.Chance(0.5)) {
        region.set_parent(pool_.graph().region(i - 1).name());
      }
      SetPolicy(*region.mutable_policy(), /*nesting=*/0);
    }
  }

  void SetPolicy(proto::Policy& policy, int nesting) {
    switch (pool_.Draw(0, nesting > 0 ? 8 : 9)) {
      case 0:
      case 1:
        policy.set_save_nothing(true);
        break;
      case 2:
        policy.set_save_everything(true);
        break;
      case 3:
        policy.set_save_matmuls(true);
        break;
      case 4:
        policy.mutable_save_names()->add_v(
            absl::StrCat("v", pool_.Draw(1, 20)));
        break;
      case 5:
        policy.mutable_save_all_but_names()->add_v(
            absl::StrCat("v", pool_.Draw(1, 3), "*"));
        break;
      case 6:
        policy.mutable_save_ops()->add_v("Relu");
        break;
      case 7:
        policy.set_save_matmuls_without_batch_dims(true);
        break;
      case 8:
        policy.set_auto_(true);
        break;
      default:
        SetPolicy(*policy.mutable_any_of()->add_policy(), nesting + 1);
        SetPolicy(*policy.mutable_any_of()->add_policy(), nesting + 1);
    }
  }

  void PickRegion() {
    if (pool_.graph().region_size() == 0) return;
    if (pool_.Chance(0.4) && next_region_ < pool_.graph().region_size()) {
      proto::Region& region = *pool_.graph().mutable_region(next_region_++);
      // Inside a parent only while the parent has not been left.
      if (region.parent() != pool_.region()) region.clear_parent();
      pool_.SetRegion(region.name());
    } else if (pool_.Chance(0.3)) {
      std::string parent;
      for (const proto::Region& region : pool_.graph().region()) {
        if (region.name() == pool_.region()) parent = region.parent();
      }
      pool_.SetRegion(parent);
    }
  }

  void Finish() {
    pool_.SetRegion("");
    // Every value that nothing reads joins a loss or is an output.
    std::vector<Tensor> ends;
    std::map<std::string, int> readers;
    for (const proto::Node& node : pool_.graph().node()) {
      for (const std::string& name : node.input()) ++readers[name];
    }
    for (const Tensor& tensor : pool_.values()) {
      if (readers[tensor.name] == 0) ends.push_back(tensor);
    }
    std::string total;
    for (const Tensor& end : ends) {
      if (pool_.Chance(0.1)) pool_.graph().add_output(end.name);
      const std::string loss = pool_.Name();
      if (end.dims.size() == 2 && end.dims[1] > 1 && end.dims[1] <= 8 &&
          pool_.Chance(0.5)) {
        Tensor scores = end;
        if (scores.dims[1] < kIndexLimit) {
          const std::string wide = pool_.Name();
          pool_.Node("MatMul",
                     {scores, pool_.Parameter({scores.dims[1], kIndexLimit})},
                     {wide});
          scores = {wide, {scores.dims[0], kIndexLimit}};
        }
        const Tensor labels =
            pool_.Input(absl::StrCat("label", pool_.graph().input_size()),
                        proto::INT64, {scores.dims[0]});
        if (pool_.Chance(0.3)) {
          const std::string log_prob = pool_.Name();
          pool_.Node("LogSoftmax", {scores}, {log_prob}).Int("axis", 1);
          pool_.Node("NegativeLogLikelihoodLoss",
                     {{log_prob, scores.dims}, labels}, {loss});
        } else {
          pool_.Node("SoftmaxCrossEntropyLoss", {scores, labels}, {loss});
        }
      } else if (pool_.Chance(0.3)) {
        pool_.Node("MeanSquaredError", {end, pool_.Parameter(end.dims)},
                   {loss});
      } else {
        const std::string square = pool_.Name();
        pool_.Node("Square", {end}, {square});
        pool_.Node("ReduceMean", {{square, end.dims}}, {loss})
            .Int("keepdims", 0);
      }
      if (pool_.Chance(0.2)) {
        AddLoss(loss);
        continue;
      }
      if (total.empty()) {
        total = loss;
      } else {
        const std::string sum = pool_.Name();
        pool_.Node("Add", {{total, {}}, {loss, {}}}, {sum});
        total = sum;
      }
    }
    if (!total.empty()) AddLoss(total);
    if (options_.annotate) Annotate();
  }

  void AddLoss(const std::string& name) {
    proto::Loss& loss = *pool_.graph().add_loss();
    loss.set_value(name);
    if (pool_.Chance(0.3)) loss.set_weight(0.5f);
  }

  void Annotate() {
    // One kind a graph: a view and what it views are one content, for which
    // both kinds would contradict each other.
    const bool save = pool_.Chance(0.5);
    for (const proto::Node& node : pool_.graph().node()) {
      if (node.op() == "BatchNormalization" || !pool_.Chance(0.08)) continue;
      proto::ValueAnnotation& annotation = *pool_.graph().add_annotation();
      annotation.set_value(node.output(0));
      annotation.set_keep(save ? proto::ValueAnnotation::MUST_SAVE
                               : proto::ValueAnnotation::MUST_RECOMPUTE);
    }
  }

  RandomPool pool_;
  const RandomGraphOptions& options_;
  int next_region_ = 0;
};

}  // namespace

proto::Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).Generate();
}

void CountOperators(const proto::Graph& graph,
                    std::map<std::string, int>& coverage) {
  for (const proto::Node& node : graph.node()) ++coverage[node.op()];
}

}  // namespace reprise
