#include "tests/planner/conformance_rows.h"

#include <cstdlib>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

constexpr char kSquare[] =
    "type { dtype: FLOAT32 dim { value: 4 } dim { value: 4 } }";

}  // namespace

std::string ModelWriter::Arg(const std::string& name, bool differentiated) {
  if (!args_.emplace(name, differentiated).second) return name;
  if (name[0] == 'x') {
    absl::StrAppend(&text_, "input { name: \"", name, "\" ", kSquare, " }\n");
  } else {
    absl::StrAppend(&text_, "parameter { name: \"", name, "\" ", kSquare,
                    " initializer { constant: 0.5 } }\n");
  }
  if (differentiated) differentiated_.push_back(name);
  return name;
}

std::string ModelWriter::AddNode(const std::string& op,
                                 const std::vector<std::string>& in,
                                 const std::string& name,
                                 const std::string& attributes) {
  const std::string out = name.empty() ? absl::StrCat("v", num_nodes_) : name;
  absl::StrAppend(&text_, "node { name: \"n", num_nodes_++, "\" op: \"", op,
                  "\"");
  for (const std::string& i : in)
    absl::StrAppend(&text_, " input: \"", i, "\"");
  absl::StrAppend(&text_, " output: \"", out, "\"");
  if (!open_.empty())
    absl::StrAppend(&text_, " region: \"", open_.back(), "\"");
  absl::StrAppend(&text_, attributes, " }\n");
  return out;
}

std::string ModelWriter::S(const std::string& in, const std::string& name) {
  return AddNode("Gelu", {in}, name);
}

std::string ModelWriter::D(const std::string& in, const std::string& name) {
  return AddNode("Tanh", {in}, name);
}

std::string ModelWriter::Act(char kind, const std::string& in,
                             const std::string& name) {
  return kind == 'S' ? S(in, name) : D(in, name);
}

std::string ModelWriter::L(const std::string& a, const std::string& b) {
  return AddNode("Add", {a, b}, "");
}

std::string ModelWriter::Dot(const std::string& a, const std::string& b,
                             const std::string& name) {
  return AddNode("MatMul", {a, b}, name);
}

std::string ModelWriter::Mul(const std::string& a, const std::string& b) {
  return AddNode("Mul", {a, b}, "");
}

std::string ModelWriter::Softmax(const std::string& in) {
  return AddNode("Softmax", {in}, "");
}

std::string ModelWriter::MaxPool(const std::string& in) {
  const std::string image =
      AddNode("Reshape", {in}, "",
              " attribute { name: \"shape\" ints { v: [1, 1, 4, 4] } }");
  return AddNode("MaxPool", {image}, "",
                 " attribute { name: \"kernel_shape\" ints { v: [2, 2] } }"
                 " attribute { name: \"strides\" ints { v: [2, 2] } }");
}

std::string ModelWriter::LayerNorm(const std::string& in) {
  if (args_.emplace("constant_scale", false).second) {
    absl::StrAppend(&text_,
                    "parameter { name: \"constant_scale\" type { dtype: FLOAT32"
                    " dim { value: 4 } } initializer { constant: 1 } }\n");
  }
  return AddNode("LayerNormalization", {in, "constant_scale"}, "");
}

void ModelWriter::Open(const std::string& name, const std::string& policy) {
  absl::StrAppend(&text_, "region { name: \"", name, "\"");
  if (!open_.empty())
    absl::StrAppend(&text_, " parent: \"", open_.back(), "\"");
  if (!policy.empty()) absl::StrAppend(&text_, " policy { ", policy, " }");
  absl::StrAppend(&text_, " }\n");
  open_.push_back(name);
}

void ModelWriter::Reopen(const std::string& name) { open_.push_back(name); }

void ModelWriter::Close() { open_.pop_back(); }

RowModel ModelWriter::Finish(const std::string& out) {
  open_.clear();
  const std::string loss = AddNode("ReduceSum", {out}, "loss",
                                   " attribute { name: \"keepdims\" i: 0 }");
  absl::StrAppend(&text_, "loss { value: \"", loss, "\" }\n");
  RowModel model;
  model.text = text_;
  model.differentiated = differentiated_;
  return model;
}

