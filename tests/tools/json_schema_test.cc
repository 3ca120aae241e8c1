// JSON reports: the keys and types that other tools rely on, and that
// docs/cli.md names each of them.

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/command_line.h"

namespace reprise {
namespace {

using Json = nlohmann::json;

constexpr char kLesson[] = "examples/lesson_two_layers.textproto";
constexpr char kDigits[] = "examples/digits_mlp.textproto";

// What a key's value must be.
enum class Kind {
  kInteger,
  kNumber,
  kString,
  kBoolean,
  kObject,
  kArray,
  kNull,
  kObjectOrNull
};

using Schema = std::map<std::string, Kind>;

bool Is(const Json& value, Kind kind) {
  switch (kind) {
    case Kind::kObjectOrNull:
      return value.is_object() || value.is_null();
    case Kind::kInteger:
      return value.is_number_integer();
    case Kind::kNumber:
      return value.is_number();
    case Kind::kString:
      return value.is_string();
    case Kind::kBoolean:
      return value.is_boolean();
    case Kind::kObject:
      return value.is_object();
    case Kind::kArray:
      return value.is_array();
    case Kind::kNull:
      return value.is_null();
  }
  return false;
}

std::string Documentation() {
  std::ifstream file("docs/cli.md");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The object has the keys of the schema and no other, and each is documented.
void ExpectSchema(const Json& object, const Schema& schema) {
  ASSERT_TRUE(object.is_object()) << object;
  const std::string documentation = Documentation();
  for (const auto& [key, kind] : schema) {
    ASSERT_TRUE(object.contains(key)) << key << " in " << object;
    EXPECT_TRUE(Is(object[key], kind)) << key << ": " << object[key];
  }
  for (const auto& [key, value] : object.items()) {
    EXPECT_EQ(schema.count(key), 1u) << "'" << key << "' is in no schema";
    EXPECT_TRUE(absl::StrContains(documentation, absl::StrCat("`", key, "`")))
        << "'" << key << "' is not in docs/cli.md";
  }
}

// The list has elements, and each obeys the schema.
void ExpectListSchema(const Json& list, const Schema& schema) {
  ASSERT_TRUE(list.is_array()) << list;
  EXPECT_FALSE(list.empty());
  for (const Json& element : list) ExpectSchema(element, schema);
}

Json Report(std::vector<std::string> args) {
  args.push_back("--format=json");
  // Tests share their machine: threads that wait for a core cost time.
  args.push_back("--threads=1");
  const CommandResult result = RunReprise(args);
  EXPECT_EQ(result.code, 0) << result.err;
  const Json json = result.json();
  EXPECT_FALSE(json.is_discarded()) << result.out;
  return json;
}

Schema ResidualSchema() {
  return {{"value", Kind::kString},       {"type", Kind::kString},
          {"bytes", Kind::kInteger},      {"producer", Kind::kString},
          {"producer_op", Kind::kString}, {"readers", Kind::kArray},
          {"region", Kind::kString},      {"reason", Kind::kString},
          {"workspace", Kind::kBoolean}};
}

Schema RegionSchema() {
  return {{"name", Kind::kString},
          {"policy", Kind::kString},
          {"bytes_avoided", Kind::kInteger},
          {"peak_bytes_avoided", Kind::kInteger},
          {"steps_replayed", Kind::kInteger},
          {"replay_cost_nanoseconds", Kind::kInteger},
          {"replayed", Kind::kObject},
          {"verdict", Kind::kString}};
}

TEST(JsonSchemaTest, Check) {
  const Json json = Report({"check", "examples/mnist_cnn.textproto"});
  ExpectSchema(json, {{"name", Kind::kString},
                      {"symbols", Kind::kObject},
                      {"inputs", Kind::kArray},
                      {"parameters", Kind::kArray},
                      {"states", Kind::kArray},
                      {"nodes", Kind::kArray},
                      {"outputs", Kind::kArray},
                      {"losses", Kind::kArray},
                      {"trainable_elements", Kind::kInteger},
                      {"backward_nodes", Kind::kInteger}});
  ExpectListSchema(json["inputs"],
                   {{"name", Kind::kString}, {"type", Kind::kString}});
  ExpectListSchema(json["parameters"], {{"name", Kind::kString},
                                        {"type", Kind::kString},
                                        {"trainable", Kind::kBoolean}});
  ExpectListSchema(json["states"], {{"name", Kind::kString},
                                    {"type", Kind::kString},
                                    {"next", Kind::kString}});
  ExpectListSchema(json["nodes"], {{"name", Kind::kString},
                                   {"op", Kind::kString},
                                   {"inputs", Kind::kArray},
                                   {"outputs", Kind::kArray},
                                   {"region", Kind::kString}});
  for (const Json& node : json["nodes"]) {
    ExpectListSchema(node["outputs"],
                     {{"name", Kind::kString}, {"type", Kind::kString}});
  }
  ExpectListSchema(json["losses"],
                   {{"value", Kind::kString}, {"weight", Kind::kNumber}});
}

TEST(JsonSchemaTest, Residuals) {
  const Json json = Report({"residuals", kLesson});
  ExpectSchema(json, {{"model", Kind::kString},
                      {"residual_bytes", Kind::kInteger},
                      {"residuals", Kind::kArray},
                      {"regions", Kind::kArray},
                      {"notes", Kind::kArray}});
  ExpectListSchema(json["residuals"], ResidualSchema());
  ExpectListSchema(json["regions"], RegionSchema());
}

TEST(JsonSchemaTest, Plan) {
  const Json json = Report({"plan", kLesson});
  ExpectSchema(json, {{"model", Kind::kString},
                      {"symbols", Kind::kObject},
                      {"maximized", Kind::kNull},
                      {"threads", Kind::kInteger},
                      {"arena_bytes", Kind::kInteger},
                      {"lower_bound_bytes", Kind::kInteger},
                      {"gap_bytes", Kind::kInteger},
                      {"smallest_arena_bytes", Kind::kInteger},
                      {"working_set_bytes", Kind::kInteger},
                      {"persistent_bytes", Kind::kInteger},
                      {"naive_bytes", Kind::kInteger},
                      {"peak_step", Kind::kInteger},
                      {"peak_node", Kind::kString},
                      {"bytes_by_class", Kind::kObject},
                      {"next_drop", Kind::kObjectOrNull},
                      {"engine_bytes", Kind::kInteger},
                      {"library_heap_bytes", Kind::kInteger},
                      {"steps", Kind::kInteger},
                      {"recomputed_steps", Kind::kInteger},
                      {"recompute_cost_fraction", Kind::kNumber},
                      {"order", Kind::kString},
                      {"placement", Kind::kString},
                      {"placement_optimal", Kind::kBoolean},
                      {"residual_bytes", Kind::kInteger},
                      {"residuals", Kind::kArray},
                      {"regions", Kind::kArray},
                      {"live_at_peak", Kind::kArray},
                      {"passes", Kind::kArray},
                      {"notes", Kind::kArray}});
  ExpectSchema(json["bytes_by_class"], {{"parameters", Kind::kInteger},
                                        {"gradients", Kind::kInteger},
                                        {"optimizer_state", Kind::kInteger},
                                        {"state", Kind::kInteger},
                                        {"inputs", Kind::kInteger},
                                        {"residuals", Kind::kInteger},
                                        {"temporaries", Kind::kInteger},
                                        {"workspaces", Kind::kInteger},
                                        {"scratchpads", Kind::kInteger}});
  // Null where no single value is worth dropping.
  if (json["next_drop"].is_object()) {
    ExpectSchema(json["next_drop"], {{"value", Kind::kString},
                                     {"bytes", Kind::kInteger},
                                     {"added_cost_nanoseconds", Kind::kInteger},
                                     {"peak_bytes_after", Kind::kInteger}});
  }
  ExpectListSchema(json["residuals"], ResidualSchema());
  ExpectListSchema(json["regions"], RegionSchema());
  ExpectListSchema(json["live_at_peak"], {{"name", Kind::kString},
                                          {"class", Kind::kString},
                                          {"bytes", Kind::kInteger}});
  ExpectListSchema(json["passes"], {{"mode", Kind::kString},
                                    {"steps", Kind::kInteger},
                                    {"end_bytes", Kind::kInteger},
                                    {"lower_bound_bytes", Kind::kInteger}});
}

TEST(JsonSchemaTest, PlanOfTheLargestBatch) {
  const Json json = Report({"plan", kLesson, "--budget=4MiB",
                            "--maximize=batch", "--max-added-cost=40"});
  ExpectSchema(json["maximized"],
               {{"symbol", Kind::kString}, {"value", Kind::kInteger}});
  EXPECT_EQ(json["maximized"]["value"], json["symbols"]["batch"]);
  EXPECT_LE(json["arena_bytes"].get<int64_t>(), int64_t{4} << 20);
  EXPECT_LE(json["smallest_arena_bytes"], json["arena_bytes"]);
  EXPECT_LE(json["recompute_cost_fraction"].get<double>(), 0.4);
}

TEST(JsonSchemaTest, Sweep) {
  const Json json = Report({"sweep", kLesson});
  ExpectSchema(json, {{"model", Kind::kString},
                      {"symbols", Kind::kObject},
                      {"cost_nanoseconds", Kind::kInteger},
                      {"persistent_bytes", Kind::kInteger},
                      {"working_set_bytes", Kind::kInteger},
                      {"annotated", Kind::kObject},
                      {"save_everything", Kind::kObject},
                      {"curve", Kind::kArray}});
  const Schema point = {{"arena_bytes", Kind::kInteger},
                        {"lower_bound_bytes", Kind::kInteger},
                        {"recomputed_steps", Kind::kInteger},
                        {"added_cost_nanoseconds", Kind::kInteger},
                        {"recompute_cost_fraction", Kind::kNumber},
                        {"method", Kind::kString}};
  ExpectListSchema(json["curve"], point);
  ExpectSchema(json["annotated"], point);
  ExpectSchema(json["save_everything"], point);
}

TEST(JsonSchemaTest, BytesByClassSumToTheLowerBound) {
  for (const char* model : {kLesson, kDigits}) {
    const Json json = Report({"plan", model});
    int64_t sum = 0;
    for (const Json& bytes : json["bytes_by_class"]) {
      sum += bytes.get<int64_t>();
    }
    EXPECT_EQ(sum, json["lower_bound_bytes"].get<int64_t>()) << model;
    EXPECT_GE(json["arena_bytes"].get<int64_t>(), sum) << model;
    EXPECT_GE(sum, json["working_set_bytes"].get<int64_t>()) << model;
  }
}

TEST(JsonSchemaTest, TrainAndEval) {
  const std::string weights = ::testing::TempDir() + "/schema.safetensors";
  const Json json =
      Report({"train", kDigits, "--holdout=0.2", "--steps=2",
              "--data=examples/data/digits.csv.gz", "--save=" + weights});
  ExpectSchema(json, {{"model", Kind::kString},
                      {"steps", Kind::kInteger},
                      {"train_rows", Kind::kInteger},
                      {"held_out_rows", Kind::kInteger},
                      {"arena_bytes", Kind::kInteger},
                      {"lower_bound_bytes", Kind::kInteger},
                      {"engine_bytes", Kind::kInteger},
                      {"library_heap_bytes", Kind::kInteger},
                      {"reports", Kind::kArray}});
  ASSERT_FALSE(json["reports"].empty());
  ExpectListSchema(json["reports"], {{"step", Kind::kInteger},
                                     {"epochs", Kind::kNumber},
                                     {"train", Kind::kObject},
                                     {"held_out", Kind::kObject},
                                     {"steps_per_second", Kind::kNumber}});
  const Schema metrics = {{"rows", Kind::kInteger},
                          {"loss", Kind::kNumber},
                          {"accuracy", Kind::kNumber},
                          {"correct", Kind::kInteger},
                          {"labels", Kind::kInteger}};
  ExpectSchema(json["reports"][0]["train"], metrics);

  Schema evaluated = metrics;
  evaluated["model"] = Kind::kString;
  evaluated["arena_bytes"] = Kind::kInteger;
  ExpectSchema(Report({"eval", kDigits, "--load=" + weights,
                       "--data=examples/data/digits.csv.gz"}),
               evaluated);
}

TEST(JsonSchemaTest, TextHasBitsPerCharacter) {
  const std::string text = ::testing::TempDir() + "/schema.txt";
  std::ofstream(text) << std::string(200, 'a');
  const Json json = Report({"train", "examples/char_transformer.textproto",
                            "--steps=1", "--set", "batch=2", "--data=" + text});
  ASSERT_FALSE(json["reports"].empty());
  ExpectSchema(json["reports"][0]["train"],
               {{"rows", Kind::kInteger},
                {"loss", Kind::kNumber},
                {"accuracy", Kind::kNumber},
                {"correct", Kind::kInteger},
                {"labels", Kind::kInteger},
                {"bits_per_character", Kind::kNumber}});
}

TEST(JsonSchemaTest, Bench) {
  const Json json = Report({"bench", kDigits, "--seconds=0.01"});
  ExpectSchema(json, {{"model", Kind::kString},
                      {"threads", Kind::kInteger},
                      {"library", Kind::kString},
                      {"measured_steps", Kind::kInteger},
                      {"steps_per_second", Kind::kNumber},
                      {"step_nanoseconds", Kind::kObject},
                      {"arena_bytes", Kind::kInteger},
                      {"lower_bound_bytes", Kind::kInteger},
                      {"engine_bytes", Kind::kInteger},
                      {"library_heap_bytes", Kind::kInteger},
                      {"steps", Kind::kInteger},
                      {"recomputed_steps", Kind::kInteger},
                      {"overhead_fraction", Kind::kNumber},
                      {"kernel_nanoseconds", Kind::kInteger},
                      {"bare_nanoseconds", Kind::kInteger},
                      {"flops", Kind::kInteger},
                      {"bytes_moved", Kind::kInteger},
                      {"flops_per_second", Kind::kNumber},
                      {"peak_flops_per_second", Kind::kNumber},
                      {"peak_bytes_per_second", Kind::kNumber},
                      {"ops", Kind::kArray}});
  ExpectSchema(json["step_nanoseconds"],
               {{"median", Kind::kInteger}, {"min", Kind::kInteger}});
  Schema kernel = {{"steps", Kind::kInteger},
                   {"nanoseconds", Kind::kInteger},
                   {"bare_nanoseconds", Kind::kInteger},
                   {"fraction", Kind::kNumber},
                   {"flops", Kind::kInteger},
                   {"bytes_moved", Kind::kInteger}};
  Schema op = kernel;
  op["op"] = Kind::kString;
  op["kernels"] = Kind::kArray;
  kernel["implementation"] = Kind::kString;
  ExpectListSchema(json["ops"], op);
  for (const Json& entry : json["ops"]) {
    ExpectListSchema(entry["kernels"], kernel);
  }
}

TEST(JsonSchemaTest, Calibrate) {
  const Json json = Report({"calibrate"});
  ExpectSchema(json, {{"name", Kind::kString},
                      {"rates", Kind::kArray},
                      {"kernel_overhead_nanoseconds", Kind::kInteger}});
  ExpectListSchema(json["rates"], {{"threads", Kind::kInteger},
                                   {"matmul_flops_per_second", Kind::kNumber},
                                   {"conv_flops_per_second", Kind::kNumber},
                                   {"vector_flops_per_second", Kind::kNumber},
                                   {"bytes_per_second", Kind::kNumber}});
}

// A 1x2 array of ones, as numpy.save writes it.
TEST(JsonSchemaTest, Run) {
  const std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}";
  const std::string path = ::testing::TempDir() + "/ones.npy";
  std::ofstream(path, std::ios::binary)
      << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size())
      << '\0' << header << std::string("\0\0\x80\x3f\0\0\x80\x3f", 8);
  const Json json =
      Report({"run", kLesson, "--input", "x=" + path, "--grad=w1"});
  ExpectSchema(json, {{"model", Kind::kString}, {"results", Kind::kArray}});
  ExpectListSchema(json["results"], {{"name", Kind::kString},
                                     {"gradient", Kind::kBoolean},
                                     {"type", Kind::kString},
                                     {"elements", Kind::kArray}});
}

}  // namespace
}  // namespace reprise
