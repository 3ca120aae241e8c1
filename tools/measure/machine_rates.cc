// Each rate is the best run of a graph of one node, planned and run like any
// other: what the planner estimates and what a step could reach are measured
// with the kernels that steps are made of.
//
// Tested by tests/tools/measure_test.cc.

#include "tools/measure/machine_rates.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/graph_builder.h"
#include "core/status_macros.h"
#include "core/thread_scope.h"
#include "reprise.h"

namespace reprise {
namespace {

// The fastest run of one node.
struct BestRun {
  double seconds = std::numeric_limits<double>::infinity();
  int64_t flops = 0;
  int64_t bytes = 0;
};

// Runs the node `op` of the graph's forward pass alone, `runs` times.
absl::StatusOr<BestRun> MeasureNode(const GraphBuilder& builder,
                                    absl::string_view op, int threads,
                                    int runs) {
  TrainerOptions options;
  options.threads = threads;
  options.source = "measured graph";
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Trainer> runner,
      MakeRunner(builder.graph(), PlanMode::kForward, {}, options));
  Pass& pass = runner->next();
  RETURN_IF_ERROR(runner->Run(pass));
  const PlannedPass& planned = pass.planned();
  const KernelThreadScope scope(threads);
  BestRun best;
  for (size_t i = 0; i < planned.plan.steps.size(); ++i) {
    const LoweredNodeId node = planned.plan.steps[i].node;
    if (planned.lowered.op(node).name != op) continue;
    best.flops = planned.lowered.description(node).flops;
    best.bytes = planned.lowered.description(node).bytes_moved;
    for (int run = 0; run < runs; ++run) {
      const int64_t nanoseconds = pass.executor().TimeStep(static_cast<int>(i));
      best.seconds =
          std::min(best.seconds, static_cast<double>(nanoseconds) * 1e-9);
    }
  }
  return best;
}

absl::StatusOr<double> MatmulRate(int threads) {
  struct Shape {
    int64_t m, k, n;
  };
  double rate = 0;
  for (const Shape& shape : {Shape{512, 512, 512}, Shape{1024, 512, 512},
                             Shape{1024, 1024, 1024}, Shape{4096, 256, 256}}) {
    GraphBuilder b("matmul");
    const auto x = b.Input("x", DType::kF32, {shape.m, shape.k});
    const auto w = b.Parameter("w", {shape.k, shape.n});
    b.Output(b.Add("Gemm", {x, w}));
    ASSIGN_OR_RETURN(const BestRun best,
                     MeasureNode(b, "Gemm", threads, /*runs=*/30));
    rate = std::max(rate, static_cast<double>(best.flops) / best.seconds);
  }
  return rate;
}

absl::StatusOr<double> ConvRate(int threads) {
  struct Shape {
    int64_t batch, channels, size;
  };
  double rate = 0;
  for (const Shape& shape : {Shape{8, 64, 56}, Shape{8, 256, 14},
                             Shape{16, 128, 28}, Shape{16, 512, 7}}) {
    GraphBuilder b("conv");
    const auto x =
        b.Input("x", DType::kF32,
                {shape.batch, shape.channels, shape.size, shape.size});
    const auto w = b.Parameter("w", {shape.channels, shape.channels, 3, 3});
    b.Output(b.Add("Conv", {x, w}, {{"pads", Ints{1, 1, 1, 1}}}));
    ASSIGN_OR_RETURN(const BestRun best,
                     MeasureNode(b, "Conv", threads, /*runs=*/20));
    rate = std::max(rate, static_cast<double>(best.flops) / best.seconds);
  }
  return rate;
}

// Runs a unary loop over `elements` elements.
absl::StatusOr<BestRun> MeasureLoop(absl::string_view op, int64_t elements,
                                    int threads, int runs) {
  GraphBuilder b("loop");
  const auto x = b.Input("x", DType::kF32, {elements});
  b.Output(b.Add(op, {x}));
  return MeasureNode(b, op, threads, runs);
}

}  // namespace

absl::StatusOr<MachineRates> MeasureRates(int threads) {
  MachineRates rates;
  ASSIGN_OR_RETURN(rates.matmul_flops_per_second, MatmulRate(threads));
  ASSIGN_OR_RETURN(rates.conv_flops_per_second, ConvRate(threads));
  // 64 KiB for each thread stay in its nearest caches.
  ASSIGN_OR_RETURN(const BestRun vector,
                   MeasureLoop("Gelu", int64_t{16384} * threads, threads,
                               /*runs=*/200));
  rates.vector_flops_per_second =
      static_cast<double>(vector.flops) / vector.seconds;
  // 64 MiB are beyond the caches that one process can count on.
  ASSIGN_OR_RETURN(const BestRun stream,
                   MeasureLoop("Relu", int64_t{16} << 20, threads,
                               /*runs=*/5));
  rates.bytes_per_second = static_cast<double>(stream.bytes) / stream.seconds;
  ASSIGN_OR_RETURN(const BestRun tiny,
                   MeasureLoop("Relu", 16, threads, /*runs=*/1000));
  rates.kernel_overhead_nanoseconds =
      static_cast<int64_t>(tiny.seconds * 1e9 + 0.5);
  return rates;
}

absl::StatusOr<proto::Machine> MeasureMachine(absl::string_view name,
                                              int max_threads) {
  proto::Machine machine;
  machine.set_format_version(1);
  machine.set_name(std::string(name));
  for (int threads = 1; threads <= max_threads; ++threads) {
    ASSIGN_OR_RETURN(const MachineRates rates, MeasureRates(threads));
    machine.add_matmul_flops_per_second(rates.matmul_flops_per_second);
    machine.add_conv_flops_per_second(rates.conv_flops_per_second);
    machine.add_vector_flops_per_second(rates.vector_flops_per_second);
    machine.add_bytes_per_second(rates.bytes_per_second);
    machine.set_kernel_overhead_nanoseconds(rates.kernel_overhead_nanoseconds);
  }
  return machine;
}

}  // namespace reprise
