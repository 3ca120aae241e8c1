// Trains a model in at most 16 MiB. `bazel run` starts programs elsewhere, so
// the paths are absolute:
//
//   bazel run //:embed -- "$PWD"/../digits_mlp{,.train}.textproto

#include <cstdio>
#include <memory>

#include "reprise.h"

absl::Status Train(const char* model, const char* train_config) {
  ASSIGN_OR_RETURN(const auto graph, reprise::ReadGraphFile(model));
  ASSIGN_OR_RETURN(const auto config, reprise::ReadTrainConfig(train_config));
  reprise::TrainerOptions options;
  options.symbols = {{"batch", 16}};
  options.plan.budget_bytes = int64_t{16} << 20;
  ASSIGN_OR_RETURN(const std::unique_ptr<reprise::Trainer> trainer,
                   reprise::MakeTrainer(graph, config, options));
  std::printf("arena: %lld bytes\n",
              static_cast<long long>(trainer->arena_bytes()));
  for (int step = 0; step < 200; ++step) {
    reprise::Pass& pass = trainer->next();
    ASSIGN_OR_RETURN(const absl::Span<float> x, pass.Input<float>("x"));
    ASSIGN_OR_RETURN(const absl::Span<int64_t> label,
                     pass.Input<int64_t>("label"));
    for (size_t i = 0; i < label.size(); ++i) {  // light the label's pixels
      label[i] = static_cast<int64_t>((i + step) % 10);
      for (size_t j = 0; j < 64; ++j) {
        x[64 * i + j] = static_cast<int64_t>(j % 10) == label[i] ? 1.0f : 0.0f;
      }
    }
    RETURN_IF_ERROR(trainer->Step());
    if (step % 50 == 49) {
      std::printf("step %d: loss %.4f\n", step + 1, pass.loss());
    }
  }
  return trainer->SaveWeights("weights.safetensors");
}

int main(int argc, char** argv) {
  const absl::Status status =
      argc == 3 ? Train(argv[1], argv[2])
                : absl::InvalidArgumentError("usage: embed MODEL TRAIN_CONFIG");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
