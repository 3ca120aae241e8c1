// Small nets of toy operators, differentiated, for tests about regions and
// reports. Kinds are what their gradient reads: S its input, D its output, L
// nothing.

#ifndef TESTS_PLANNER_TOY_NET_H_
#define TESTS_PLANNER_TOY_NET_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/planner/lowered_builder.h"

namespace reprise {

class ToyNet {
 public:
  LoweredValueId Input(const std::string& name = "x") {
    return b_.Input(name, kBytes);
  }
  LoweredValueId Parameter(const std::string& name) {
    return b_.Parameter(name, kBytes);
  }
  LoweredValueId S(const std::string& name, LoweredValueId in,
                   RegionId region = kNoRegion) {
    return Add('S', name, {in}, region);
  }
  LoweredValueId D(const std::string& name, LoweredValueId in,
                   RegionId region = kNoRegion) {
    return Add('D', name, {in}, region);
  }
  LoweredValueId L(const std::string& name, std::vector<LoweredValueId> in,
                   RegionId region = kNoRegion) {
    return Add('L', name, std::move(in), region);
  }
  LoweredValueId Add(char kind, const std::string& name,
                     std::vector<LoweredValueId> in, RegionId region) {
    NodeSpec spec(name);
    spec.Op(std::string(1, kind)).Reads(in).In(region).Writes({kBytes});
    const LoweredValueId v = b_.Add(spec);
    forward_.push_back({kind, v, std::move(in)});
    return v;
  }
  RegionId Region(const std::string& name, RegionId parent = kNoRegion,
                  Policy policy = Policy()) {
    return b_.AddRegion(name, parent, std::move(policy));
  }

  // Appends the loss, which reads `out` and keeps nothing, and all gradients.
  LoweredBuilder& Differentiate(LoweredValueId out) {
    const LoweredValueId loss =
        b_.Add(NodeSpec("loss").Reads({out}).Writes({4}));
    b_.Result(loss);
    b_.Loss(loss);
    std::map<LoweredValueId, LoweredValueId> grads;
    grads[out] = b_.Add(NodeSpec("seed").Writes({kBytes}).GradientOf(loss));
    for (size_t n = forward_.size(); n-- > 0;) {
      const Forward f = forward_[n];
      if (grads.count(f.out) == 0) continue;
      for (const LoweredValueId in : f.in) {
        NodeSpec spec(absl::StrCat("d", b_.step().nodes.size()));
        std::vector<LoweredValueId> reads = {grads[f.out]};
        if (f.kind == 'S') reads.push_back(in);
        if (f.kind == 'D') reads.push_back(f.out);
        spec.Reads(std::move(reads)).Writes({kBytes}).GradientOf(f.out);
        LoweredValueId grad = b_.Add(spec);
        if (grads.count(in) > 0) {
          grad = b_.Add(NodeSpec(absl::StrCat("sum", b_.step().nodes.size()))
                            .Reads({grads[in], grad})
                            .Writes({kBytes})
                            .Backward());
        }
        grads[in] = grad;
      }
    }
    for (const auto& [value, grad] : grads) {
      if (b_.graph().values[value].producer < 0) b_.Result(grad);
    }
    return b_;
  }

  LoweredBuilder& builder() { return b_; }

  static constexpr int64_t kBytes = 640;

 private:
  struct Forward {
    char kind;
    LoweredValueId out;
    std::vector<LoweredValueId> in;
  };

  LoweredBuilder b_;
  std::vector<Forward> forward_;
};

}  // namespace reprise

#endif  // TESTS_PLANNER_TOY_NET_H_
