// Which kernels the zoo's models run at their full sizes: none of oneDNN's
// reference code, which is slower by orders of magnitude, and on a CPU with
// AVX-512 none that takes heap during a step.

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "core/load.h"
#include "core/lowering.h"
#include "core/machine.h"
#include "core/train_step.h"
#include "gtest/gtest.h"
#include "reprise.h"
#include "tools/zoo/zoo.h"

namespace reprise {
namespace {

bool HasAvx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

TEST(ZooKernelsTest, NoModelRunsReferenceCode) {
  const std::unique_ptr<OpTable> ops = MakeOpTable();
  for (const ZooModel& model : ZooModels()) {
    SCOPED_TRACE(model.name);
    ZooRequest request;
    request.model = model.name;
    const absl::StatusOr<ZooGraph> zoo = MakeZooGraph(request);
    ASSERT_TRUE(zoo.ok()) << zoo.status();
    const absl::StatusOr<Graph> graph =
        LoadGraph(zoo->graph, *ops, {}, model.name);
    ASSERT_TRUE(graph.ok()) << graph.status();
    StepOptions step;
    step.config.set_format_version(1);
    step.config.mutable_adamw();
    const absl::StatusOr<StepGraph> training =
        BuildStepGraph(*graph, *ops, step);
    ASSERT_TRUE(training.ok()) << training.status();
    for (const int threads : {1, 2}) {
      LoweringOptions options;
      options.env.threads = threads;
      options.machine = DefaultMachine();
      const absl::StatusOr<LoweredGraph> lowered =
          Lower(*training, *ops, options);
      ASSERT_TRUE(lowered.ok()) << lowered.status();
      for (const LoweredSignature& entry : lowered->signatures) {
        const Description& d = entry.description;
        EXPECT_FALSE(absl::StrContains(d.implementation, "ref"))
            << entry.signature.op->name << ": " << d.implementation;
        if (HasAvx512()) {
          EXPECT_EQ(d.library_heap_bytes, 0)
              << entry.signature.op->name << ": " << d.implementation;
        }
      }
    }
  }
}

}  // namespace
}  // namespace reprise
