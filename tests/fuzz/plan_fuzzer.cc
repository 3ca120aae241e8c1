// Plan files of a small trainer: text if the first byte is 't', which is not
// part of it. The fingerprints are made right, or nothing else would be looked
// at.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/graph_builder.h"
#include "core/plan_file.h"
#include "core/proto_file.h"
#include "core/status_macros.h"
#include "proto/plan.pb.h"
#include "reprise.h"

namespace reprise {
namespace {

// Two dense layers and a loss, planned.
TrainerPlan* PlannedNet() {
  GraphBuilder b("fuzz");
  const BuilderValue x = b.Input("x", DType::kF32, {4, 8});
  const BuilderValue target = b.Input("target", DType::kF32, {4, 8});
  const BuilderValue hidden =
      b.Add("Relu", {b.Add("MatMul", {x, b.Parameter("w1", {8, 8})})});
  const BuilderValue y = b.Add("MatMul", {hidden, b.Parameter("w2", {8, 8})});
  b.Loss(b.Add("MeanSquaredError", {y, target}));
  proto::TrainConfig config;
  config.set_format_version(1);
  config.mutable_sgd();
  TrainerOptions options;
  options.threads = 1;
  absl::StatusOr<PlannedTrainer> planned =
      PlanTrainer(b.graph(), config, options);
  REPRISE_CHECK(planned.ok());
  return new TrainerPlan(std::move(planned->plan));
}

}  // namespace
}  // namespace reprise

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static reprise::TrainerPlan* const plan = reprise::PlannedNet();
  static const reprise::proto::PlanSet* const good =
      new reprise::proto::PlanSet(reprise::ToProto(*plan));
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  reprise::proto::PlanSet file;
  const bool is_text = size > 0 && bytes[0] == 't';
  const absl::Status parsed =
      is_text ? reprise::ParseText(bytes.substr(1), "fuzz", file)
              : reprise::ParseBinary(bytes, "fuzz", file);
  if (!parsed.ok()) return 0;
  file.set_plan_fingerprint(good->plan_fingerprint());
  file.set_layouts_sha256(good->layouts_sha256());
  reprise::AdoptPlans(file, *plan).IgnoreError();
  return 0;
}
