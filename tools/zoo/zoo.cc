#include "tools/zoo/zoo.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "core/graph_builder.h"
#include "core/status_macros.h"
#include "google/protobuf/text_format.h"
#include "tools/zoo/family.h"

namespace reprise {
namespace {

using zoo::Entry;

std::vector<Entry> Entries() {
  std::vector<Entry> all;
  for (const auto& family :
       {zoo::MlpEntries, zoo::CnnEntries, zoo::ResnetEntries,
        zoo::DensenetEntries, zoo::VggEntries, zoo::MobilenetEntries,
        zoo::UnetEntries, zoo::TransformerEntries}) {
    for (Entry& entry : family()) all.push_back(std::move(entry));
  }
  return all;
}

absl::StatusOr<Entry> FindEntry(absl::string_view name) {
  std::string names;
  for (Entry& entry : Entries()) {
    if (entry.model.name == name) return std::move(entry);
    absl::StrAppend(&names, " ", entry.model.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no model '", name, "'; there are", names));
}

absl::StatusOr<proto::Policy> PolicyOf(absl::string_view name) {
  for (const auto& [known, policy] : std::map<std::string, proto::Policy>{
           {"auto", Save::Auto()},
           {"save_everything", Save::Everything()},
           {"save_matmuls", Save::Matmuls()},
           {"save_matmuls_without_batch_dims", Save::MatmulsWithoutBatchDims()},
           {"save_nothing", Save::Nothing()}}) {
    if (known == name) return policy;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no policy '", name, "'; there are ", absl::StrJoin(ZooPolicies(), " ")));
}

// The model's sizes with those of the request in their place.
absl::StatusOr<ZooSizes> SizesOf(const Entry& entry, const ZooSizes& wanted) {
  ZooSizes sizes = entry.model.sizes;
  for (const auto& [flag, value] : wanted) {
    const auto found = sizes.find(flag);
    if (found == sizes.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no --", flag, "; sizes are ", ToFlags(sizes)));
    }
    const int64_t most =
        flag == "blocks" ? entry.model.max_blocks : kMaxZooSize;
    if (value < 1 || value > most) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--", flag, " must be between 1 and ", most, ", got ", value));
    }
    found->second = value;
  }
  if (entry.check != nullptr) RETURN_IF_ERROR(entry.check(sizes));
  return sizes;
}

std::string WithCommas(int64_t count) {
  std::string digits = absl::StrCat(count);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<size_t>(i), ",");
  }
  return digits;
}

// "x      f32[batch,784]  images", one input a line, in columns.
std::string ListData(const std::vector<zoo::Builder::Data>& data) {
  size_t name_width = 0;
  size_t type_width = 0;
  for (const zoo::Builder::Data& input : data) {
    name_width = std::max(name_width, input.name.size());
    type_width = std::max(type_width, input.type.size());
  }
  std::string text;
  for (const zoo::Builder::Data& input : data) {
    absl::StrAppend(&text, "  ", input.name,
                    std::string(name_width - input.name.size() + 2, ' '),
                    input.type,
                    std::string(type_width - input.type.size() + 2, ' '),
                    input.meaning, "\n");
  }
  return text;
}

std::string CommandOf(const ZooRequest& request, const ZooSizes& sizes) {
  std::string command =
      absl::StrCat("reprise zoo ", request.model, " ", ToFlags(sizes));
  if (request.dropout > 0) {
    absl::StrAppend(&command, " --dropout=", request.dropout);
  }
  if (!request.block_policy.empty()) {
    absl::StrAppend(&command,
                    " --regions=block --policy=", request.block_policy);
  }
  return command;
}

absl::StatusOr<ZooGraph> MakeGraph(const Entry& entry,
                                   const ZooRequest& request) {
  ASSIGN_OR_RETURN(const ZooSizes sizes, SizesOf(entry, request.sizes));
  if (request.dropout != 0 && !entry.model.has_dropout) {
    return absl::InvalidArgumentError(
        absl::StrCat("no --dropout; sizes are ", ToFlags(sizes)));
  }
  if (!(request.dropout >= 0 && request.dropout < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--dropout must be at least 0 and below 1, got ", request.dropout));
  }
  absl::optional<proto::Policy> policy;
  if (!request.block_policy.empty()) {
    ASSIGN_OR_RETURN(policy, PolicyOf(request.block_policy));
  }
  zoo::Builder b(entry.model.name, sizes, request.dropout, std::move(policy));
  entry.build(b);
  ZooGraph result;
  result.graph = b.graph().graph();
  result.comment = absl::StrCat(
      entry.model.name, ": ", entry.model.summary, ".\n\n  ",
      CommandOf(request, sizes), "\n\n", WithCommas(NumTrained(result.graph)),
      " trained numbers. Data, where batch is ", sizes.at("batch"),
      " unless --set batch=N says otherwise:\n\n", ListData(b.data()));
  if (!entry.model.remark.empty()) {
    absl::StrAppend(&result.comment, "\n", entry.model.remark, "\n");
  }
  return result;
}

}  // namespace

std::vector<ZooModel> ZooModels() {
  std::vector<ZooModel> models;
  for (Entry& entry : Entries()) models.push_back(std::move(entry.model));
  return models;
}

std::vector<std::string> ZooPolicies() {
  return {"save_nothing", "save_everything", "save_matmuls",
          "save_matmuls_without_batch_dims", "auto"};
}

std::string ToFlags(const ZooSizes& sizes) {
  return absl::StrJoin(sizes, " ", [](std::string* out, const auto& size) {
    absl::StrAppend(out, "--", size.first, "=", size.second);
  });
}

absl::StatusOr<ZooGraph> MakeZooGraph(const ZooRequest& request) {
  ASSIGN_OR_RETURN(const Entry entry, FindEntry(request.model));
  absl::StatusOr<ZooGraph> result = MakeGraph(entry, request);
  if (result.ok()) return result;
  return absl::Status(
      result.status().code(),
      absl::StrCat(request.model, ": ", result.status().message()));
}

int64_t NumTrained(const proto::Graph& graph) {
  int64_t trained = 0;
  for (const proto::Parameter& parameter : graph.parameter()) {
    if (parameter.has_trainable() && !parameter.trainable()) continue;
    int64_t elements = 1;
    for (const proto::Dim& dim : parameter.type().dim()) {
      elements *= dim.value();
    }
    trained += elements;
  }
  return trained;
}

void WriteText(const ZooGraph& zoo, std::ostream& out) {
  for (absl::string_view line :
       absl::StrSplit(absl::StripSuffix(zoo.comment, "\n"), '\n')) {
    out << (line.empty() ? "#" : "# ") << line << "\n";
  }
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.SetUseShortRepeatedPrimitives(true);
  const google::protobuf::Reflection& reflection = *zoo.graph.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(zoo.graph, &fields);
  std::string text;
  for (const google::protobuf::FieldDescriptor* field : fields) {
    const bool repeated = field->is_repeated();
    const bool message = field->message_type() != nullptr;
    const int count = repeated ? reflection.FieldSize(zoo.graph, field) : 1;
    out << "\n";
    for (int i = 0; i < count; ++i) {
      printer.PrintFieldValueToString(zoo.graph, field, repeated ? i : -1,
                                      &text);
      absl::StripAsciiWhitespace(&text);
      if (message) {
        out << field->name() << " { " << text << " }\n";
      } else {
        out << field->name() << ": " << text << "\n";
      }
    }
  }
}

}  // namespace reprise
