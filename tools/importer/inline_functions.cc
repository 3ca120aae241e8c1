// Functions that the model defines are replaced by their nodes: operands,
// results and attributes that a body names are those of the call, all other
// names get the call's in front.

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/names.h"
#include "tools/importer/graph_importer.h"

namespace reprise {
namespace {

constexpr int kMostNestedCalls = 16;
constexpr size_t kMostNodes = 2'000'000;

// A body node after `call`'s names and attributes are put in. `prefix` is
// unique to the call.
class Call {
 public:
  Call(const onnx::NodeProto& call, const onnx::FunctionProto& function,
       std::string prefix)
      : call_(call), prefix_(std::move(prefix)) {
    for (int i = 0; i < function.input_size(); ++i) {
      names_[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    }
    for (int i = 0; i < function.output_size(); ++i) {
      // A result that the caller does not name is still made.
      if (i < call.output_size() && !call.output(i).empty()) {
        names_[function.output(i)] = call.output(i);
      }
    }
  }

  onnx::NodeProto Node(const onnx::NodeProto& body) const {
    onnx::NodeProto node = body;
    node.set_name(absl::StrCat(prefix_, body.name()));
    for (std::string& name : *node.mutable_input()) name = Name(name);
    for (std::string& name : *node.mutable_output()) name = Name(name);
    node.clear_attribute();
    for (const onnx::AttributeProto& attribute : body.attribute()) {
      if (attribute.ref_attr_name().empty()) {
        *node.add_attribute() = attribute;
        continue;
      }
      for (const onnx::AttributeProto& given : call_.attribute()) {
        if (given.name() != attribute.ref_attr_name()) continue;
        onnx::AttributeProto& added = *node.add_attribute();
        added = given;
        added.set_name(attribute.name());
      }
    }
    return node;
  }

 private:
  std::string Name(const std::string& name) const {
    if (name.empty()) return name;
    const auto it = names_.find(name);
    return it != names_.end() ? it->second : absl::StrCat(prefix_, name);
  }

  const onnx::NodeProto& call_;
  const std::string prefix_;
  absl::flat_hash_map<std::string, std::string> names_;
};

}  // namespace

void GraphImporter::InlineFunctions() {
  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*>
      functions;
  for (const onnx::FunctionProto& function : model_.functions()) {
    if (!functions
             .emplace(std::make_pair(function.domain(), function.name()),
                      &function)
             .second) {
      errors_.Add(absl::StrCat("function ", Quote(function.name()),
                               " of domain ", Quote(function.domain()),
                               " is defined twice"));
    }
    for (const onnx::OperatorSetIdProto& set : function.opset_import()) {
      const std::string domain = set.domain() == "ai.onnx" ? "" : set.domain();
      const auto [it, added] = versions_.emplace(domain, set.version());
      if (!added && it->second != set.version()) {
        errors_.Add(absl::StrCat("function ", Quote(function.name()),
                                 " is written in operator set ", set.version(),
                                 ", the model in ", it->second));
      }
    }
  }
  struct Pending {
    onnx::NodeProto node;
    int depth;
  };
  const auto find = [&functions](const onnx::NodeProto& node) {
    const auto it = functions.find({node.domain(), node.op_type()});
    return it == functions.end() ? nullptr : it->second;
  };
  int64_t num_calls = 0;
  bool reported = false;
  for (const onnx::NodeProto& node : model_.graph().node()) {
    if (functions.empty() || find(node) == nullptr) {
      inlined_.push_back(node);
      continue;
    }
    std::vector<Pending> stack = {{node, 0}};  // the next one last
    while (!stack.empty()) {
      const Pending next = std::move(stack.back());
      stack.pop_back();
      const onnx::FunctionProto* const function = find(next.node);
      if (function == nullptr) {
        inlined_.push_back(next.node);
        continue;
      }
      if (next.depth >= kMostNestedCalls ||
          inlined_.size() + stack.size() > kMostNodes) {
        if (!reported) {
          errors_.Add(absl::StrCat("functions call each other more than ",
                                   kMostNestedCalls,
                                   " deep, or make more than ", kMostNodes,
                                   " nodes, at ", Quote(function->name())));
        }
        reported = true;
        continue;
      }
      const Call call(next.node, *function,
                      absl::StrCat(function->name(), ".", ++num_calls, "/"));
      for (int i = function->node_size(); i-- > 0;) {
        stack.push_back({call.Node(function->node(i)), next.depth + 1});
      }
    }
  }
  for (const onnx::NodeProto& node : inlined_) nodes_.push_back(&node);
}

}  // namespace reprise
