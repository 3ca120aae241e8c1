#include "tests/planner/random_lowered.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

// A forward node before it has an id.
struct Sketch {
  std::vector<int> inputs;  // sketches; -1 - i: source i
  std::vector<int> input_outputs;
  std::vector<int64_t> out_bytes;
  RegionId region = kNoRegion;
  bool reads_input = false;  // what its gradient reads
  bool reads_output = false;
  bool reads_statistic = false;
  bool in_place = false;
  int64_t scratchpad = 0;
  MatmulKind matmul = MatmulKind::kNone;
};

class Generator {
 public:
  Generator(uint64_t seed, const RandomLoweredOptions& options)
      : random_(seed), options_(options) {}

  LoweredBuilder Make() {
    AddSources();
    DrawForward();
    if (options_.regions) DrawRegions(0, num_forward(), kNoRegion, 0);
    AddForward();
    AddLoss();
    AddBackward();
    if (options_.annotate) Annotate();
    return std::move(b_);
  }

 private:
  int Draw(int n) { return static_cast<int>(random_() % n); }
  bool Chance(int percent) { return Draw(100) < percent; }
  int64_t DrawBytes() { return 64 * (1 + Draw(8)) - (Chance(30) ? 20 : 0); }
  int num_forward() const { return static_cast<int>(sketches_.size()); }

  void AddSources() {
    sources_.push_back(b_.Input("x", DrawBytes()));
    sources_.push_back(b_.Parameter("w0", DrawBytes()));
    sources_.push_back(b_.Parameter("w1", DrawBytes()));
  }

  void DrawForward() {
    for (int n = 0; n < options_.num_forward; ++n) {
      Sketch s;
      const int num_inputs = 1 + Draw(2);
      for (int i = 0; i < num_inputs; ++i) {
        int from = -1 - Draw(3);
        if (n > 0 && Chance(80)) from = std::max(0, n - 1 - Draw(4));
        s.inputs.push_back(from);
        const bool second =
            from >= 0 && sketches_[from].out_bytes.size() > 1 && Chance(20);
        s.input_outputs.push_back(second ? 1 : 0);
      }
      s.out_bytes = {DrawBytes()};
      if (Chance(25)) s.out_bytes.push_back(64);
      s.reads_input = Chance(45);
      s.reads_output = Chance(35);
      s.reads_statistic = s.out_bytes.size() > 1 && Chance(60);
      s.in_place = Chance(50);
      if (Chance(20)) s.scratchpad = DrawBytes();
      if (Chance(40)) s.matmul = static_cast<MatmulKind>(1 + Draw(3));
      sketches_.push_back(s);
    }
  }

  // Names of some forward nodes, some of them by a glob.
  std::vector<std::string> DrawNames(int percent) {
    std::vector<std::string> names;
    for (int n = 0; n < num_forward(); ++n) {
      if (Chance(percent)) names.push_back(absl::StrCat("f", n));
    }
    if (Chance(30)) names.push_back(absl::StrCat("*", Draw(10)));
    if (Chance(10)) names.push_back(absl::StrCat("f", Draw(3), "*"));
    return names;
  }

  Policy DrawPolicy(int nesting = 0) {
    using Kind = Policy::Kind;
    switch (Draw(nesting > 1 ? 11 : 12)) {
      case 0:
        return SaveEverything();
      case 1:
      case 2:
        return SaveNames(DrawNames(30));
      case 3:
        return PolicyOf(Kind::kSaveAllButNames, DrawNames(50));
      case 4:
        return PolicyOf(Kind::kSaveMatmuls);
      case 5:
        return PolicyOf(Kind::kSaveMatmulsWithoutBatchDims);
      case 6:
        return PolicyOf(Kind::kSaveOps, {absl::StrCat("Op", Draw(3))});
      case 11: {
        Policy policy = PolicyOf(Kind::kAnyOf);
        for (int i = 1 + Draw(3); i > 0; --i) {
          policy.any_of.push_back(DrawPolicy(nesting + 1));
        }
        return policy;
      }
      default:
        return SaveNothing();
    }
  }

  // Splits [begin, end) into stretches, some of which become regions.
  void DrawRegions(int begin, int end, RegionId parent, int depth) {
    int at = begin;
    while (at < end) {
      const int length = std::min(end - at, 1 + Draw(6));
      if (Chance(60) && depth < 4) {
        const RegionId r = b_.AddRegion(
            absl::StrCat("r", b_.step().regions.size()), parent, DrawPolicy());
        for (int n = at; n < at + length; ++n) sketches_[n].region = r;
        if (length > 1) DrawRegions(at, at + length, r, depth + 1);
      }
      at += length;
    }
  }

  // In a random order in which they can run.
  void AddForward() {
    made_.assign(num_forward(), -1);
    int left = num_forward();
    while (left > 0) {
      std::vector<int> ready;
      for (int n = 0; n < num_forward(); ++n) {
        if (made_[n] >= 0) continue;
        const std::vector<int>& in = sketches_[n].inputs;
        if (std::all_of(in.begin(), in.end(),
                        [&](int i) { return i < 0 || made_[i] >= 0; })) {
          ready.push_back(n);
        }
      }
      AddOne(ready[Draw(static_cast<int>(ready.size()))]);
      --left;
    }
  }

  LoweredValueId InputOf(const Sketch& s, size_t i) const {
    if (s.inputs[i] < 0) return sources_[-1 - s.inputs[i]];
    return b_.OutputOf(made_[s.inputs[i]], s.input_outputs[i]);
  }

  // Either the value or a reordered copy of it, made now.
  LoweredValueId MaybeCopy(LoweredValueId v, Role role) {
    if (!options_.reorders || !Chance(15)) return v;
    return b_.Reorder(absl::StrCat("reorder", num_reorders_++), v, DrawBytes(),
                      role);
  }

