#include "tools/importer/provenance.h"

#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "google/protobuf/unknown_field_set.h"

namespace reprise {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

// Fields of repeated StringStringEntryProto. Older versions of the library do
// not know them, and keep them as unknown ones.
constexpr int kMetadataOfGraph = 16;
constexpr int kMetadataOfValue = 4;

constexpr absl::string_view kSignature =
    "pkg.torch.export.ExportedProgram.graph_signature";
constexpr absl::string_view kFoldedFrom =
    "pkg.onnxscript.optimizer.folded_from";

// Returns the metadata's entry of `key`, or nothing.
std::string Metadata(const Message& message, int field, absl::string_view key) {
  std::vector<std::string> entries;  // of the wire
  const Reflection& reflection = *message.GetReflection();
  const FieldDescriptor* const known =
      message.GetDescriptor()->FindFieldByNumber(field);
  if (known != nullptr) {
    if (!known->is_repeated() ||
        known->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      return "";
    }
    for (int i = 0; i < reflection.FieldSize(message, known); ++i) {
      entries.push_back(reflection.GetRepeatedMessage(message, known, i)
                            .SerializePartialAsString());
    }
  }
  const UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const UnknownField& entry = unknown.field(i);
    if (entry.number() == field &&
        entry.type() == UnknownField::TYPE_LENGTH_DELIMITED) {
      entries.push_back(entry.length_delimited());
    }
  }
  for (const std::string& bytes : entries) {
    onnx::StringStringEntryProto entry;
    if (entry.ParsePartialFromString(bytes) && entry.key() == key) {
      return entry.value();
    }
  }
  return "";
}

// Returns what stands between quotes in `text`.
std::vector<absl::string_view> Quoted(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '\'');
  std::vector<absl::string_view> quoted;
  for (size_t i = 1; i < parts.size(); i += 2) quoted.push_back(parts[i]);
  return quoted;
}

}  // namespace

Provenance::Provenance(const onnx::GraphProto& graph) {
  const std::string signature = Metadata(graph, kMetadataOfGraph, kSignature);
  for (const absl::string_view line : absl::StrSplit(signature, '\n')) {
    const bool parameter =
        line.find(": PARAMETER target='") != absl::string_view::npos;
    if (!parameter &&
        line.find(": BUFFER target='") == absl::string_view::npos) {
      continue;
    }
    const std::vector<absl::string_view> names = Quoted(line);
    if (!names.empty()) is_parameter_[std::string(names[0])] = parameter;
  }
  if (!known()) return;
  for (const onnx::ValueInfoProto& value : graph.value_info()) {
    std::string from = Metadata(value, kMetadataOfValue, kFoldedFrom);
    if (!from.empty()) folded_from_[value.name()] = std::move(from);
  }
}

bool Provenance::IsConstant(const std::string& initializer,
                            int64_t elements) const {
  if (!known()) return false;
  const auto own = is_parameter_.find(initializer);
  if (own != is_parameter_.end()) return !own->second;
  const auto folded = folded_from_.find(initializer);
  if (folded == folded_from_.end()) return elements <= 1;
  for (const absl::string_view name : Quoted(folded->second)) {
    const auto source = is_parameter_.find(std::string(name));
    if (source != is_parameter_.end() && source->second) return false;
  }
  return true;
}

}  // namespace reprise
