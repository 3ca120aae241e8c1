// Loading, last part: what the file says about values that now have types.
// Tested by tests/core/load_test.cc and load_rules_test.cc.

#include <cmath>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/load_parts.h"
#include "core/loader.h"
#include "core/names.h"

namespace reprise {

const Value* Loader::Find(const std::string& who, const std::string& name,
                          ValueId* id) {
  const auto it = declared_.find(name);
  if (it == declared_.end()) {
    errors_.Add(absl::StrCat(who, ": there is no value ", Quote(name)));
    return nullptr;
  }
  // A value without a type has had its error.
  if (it->second.id == kNoValue) return nullptr;
  *id = it->second.id;
  const Value& value = graph_.values[*id];
  return value.type.present() ? &value : nullptr;
}

void Loader::ReadStates() {
  absl::flat_hash_set<absl::string_view> seen;
  for (int s = 0; s < file_.state_size(); ++s) {
    const std::string& name = file_.state(s).next();
    const std::string who =
        absl::StrCat("state ", Quote(file_.state(s).name()));
    if (name.empty()) {
      errors_.Add(absl::StrCat(who, ": names no next content"));
      continue;
    }
    if (!seen.insert(name).second) {
      errors_.Add(absl::StrCat(who, ": ", Quote(name),
                               " is the next content of another state too"));
    }
    State& state = graph_.states[s];
    const Value* next = Find(who, name, &state.next);
    if (next == nullptr) continue;
    if (next->producer == kNoNode) {
      errors_.Add(absl::StrCat(who, ": the next content must be the result ",
                               "of a node, ", Quote(name), " is not"));
    }
    const TensorType& type = graph_.values[state.value].type;
    if (type.present() && type != next->type) {
      errors_.Add(absl::StrCat(who, ": is ", ToString(type),
                               ", its next content ", Quote(name), " is ",
                               ToString(next->type)));
    }
  }
}

void Loader::ReadAnnotations() {
  absl::flat_hash_map<absl::string_view, proto::ValueAnnotation::Keep> seen;
  for (const proto::ValueAnnotation& annotation : file_.annotation()) {
    const std::string who =
        absl::StrCat("annotation of ", Quote(annotation.value()));
    errors_.AddIfError(who, CheckNoUnknownFields(annotation));
    const bool save = annotation.keep() == proto::ValueAnnotation::MUST_SAVE;
    if (!save && annotation.keep() != proto::ValueAnnotation::MUST_RECOMPUTE) {
      errors_.Add(absl::StrCat(who, ": keep must be MUST_SAVE or ",
                               "MUST_RECOMPUTE, got ",
                               static_cast<int>(annotation.keep())));
      continue;
    }
    const auto [it, fresh] =
        seen.emplace(annotation.value(), annotation.keep());
    if (!fresh) {
      errors_.Add(it->second == annotation.keep()
                      ? absl::StrCat(who, ": is given twice")
                      : absl::StrCat(who, ": must_save and must_recompute ",
                                     "contradict each other"));
      continue;
    }
    ValueId id;
    const Value* value = Find(who, annotation.value(), &id);
    if (value == nullptr) continue;
    if (!save && value->producer == kNoNode) {
      errors_.Add(
          absl::StrCat(who, ": must_recompute needs the result of a ", "node"));
    }
    graph_.annotations[id] = save ? Keep::kMustSave : Keep::kMustRecompute;
  }
}

void Loader::ReadOutputs() {
  absl::flat_hash_set<absl::string_view> seen;
  for (const std::string& name : file_.output()) {
    const std::string who = absl::StrCat("output ", Quote(name));
    if (!seen.insert(name).second) {
      errors_.Add(absl::StrCat(who, ": is listed twice"));
    }
    ValueId id;
    if (Find(who, name, &id) != nullptr) graph_.outputs.push_back(id);
  }
}

void Loader::ReadLosses() {
  absl::flat_hash_set<absl::string_view> seen;
  for (const proto::Loss& file_loss : file_.loss()) {
    const std::string who = absl::StrCat("loss ", Quote(file_loss.value()));
    errors_.AddIfError(who, CheckNoUnknownFields(file_loss));
    if (!seen.insert(file_loss.value()).second) {
      errors_.Add(absl::StrCat(who, ": is listed twice"));
    }
    Loss loss;
    loss.weight = file_loss.has_weight() ? file_loss.weight() : 1.0f;
    if (!std::isfinite(loss.weight)) {
      errors_.Add(
          absl::StrCat(who, ": weight must be finite, got ", loss.weight));
    }
    const Value* value = Find(who, file_loss.value(), &loss.value);
    if (value == nullptr) continue;
    if (value->type.dtype != DType::kF32 || value->type.num_elements() != 1) {
      errors_.Add(absl::StrCat(who, ": must be f32 with one element, got ",
                               ToString(value->type)));
    }
    graph_.losses.push_back(loss);
  }
}

}  // namespace reprise