  void AddOne(int n) {
    const Sketch& s = sketches_[n];
    NodeSpec spec(absl::StrCat("f", n));
    operands_.resize(num_forward());
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      spec.in.push_back(MaybeCopy(InputOf(s, i), Role::kForward));
    }
    operands_[n] = spec.in;
    spec.Op(absl::StrCat("Op", n % 3)).Writes(s.out_bytes).In(s.region);
    spec.StatisticsFrom(1).Scratchpad(s.scratchpad);
    if (s.in_place) spec.MayOverwrite({{0, 0}});
    spec.Matmul(s.matmul);
    made_[n] = b_.Add(spec);
    // Rank 3 where it was 1: a matmul of such operands has batch dims.
    if (Chance(50)) {
      Value& value = b_.step().values[b_.graph().values[made_[n]].logical[0]];
      value.type.dims = {1, 1, value.type.dims[0]};
    }
  }

  void AddLoss() {
    NodeSpec spec("loss");
    for (int n = std::max(0, num_forward() - 2); n < num_forward(); ++n) {
      spec.in.push_back(made_[n]);
    }
    loss_ = b_.Add(spec.Writes({4}));
    b_.Result(loss_);
    b_.Loss(loss_);
    if (options_.updates) {
      b_.Add(NodeSpec("guard").Reads({loss_}).Writes({4}).Guards());
    }
  }

  // Adds `contribution` to the gradient of a sketch or source.
  void Accumulate(LoweredValueId& grad, LoweredValueId contribution) {
    if (grad < 0) {
      grad = contribution;
      return;
    }
    const int64_t bytes = b_.graph().values[grad].bytes;
    grad = b_.Add(NodeSpec(absl::StrCat("sum", num_sums_++))
                      .Reads({grad, contribution})
                      .Writes({bytes})
                      .Backward()
                      .MayOverwrite({{0, 0}}));
  }

  void AddBackward() {
    const LoweredValueId seed =
        b_.Add(NodeSpec("seed").Writes({4}).GradientOf(loss_));
    std::vector<LoweredValueId> grads(num_forward(), -1);
    std::vector<LoweredValueId> source_grads(sources_.size(), -1);
    for (int n = std::max(0, num_forward() - 2); n < num_forward(); ++n) {
      grads[n] = b_.Add(NodeSpec(absl::StrCat("dloss", n))
                            .Reads({seed})
                            .Writes({b_.graph().values[made_[n]].bytes})
                            .GradientOf(loss_));
    }
    for (int n = num_forward() - 1; n >= 0; --n) {
      if (grads[n] < 0) continue;
      const Sketch& s = sketches_[n];
      for (size_t i = 0; i < s.inputs.size(); ++i) {
        const LoweredValueId contribution =
            AddGradient(n, static_cast<int>(i), grads[n]);
        if (s.inputs[i] < 0) {
          Accumulate(source_grads[-1 - s.inputs[i]], contribution);
        } else {
          Accumulate(grads[s.inputs[i]], contribution);
        }
      }
    }
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (source_grads[i] < 0) continue;
      if (i == 0 || !options_.updates) {
        b_.Result(source_grads[i]);
      } else {
        b_.Add(NodeSpec(absl::StrCat("update", i))
                   .Reads({sources_[i], source_grads[i]})
                   .Writes({b_.graph().values[sources_[i]].bytes})
                   .Updates(0));
      }
    }
  }

  LoweredValueId AddGradient(int n, int i, LoweredValueId grad) {
    const Sketch& s = sketches_[n];
    std::vector<LoweredValueId> in = {grad};
    if (s.reads_input) {
      for (const LoweredValueId v : operands_[n]) {
        in.push_back(Chance(70) ? v
                                : MaybeCopy(b_.graph().values[v].copy_of,
                                            Role::kBackward));
      }
    }
    if (s.reads_output) in.push_back(MaybeCopy(made_[n], Role::kBackward));
    if (s.reads_statistic) in.push_back(b_.OutputOf(made_[n], 1));
    // Some gradients are made in two steps, the first from forward values only.
    if (in.size() > 1 && Chance(15)) {
      const std::vector<LoweredValueId> values(in.begin() + 1, in.end());
      const LoweredValueId factor =
          b_.Add(NodeSpec(absl::StrCat("factor", n, ".", i))
                     .Reads(values)
                     .GradientOf(made_[n]));
      in.resize(1);
      in.push_back(factor);
    }
    const int64_t bytes = b_.graph().values[InputOf(s, i)].bytes;
    return b_.Add(NodeSpec(absl::StrCat("d", n, ".", i))
                      .Reads(std::move(in))
                      .Writes({bytes})
                      .GradientOf(made_[n])
                      .MayOverwrite({{0, 0}}));
  }

  void Annotate() {
    for (int n = 0; n < num_forward(); ++n) {
      if (Chance(8)) b_.Annotate(made_[n], Keep::kMustSave);
      if (Chance(8)) b_.Annotate(made_[n], Keep::kMustRecompute);
    }
  }

  std::mt19937_64 random_;
  const RandomLoweredOptions& options_;
  LoweredBuilder b_;
  std::vector<LoweredValueId> sources_;
  std::vector<Sketch> sketches_;
  std::vector<LoweredValueId> made_;
  std::vector<std::vector<LoweredValueId>> operands_;
  LoweredValueId loss_ = -1;
  int num_reorders_ = 0;
  int num_sums_ = 0;
};

}  // namespace

LoweredBuilder RandomLowered(uint64_t seed,
                             const RandomLoweredOptions& options) {
  return Generator(seed, options).Make();
}

}  // namespace reprise
