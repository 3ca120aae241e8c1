// Tested by tests/core/load_test.cc, load_rules_test.cc and
// load_limits_test.cc.

#include "core/load.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/load_parts.h"
#include "core/loader.h"
#include "core/names.h"
#include "core/proto_file.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

constexpr int kFormatVersion = 1;

}  // namespace

absl::StatusOr<Graph> Loader::Load(const Bindings& bindings) {
  ReadHeader();
  // Another version may mean anything; too much is not looked at.
  RETURN_IF_ERROR(errors_.status());
  ReadSymbols(bindings);
  ReadSources();
  regions_ = ReadRegions(file_, ops_, errors_);
  DeclareNodes();
  LinkNodes();
  ReadNodes();
  ReadStates();
  ReadAnnotations();
  ReadOutputs();
  ReadLosses();
  RETURN_IF_ERROR(errors_.status());
  graph_.regions = std::move(regions_.regions);
  return std::move(graph_);
}

void Loader::ReadHeader() {
  const int version = file_.format_version();
  if (version == 0) {
    errors_.Add(absl::StrCat("format_version is missing; this program reads ",
                             kFormatVersion));
    return;
  }
  if (version < 0 || version > kFormatVersion) {
    errors_.Add(absl::StrCat("format_version ", version,
                             " is unknown; this program reads up to ",
                             kFormatVersion));
    return;
  }
  errors_.AddIfError("graph", CheckNoUnknownFields(file_));
  if (!IsUtf8(file_.name()) || file_.name().size() > kMaxNameBytes) {
    errors_.Add(absl::StrCat("the graph's name has at most ", kMaxNameBytes,
                             " bytes of UTF-8, got ", file_.name().size(), ": ",
                             Quote(file_.name())));
  }
  graph_.name = file_.name();
  const auto check_count = [this](absl::string_view what, int64_t count) {
    if (count <= kMaxEntries) return;
    errors_.Add(absl::StrCat("a graph has at most ", kMaxEntries, " ", what,
                             ", got ", count));
  };
  check_count("symbols", file_.symbol_size());
  check_count("inputs", file_.input_size());
  check_count("parameters", file_.parameter_size());
  check_count("states", file_.state_size());
  check_count("nodes", file_.node_size());
  check_count("regions", file_.region_size());
  check_count("annotations", file_.annotation_size());
  check_count("outputs", file_.output_size());
  check_count("losses", file_.loss_size());
}

void Loader::ReadSymbols(const Bindings& bindings) {
  for (const proto::Symbol& symbol : file_.symbol()) {
    const std::string who = absl::StrCat("symbol ", Quote(symbol.name()));
    errors_.AddIfError(who, CheckNoUnknownFields(symbol));
    const absl::Status name = CheckName(symbol.name());
    errors_.AddIfError(who, name);
    // 0 is what a default left out reads as: a binding is enough then.
    const bool left_out = symbol.default_value() == 0;
    if (symbol.default_value() < 0 ||
        (left_out && bindings.find(symbol.name()) == bindings.end())) {
      errors_.Add(absl::StrCat(
          who, ": default_value must be at least 1, got ",
          symbol.default_value(),
          left_out ? "; without one it must be set (--set SYMBOL=N)" : ""));
    }
    if (!graph_.symbols.emplace(symbol.name(), symbol.default_value()).second) {
      errors_.Add(absl::StrCat(who, ": is declared twice"));
    }
  }
  for (const auto& [name, value] : bindings) {
    const auto it = graph_.symbols.find(name);
    if (it == graph_.symbols.end()) {
      errors_.Add(absl::StrCat("cannot set ", Quote(name), " to ", value,
                               ": the graph has no such symbol"));
    } else if (value < 0) {
      errors_.Add(absl::StrCat("cannot set ", Quote(name), " to ", value,
                               ": dims are at least 0"));
    } else {
      it->second = value;
    }
  }
}

absl::Status Loader::Declare(absl::string_view name, int32_t node) {
  RETURN_IF_ERROR(CheckName(name));
  const auto [it, fresh] =
      declared_.try_emplace(name, Declared{node, kNoValue});
  if (fresh) return absl::OkStatus();
  const int32_t other = it->second.node;
  return absl::InvalidArgumentError(absl::StrCat(
      "the name ", Quote(name), " is taken by ",
      other == kNoNode ? "an input, parameter or state" : Who(other)));
}

ValueId Loader::AddSource(absl::string_view who, const std::string& name,
                          const proto::TensorType& type, bool has_type,
                          ValueKind kind) {
  const std::string named = absl::StrCat(who, " ", Quote(name));
  const absl::Status declared = Declare(name, kNoNode);
  errors_.AddIfError(named, declared);
  Value value;
  value.name = name;
  value.kind = kind;
  if (!has_type) {
    errors_.Add(absl::StrCat(named, ": has no type"));
  } else {
    absl::StatusOr<TensorType> read = ReadTensorType(type, graph_.symbols);
    errors_.AddIfError(named, read.status());
    if (read.ok()) value.type = *std::move(read);
  }
  const ValueId id = static_cast<ValueId>(graph_.values.size());
  graph_.values.push_back(std::move(value));
  if (declared.ok()) declared_[name].id = id;
  return id;
}

void Loader::ReadSources() {
  for (const proto::Input& input : file_.input()) {
    errors_.AddIfError(absl::StrCat("input ", Quote(input.name())),
                       CheckNoUnknownFields(input));
    graph_.inputs.push_back(AddSource("input", input.name(), input.type(),
                                      input.has_type(), ValueKind::kInput));
  }
  const auto check_initializer = [this](const std::string& who, ValueId id,
                                        const auto& source) {
    errors_.AddIfError(who, CheckNoUnknownFields(source));
    const TensorType& type = graph_.values[id].type;
    if (!source.has_initializer() || !type.present()) return;
    errors_.AddIfError(
        who, CheckInitializer(source.initializer(), type, graph_.symbols));
  };
  for (const proto::Parameter& parameter : file_.parameter()) {
    Parameter read;
    read.value = AddSource("parameter", parameter.name(), parameter.type(),
                           parameter.has_type(), ValueKind::kParameter);
    const std::string who = absl::StrCat("parameter ", Quote(parameter.name()));
    check_initializer(who, read.value, parameter);
    read.initializer = parameter.initializer();
    const TensorType& type = graph_.values[read.value].type;
    read.trainable = parameter.has_trainable() ? parameter.trainable()
                                               : type.dtype == DType::kF32;
    if (read.trainable && type.present() && type.dtype != DType::kF32) {
      errors_.Add(
          absl::StrCat(who, ": only f32 can be trained, got ", ToString(type)));
    }
    graph_.parameters.push_back(std::move(read));
  }
  for (const proto::State& state : file_.state()) {
    State read;
    read.value = AddSource("state", state.name(), state.type(),
                           state.has_type(), ValueKind::kState);
    check_initializer(absl::StrCat("state ", Quote(state.name())), read.value,
                      state);
    read.initializer = state.initializer();
    graph_.states.push_back(std::move(read));
  }
}

absl::StatusOr<proto::Graph> ReadGraphFile(const std::string& path) {
  proto::Graph graph;
  RETURN_IF_ERROR(ReadProtoFile(path, graph));
  return graph;
}

absl::Status WriteGraphFile(const proto::Graph& graph,
                            const std::string& path) {
  return WriteProtoFile(graph, path);
}

absl::StatusOr<Graph> LoadGraph(const proto::Graph& graph, const OpTable& ops,
                                const Bindings& bindings,
                                absl::string_view source) {
  return Loader(graph, ops, source).Load(bindings);
}

}  // namespace reprise