namespace {

// Opens a region, if the row has one, around what `make` writes.
std::string Within(ModelWriter& w, bool region, const std::string& name,
                   const std::function<std::string()>& make) {
  if (region) w.Open(name);
  const std::string out = make();
  if (region) w.Close();
  return out;
}

// Three layers x = act(Wi x).
RowModel Layers(char kind, bool each_a_region, const std::string& policy,
                bool x_differentiated = true) {
  ModelWriter w;
  const bool one = !each_a_region && !policy.empty();
  if (one) w.Open("all", policy);
  std::string x = w.Arg("x", x_differentiated);
  const char* names[] = {"a", "b", "c"};
  for (int i = 0; i < 3; ++i) {
    const std::string weight = w.Arg(absl::StrCat("W", i + 1));
    x = Within(w, each_a_region, absl::StrCat("layer", i),
               [&] { return w.Act(kind, w.Dot(weight, x), names[i]); });
  }
  return w.Finish(x);
}

std::string Halves(ModelWriter& w, char kind, int length, std::string x) {
  if (length <= 2) {
    for (int i = 0; i < length; ++i) x = w.Act(kind, x);
    return x;
  }
  w.Open(absl::StrCat("half_of_", length, "_from_", x));
  x = Halves(w, kind, length / 2, x);
  w.Close();
  return Halves(w, kind, length - length / 2, x);
}

// A chain in regions of `size`; size 0: no region. The first `loose` nodes lie
// outside.
RowModel Chain(char kind, int length, int loose, int size) {
  ModelWriter w;
  std::string x = w.Arg("x");
  for (int i = 0; i < length; ++i) {
    const bool begins = size > 0 && i >= loose && (i - loose) % size == 0;
    if (begins) w.Open(absl::StrCat("part", i));
    x = w.Act(kind, x);
    if (size > 0 && i >= loose && (i - loose) % size == size - 1) w.Close();
  }
  return w.Finish(x);
}

enum class BlockRegion { kNone, kWhole, kCore };

std::string Block(ModelWriter& w, std::string x, const std::string& suffix,
                  BlockRegion region) {
  const auto weight = [&](const std::string& name) {
    return w.Arg(name + suffix);
  };
  // Arguments first: they are no part of a region.
  const std::string wq = weight("Wq"), wk = weight("Wk"), wv = weight("Wv"),
                    wo = weight("Wo"), w1 = weight("W1"), w2 = weight("W2");
  return Within(w, region == BlockRegion::kWhole, "block" + suffix, [&] {
    const std::string n = w.LayerNorm(x);
    const std::string q = w.Dot(n, wq);
    const std::string k = w.Dot(n, wk);
    const std::string v = w.Dot(n, wv);
    const std::string attention =
        Within(w, region == BlockRegion::kCore, "core" + suffix,
               [&] { return w.Dot(w.Softmax(w.Dot(q, k)), v); });
    const std::string r = w.L(x, w.Dot(attention, wo));
    const std::string hidden = w.S(w.Dot(w.LayerNorm(r), w1));
    return w.L(r, w.Dot(hidden, w2));
  });
}

// Rows that exist for S and for D; `number` is what follows the letter.
RowModel ActivationRow(char kind, const std::string& number) {
  if (number == "01") return Layers(kind, false, "");
  if (number == "02") return Layers(kind, true, "");
  if (number == "03") return Layers(kind, false, "save_matmuls: true");
  if (number == "04") return Layers(kind, false, "save_names { v: \"a\" }");
  if (number == "20") return Layers(kind, false, "save_everything: true");
  if (number == "22") return Layers(kind, false, "save_nothing: true", false);
  if (number == "09") return Chain(kind, 8, 0, 0);
  if (number == "11") return Chain(kind, 4, 2, 2);
  if (number == "13") return Chain(kind, 4, 0, 4);
  if (number == "14") return Chain(kind, 16, 0, 4);
  ModelWriter w;
  const std::string x = w.Arg("x");
  if (absl::StartsWith(number, "10.")) {
    return w.Finish(Halves(w, kind, std::atoi(number.c_str() + 3), x));
  }
  if (number == "16") {
    w.Open("all", "save_matmuls: true");
    std::string v = x;
    for (int i = 0; i < 3; ++i) v = w.Act(kind, w.Dot(v, v));
    return w.Finish(v);
  }
  if (number == "17") {
    w.Open("outer");
    const std::string v =
        Within(w, true, "inner", [&] { return w.Act(kind, x); });
    return w.Finish(w.Act(kind, v));
  }
  const std::string weight = w.Arg("W");
  if (number == "05") return w.Finish(w.Act(kind, w.Dot(weight, x)));
  if (number == "06") {
    return w.Finish(w.Act(
        kind, Within(w, true, "product", [&] { return w.Dot(weight, x); })));
  }
  if (number == "08") {
    w.Open("layer");
    return w.Finish(w.Act(kind, w.Dot(weight, x)));
  }
  return RowModel();
}

RowModel MixedRow(const std::string& id) {
  ModelWriter w;
  if (id == "X03" || id == "X04") {
    const std::string q = w.Arg("q"), k = w.Arg("k"), v = w.Arg("v");
    return w.Finish(Within(w, id == "X03", "core",
                           [&] { return w.Dot(w.Softmax(w.Dot(q, k)), v); }));
  }
  const std::string x = w.Arg("x");
  if (id == "X01") return w.Finish(w.S(w.MaxPool(w.Dot(w.Arg("W"), x))));
  if (id == "X06") {
    const std::string u = w.S(x);
    const std::string a = Within(w, true, "A", [&] { return w.S(u); });
    const std::string b = Within(w, true, "B", [&] { return w.S(u); });
    return w.Finish(w.L(a, b));
  }
  if (id == "X08") {
    const std::string y = Within(w, true, "r", [&] { return w.D(x); });
    return w.Finish(w.Mul(y, y));
  }
  if (id == "X10") {
    const std::string weight = w.Arg("W");
    w.Open("linear");
    return w.Finish(w.L(w.L(x, weight), weight));
  }
  if (id == "X11") return w.Finish(Block(w, x, "", BlockRegion::kNone));
  if (id == "X12") return w.Finish(Block(w, x, "", BlockRegion::kWhole));
  if (id == "X16") return w.Finish(Block(w, x, "", BlockRegion::kCore));
  if (id == "X14") {
    const std::string first = Block(w, x, "", BlockRegion::kWhole);
    return w.Finish(Block(w, first, "_2", BlockRegion::kWhole));
  }
  return RowModel();
}

RowModel NestedRow(const std::string& id) {
  ModelWriter w;
  const std::string x = w.Arg("x");
  if (id == "N06") {
    w.Open("A");
    const std::string a1 = w.S(x);
    const std::string a3 = w.S(w.S(a1));
    w.Close();
    const std::string b2 = Within(w, true, "B", [&] { return w.S(w.S(a1)); });
    return w.Finish(w.L(a3, b2));
  }
  if (id == "N04") {
    w.Open("outer");
    std::string v = w.S(w.Dot(w.Arg("W1"), x));
    const std::string w2 = w.Arg("W2"), w3 = w.Arg("W3");
    w.Open("inner", "save_matmuls: true");
    v = w.S(w.Dot(w2, v));
    return w.Finish(w.S(w.Dot(w3, v)));
  }
  const std::string weight = w.Arg("W");
  if (id == "N01") {
    w.Open("outer", "save_everything: true");
    w.Open("inner");
  } else if (id == "N02") {
    w.Open("outer", "save_matmuls: true");
    w.Open("inner");
  } else if (id == "N03") {
    w.Open("outer");
    w.Open("inner", "save_everything: true");
  } else {
    return RowModel();
  }
  return w.Finish(w.S(w.Dot(weight, x)));
}

}  // namespace

RowModel SharedRow(const std::string& id) {
  switch (id[0]) {
    case 'S':
    case 'D':
      return ActivationRow(id[0], id.substr(1));
    case 'X':
      return MixedRow(id);
    case 'N':
      return NestedRow(id);
    default:
      return RowModel();
  }
}

}  // namespace reprise
