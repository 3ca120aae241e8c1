// Every rule that a model file must obey, beside a file that breaks it and
// what the error must say. docs/formats.md lists the same rules. Caps that take
// a large file are in load_limits_test.cc.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/load.h"
#include "core/op_table.h"
#include "gtest/gtest.h"
#include "tests/core/tiny_model.h"
#include "tests/testing/toy_ops.h"

namespace reprise {
namespace {

struct Rule {
  std::string rule;
  std::string find;  // in kTinyModel; empty: `replace` is added at the end
  std::string replace;
  std::string error;  // what the message must hold
};

std::string Init(absl::string_view dims, absl::string_view initializer) {
  return Param(absl::StrCat("type { dtype: FLOAT32 ", dims, " } initializer { ",
                            initializer, " }"));
}

std::string Attr(absl::string_view op, absl::string_view attribute) {
  return absl::StrCat("node { name: \"n\" op: \"", op,
                      "\" input: \"x\" output: \"o\" attribute { ", attribute,
                      " } }");
}

std::string Constant(absl::string_view tensor) {
  return absl::StrCat(
      "node { name: \"n\" op: \"Constant\" output: \"o\" attribute { name: "
      "\"value\" tensor { ",
      tensor, " } } }");
}

std::vector<Rule> Rules() {
  const std::string d2 = "dim { value: 2 } ";
  const std::string long_name(257, 'a');
  const std::string version = "format_version: 1";
  std::vector<Rule> rules = {
      // The file.
      {"format_version is there", version, "",
       "format_version is missing; this program reads 1"},
      {"format_version is known", version, "format_version: 2",
       "format_version 2 is unknown; this program reads up to 1"},
      {"format_version is not negative", version, "format_version: -7",
       "format_version -7 is unknown"},
      {"fields are known", "", "colour: 1",
       "line 13, column 7: Message type \"reprise.proto.Graph\" has no field "
       "named \"colour\""},
      {"the graph's name is short", "\"tiny\"",
       absl::StrCat("\"", long_name, "\""),
       "at most 256 bytes of UTF-8, got 257"},
      {"strings are UTF-8", "\"tiny\"", "\"\\377\"",
       "bytes of UTF-8, got 1: '\\xff'"},

      // Names.
      {"names are not empty", "name: \"x\"", "name: \"\"",
       "input '': a name is missing"},
      {"names have no spaces", "",
       Param("type { dtype: FLOAT32 }") +
           "parameter { name: \"a b\" type { dtype: FLOAT32 } }",
       "parameter 'a b': names match [A-Za-z0-9_./][A-Za-z0-9_./:-]*, 'a b' "
       "does not at byte 1"},
      {"names do not begin with a colon", "", "region { name: \":r\" }",
       "':r' does not at byte 0"},
      {"names have at most 256 bytes", "",
       absl::StrCat("region { name: \"", long_name, "\" }"),
       "names have at most 256 bytes, 'aaa"},
      {"__ is reserved for values", "output: \"y\"", "output: \"__y\"",
       "node 'act' (Relu): names beginning with '__' are reserved, got '__y'"},
      {"__ is reserved for nodes", "name: \"act\"", "name: \"__act\"",
       "node '__act': names beginning with '__' are reserved"},
      {"value names are unique", "",
       "node { name: \"n\" op: \"Relu\" input: \"x\" output: \"h\" }",
       "node 'n' (Relu): the name 'h' is taken by node 'fc' (MatMul)"},
      {"values and sources share names", "",
       "node { name: \"n\" op: \"Relu\" input: \"x\" output: \"w\" }",
       "node 'n' (Relu): the name 'w' is taken by an input, parameter or "
       "state"},
      {"node names are unique", "",
       "node { name: \"fc\" op: \"Relu\" input: \"x\" output: \"o\" }",
       "node 'fc' (Relu): another node has this name"},

      // Symbols.
      {"symbols are declared once", "",
       "symbol { name: \"batch\" default_value: 1 }",
       "symbol 'batch': is declared twice"},
      {"symbols have a default", "default_value: 4", "",
       "symbol 'batch': default_value must be at least 1, got 0"},
      {"symbols are positive", "default_value: 4", "default_value: -4",
       "symbol 'batch': default_value must be at least 1, got -4"},
      {"dims name declared symbols", "symbol: \"batch\"", "symbol: \"time\"",
       "input 'x': unknown symbol 'time'"},

      // Types.
      {"a type is there", "", Param(""), "parameter 'p': has no type"},
      {"element types are specified", "", Param("type { }"),
       "parameter 'p': the element type is unspecified"},
      {"element types are known", "", Param("type { dtype: 77 }"),
       "parameter 'p': unknown element type 77"},
      {"a dim is set", "", Param("type { dtype: FLOAT32 dim { } }"),
       "parameter 'p': a dim has neither value nor symbol"},
      {"dims are not negative", "",
       Param("type { dtype: FLOAT32 dim { value: -3 } }"),
       "parameter 'p': dim -3 of [-3] is negative"},
      {"rank is at most 8", "",
       Param("type { dtype: FLOAT32 " + Nested("dim { value: 1 } ", "", "", 9) +
             " }"),
       "parameter 'p': rank 9 is above 8"},
      {"byte counts are at most 2^42", "",
       Param("type { dtype: FLOAT32 dim { value: 4294967296 } dim { value: "
             "536870912 } }"),
       "parameter 'p': bytes of f32[4294967296,536870912] exceed "
       "4398046511104"},
      {"zero does not hide an overflow", "",
       Param("type { dtype: UINT8 dim { value: 0 } dim { value: "
             "9223372036854775807 } dim { value: 2 } }"),
       "parameter 'p': bytes of u8[0,9223372036854775807,2] exceed "
       "4398046511104"},

      // Parameters and initializers.
      {"only f32 is trained", "",
       Param("type { dtype: INT32 } trainable: true"),
       "parameter 'p': only f32 can be trained, got i32[]"},
      {"an initializer is set", "", Init("", ""),
       "parameter 'p': an initializer is given with nothing set"},
      {"constants are finite", "", Init("", "constant: inf"),
       "parameter 'p': constant must be finite, got inf"},
      {"constants fit", "",
       Param("type { dtype: UINT8 } initializer { constant: 256 }"),
       "parameter 'p': constant 256 does not fit u8"},
      {"constants of integers are whole", "",
       Param("type { dtype: INT32 } initializer { constant: 0.5 }"),
       "parameter 'p': constant 0.5 does not fit i32"},
      {"uniform is ordered", "", Init("", "uniform { low: 2 high: 1 }"),
       "parameter 'p': uniform needs finite low <= high, got 2 and 1"},
      {"stddev is not negative", "", Init("", "normal { stddev: -1 }"),
       "a stddev >= 0, got 0 and -1"},
      {"normal is finite", "", Init("", "normal { mean: nan }"),
       "normal needs a finite mean"},
      {"draws are f32", "",
       Param("type { dtype: INT64 } initializer { normal { stddev: 1 } }"),
       "parameter 'p': normal needs f32, got i64[]"},
      {"scale is positive", "",
       Init(d2 + d2, "variance_scaling { mode: FAN_IN }"),
       "a finite scale > 0, got 0"},
      {"mode is specified", "", Init(d2 + d2, "variance_scaling { scale: 1 }"),
       "variance_scaling has the unknown mode 0"},
      {"scaling needs fans", "",
       Init(d2, "variance_scaling { scale: 1 mode: FAN_IN }"),
       "variance_scaling needs rank >= 2, got f32[2]"},
      {"identity is a matrix", "", Init(d2, "identity: true"),
       "identity needs rank 2, got f32[2]"},
      {"identity is true", "", Init(d2 + d2, "identity: false"),
       "identity must be true where it is given"},
      {"value has the type", "",
       Init(d2, "value { type { dtype: FLOAT32 } f: 1 }"),
       "parameter 'p': value is f32[], not f32[2]"},

      // Constants.
      {"a tensor has a type", "", Constant("f: 1"),
       "node 'n' (Constant): attribute 'value': a tensor has no type"},
      {"constants are small", "",
       Constant("type { dtype: UINT8 dim { value: 1048577 } }"),
       "a constant has at most 1048576 bytes, u8[1048577] has 1048577"},
      {"content is in one field", "",
       Constant("type { dtype: FLOAT32 } f: 1 i: 1"),
       "in one of data, f and i, got 2"},
      {"f is f32", "", Constant("type { dtype: INT32 } f: 1"),
       "f holds FLOAT32, the tensor is i32[]"},
      {"i is not f32", "", Constant("type { dtype: FLOAT32 } i: 1"),
       "i holds integers, the tensor is f32[]"},
      {"integers fit", "", Constant("type { dtype: INT32 } i: 2147483648"),
       "element 2147483648 is outside -2147483648..2147483647 of i32"},
      {"elements are all there", "",
       Constant("type { dtype: FLOAT32 " + d2 + "} f: 1"),
       "f32[2] has 2 elements, got 1"},
      {"bytes are all there", "",
       Constant("type { dtype: FLOAT32 " + d2 + "} data: \"1234567\""),
       "f32[2] has 8 bytes, got 7"},
      {"bools are 0 or 1", "", Constant("type { dtype: BOOL } data: \"\\002\""),
       "elements of bool are 0 or 1, got 2"},

      // Nodes.
      {"operators are known", "op: \"Relu\"", "op: \"Rilu\"",
       "node 'act': unknown operator 'Rilu'"},
      {"internal operators are not for files", "op: \"Relu\"",
       "op: \"SecretGrad\"", "node 'act': unknown operator 'SecretGrad'"},
      {"operands exist", "input: \"h\"", "input: \"g\"",
       "node 'act' (Relu): reads 'g', which nothing makes"},
      {"operands are not too few", "input: \"x\" input: \"w\"", "input: \"x\"",
       "node 'fc' (MatMul): takes 2 inputs, got 1"},
      {"operands are not too many", "input: \"h\"", "input: \"h\" input: \"x\"",
       "node 'act' (Relu): takes 1 inputs, got 2"},
      {"operands are there where required", "input: \"x\" input: \"w\"",
       "input: \"\" input: \"w\"", "node 'fc' (MatMul): input 0 is required"},
      {"lists have no gaps", "",
       "node { name: \"n\" op: \"Concat\" input: \"x\" input: \"\" input: "
       "\"x\" output: \"o\" attribute { name: \"axis\" i: 0 } }",
       "node 'n' (Concat): operand 1 of a list must be there"},
      {"a node has a result", "",
       "node { name: \"n\" op: \"Relu\" input: \"x\" output: \"\" }",
       "node 'n' (Relu): names no result"},
      {"results are not too many", "",
       "node { name: \"n\" op: \"Relu\" input: \"x\" output: \"o\" output: "
       "\"p\" }",
       "node 'n' (Relu): has 1 results, got 2"},
      {"results of a list are all there", "",
       "node { name: \"n\" op: \"Split\" input: \"x\" output: \"o\" attribute "
       "{ name: \"split\" ints { v: [1, 2] } } }",
       "node 'n' (Split): has 2 results, got 1"},
      {"workspaces have no name", "",
       "node { name: \"n\" op: \"Pool\" input: \"x\" output: \"o\" output: "
       "\"ws\" }",
       "node 'n' (Pool): result 1 'ws' is not for reading"},
      {"types fit the operator", "dim { value: 3 } dim { value: 2 }",
       "dim { value: 5 } dim { value: 2 }",
       "node 'fc' (MatMul): inner dims must agree, got f32[4,3] x f32[5,2]"},
      {"nodes form no cycle", "input: \"x\" input: \"w\"",
       "input: \"y\" input: \"w\"",
       "nodes must form no cycle, got node 'act' -> node 'fc' -> node 'act'"},
      {"a node does not read itself", "input: \"h\"", "input: \"y\"",
       "nodes must form no cycle, got node 'act' -> node 'act'"},

      // Attributes.
      {"attributes are known", "", Attr("Relu", "name: \"slope\" f: 1"),
       "node 'n' (Relu): unknown attribute 'slope'"},
      {"attributes are set", "", Attr("LeakyRelu", "name: \"alpha\""),
       "node 'n' (LeakyRelu): attribute 'alpha': no value is set"},
      {"attributes have their kind", "",
       Attr("LeakyRelu", "name: \"alpha\" i: 1"),
       "node 'n' (LeakyRelu): attribute 'alpha' must be a float (f), got an "
       "integer (i)"},
      {"attributes are given once", "",
       Attr("LeakyRelu",
            "name: \"alpha\" f: 1 } attribute { name: \"alpha\" f: 2"),
       "node 'n' (LeakyRelu): attribute 'alpha' is given twice"},
      {"required attributes are there", "",
       "node { name: \"n\" op: \"Concat\" input: \"x\" output: \"o\" }",
       "node 'n' (Concat): attribute 'axis' is required"},
      {"symbols in attributes are declared", "",
       Attr("Relu", "name: \"axes\" dims { v { symbol: \"rows\" } }"),
       "node 'n' (Relu): attribute 'axes': unknown symbol 'rows'"},
      {"dims in attributes are set", "",
       Attr("Relu", "name: \"axes\" dims { v {} }"),
       "node 'n' (Relu): attribute 'axes': a dim has neither value nor symbol"},
      {"attribute strings are UTF-8", "",
       Attr("Relu", "name: \"mode\" s: \"\\300\""),
       "node 'n' (Relu): attribute 'mode': '\\xc0' is not UTF-8"},
      {"attribute types are specified", "",
       Attr("Relu", "name: \"to\" type: DTYPE_UNSPECIFIED"),
       "attribute 'to': the element type is unspecified"},
      {"attributes are finite", "", Attr("LeakyRelu", "name: \"alpha\" f: nan"),
       "node 'n' (LeakyRelu): attribute 'alpha' must be finite, got nan"},
      {"attributes are in the range of float32", "",
       Attr("LeakyRelu", "name: \"alpha\" f: -1e39"),
       "node 'n' (LeakyRelu): attribute 'alpha' must be finite, got -inf"},

      // Regions and policies.
      {"regions are known", "region: \"r\"", "region: \"q\"",
       "node 'fc' (MatMul): unknown region 'q'"},
      {"region names are unique", "", "region { name: \"r\" }",
       "region 'r': another region has this name"},
      {"parents are known", "", "region { name: \"s\" parent: \"q\" }",
       "region 's': unknown parent 'q'"},
      {"parents form no cycle", "",
       "region { name: \"s\" parent: \"t\" } region { name: \"t\" parent: "
       "\"s\" }",
       "regions must form a tree, got parents region 's' -> region 't' -> "
       "region 's'"},
      {"a region is not its own parent", "",
       "region { name: \"s\" parent: \"s\" }",
       "got parents region 's' -> region 's'"},
      {"regions nest at most 64 deep", "", RegionChain(65),
       "region 'c65': regions are nested at most 64 deep"},
      {"regions and nodes form no cycle",
       "node { name: \"sum\" op: \"ReduceSum\" input: \"y\"",
       "node { name: \"late\" op: \"Relu\" input: \"y\" output: \"z\" region: "
       "\"r\" } node { name: \"sum\" op: \"ReduceSum\" input: \"z\"",
       "got region 'r' -> node 'act' -> region 'r'"},
      {"sibling regions form no cycle", "",
       "region { name: \"a\" } region { name: \"b\" }"
       "node { op: \"Relu\" input: \"x\" output: \"a1\" region: \"a\" } node { "
       "op: \"Relu\" input: \"a1\" output: \"b1\" region: \"b\" }"
       "node { op: \"Relu\" input: \"b1\" output: \"a2\" region: \"a\" }",
       "regions, each taken as one node, and nodes must form no cycle, got "
       "region 'b' -> region 'a' -> region 'b'"},
      {"regions form no cycle within a region", "",
       "region { name: \"in\" parent: \"r\" }"
       "node { op: \"Relu\" input: \"x\" output: \"i1\" region: \"in\" } node "
       "{ op: \"Relu\" input: \"i1\" output: \"i2\" region: \"r\" }"
       "node { op: \"Relu\" input: \"i2\" output: \"i3\" region: \"in\" }",
       "got region 'in' -> node 'i2' -> region 'in'"},
      {"a policy is set", "region { name: \"r\" }",
       "region { name: \"r\" policy { } }",
       "region 'r': a policy is given with nothing set"},
      {"a policy is not false", "region { name: \"r\" }",
       "region { name: \"r\" policy { save_matmuls: false } }",
       "region 'r': save_matmuls must be true where it is given"},
      {"any_of is not empty", "region { name: \"r\" }",
       "region { name: \"r\" policy { any_of { } } }",
       "region 'r': any_of lists nothing"},
      {"save_names is not empty", "region { name: \"r\" }",
       "region { name: \"r\" policy { save_names { } } }",
       "region 'r': save_names lists nothing"},
      {"globs are names with stars", "region { name: \"r\" }",
       "region { name: \"r\" policy { save_names { v: \"a?\" } } }",
       "region 'r': names match [A-Za-z0-9_./:*-]+, 'a?' does not at byte 1"},
      {"save_ops names operators", "region { name: \"r\" }",
       "region { name: \"r\" policy { save_ops { v: \"Matmul\" } } }",
       "region 'r': save_ops names the unknown operator 'Matmul'"},
      {"policies nest at most 16 deep", "region { name: \"r\" }",
       "region { name: \"r\" policy { " +
           Nested("any_of { policy { ", "auto: true", " } }", 16) + " } }",
       "region 'r': policies are nested more than 16 deep"},
      {"messages nest at most 64 deep", "region { name: \"r\" }",
       "region { name: \"r\" policy { " +
           Nested("any_of { policy { ", "auto: true", " } }", 10'000) + " } }",
       "messages are nested more than 64 deep"},

      // States.
      {"a state has a next content", "",
       "state { name: \"s\" type { dtype: FLOAT32 } }",
       "state 's': names no next content"},
      {"the next content exists", "",
       "state { name: \"s\" type { dtype: FLOAT32 } next: \"q\" }",
       "state 's': there is no value 'q'"},
      {"the next content is computed", "",
       "state { name: \"s\" type { dtype: FLOAT32 dim { value: 4 } dim { "
       "value: 3 } } next: \"x\" }",
       "state 's': the next content must be the result of a node, 'x' is not"},
      {"the next content has the type", "",
       "state { name: \"s\" type { dtype: FLOAT32 } next: \"y\" }",
       "state 's': is f32[], its next content 'y' is f32[4,2]"},
      {"a value is the next content once", "",
       "state { name: \"s\" type { dtype: FLOAT32 } next: \"l\" } state { "
       "name: \"t\" type { dtype: FLOAT32 } next: \"l\" }",
       "state 't': 'l' is the next content of another state too"},

      // Annotations, outputs, losses.
      {"annotated values exist", "",
       "annotation { value: \"q\" keep: MUST_SAVE }",
       "annotation of 'q': there is no value 'q'"},
      {"keep is specified", "", "annotation { value: \"h\" }",
       "annotation of 'h': keep must be MUST_SAVE or MUST_RECOMPUTE, got 0"},
      {"annotations do not contradict", "",
       "annotation { value: \"h\" keep: MUST_SAVE } annotation { value: \"h\" "
       "keep: MUST_RECOMPUTE }",
       "annotation of 'h': must_save and must_recompute contradict each other"},
      {"annotations are given once", "",
       "annotation { value: \"h\" keep: MUST_SAVE } annotation { value: \"h\" "
       "keep: MUST_SAVE }",
       "annotation of 'h': is given twice"},
      {"only results are recomputed", "",
       "annotation { value: \"w\" keep: MUST_RECOMPUTE }",
       "annotation of 'w': must_recompute needs the result of a node"},
      {"outputs exist", "", "output: \"q\"",
       "output 'q': there is no value 'q'"},
      {"outputs are listed once", "", "output: \"y\"",
       "output 'y': is listed twice"},
      {"losses exist", "", "loss { value: \"q\" }",
       "loss 'q': there is no value 'q'"},
      {"losses are listed once", "", "loss { value: \"l\" weight: 2 }",
       "loss 'l': is listed twice"},
      {"losses have one element", "", "loss { value: \"y\" }",
       "loss 'y': must be f32 with one element, got f32[4,2]"},
      {"losses are f32", "",
       "input { name: \"i\" type { dtype: INT32 } } loss { value: \"i\" }",
       "loss 'i': must be f32 with one element, got i32[]"},
      {"weights are finite", "loss { value: \"l\" }",
       "loss { value: \"l\" weight: nan }",
       "loss 'l': weight must be finite, got nan"},
  };
  return rules;
}

TEST(LoadRulesTest, TheModelThatIsBrokenBelowIsGood) {
  const OpTable ops(ToyOps());
  EXPECT_TRUE(LoadText(kTinyModel, ops).ok())
      << LoadText(kTinyModel, ops).status();
}

TEST(LoadRulesTest, EachBrokenRuleIsRefusedByName) {
  const OpTable ops(ToyOps());
  for (const Rule& rule : Rules()) {
    SCOPED_TRACE(rule.rule);
    std::string text(kTinyModel);
    if (rule.find.empty()) {
      absl::StrAppend(&text, rule.replace, "\n");
    } else {
      const int edits = absl::StrReplaceAll({{rule.find, rule.replace}}, &text);
      ASSERT_GE(edits, 1);
    }
    const absl::StatusOr<Graph> graph = LoadText(text, ops);
    ASSERT_EQ(graph.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(graph.status().message(), rule.error))
        << graph.status().message() << "\n  lacks\n"
        << rule.error;
    EXPECT_TRUE(
        absl::StartsWith(graph.status().message(), "model.textproto: "));
  }
}

TEST(LoadRulesTest, BindingsNameKnownSymbolsWithDims) {
  const OpTable ops(ToyOps());
  EXPECT_EQ(LoadText(kTinyModel, ops, {{"bach", 8}}).status().message(),
            "model.textproto: cannot set 'bach' to 8: the graph has no such "
            "symbol");
  EXPECT_EQ(LoadText(kTinyModel, ops, {{"batch", -8}}).status().message(),
            "model.textproto: cannot set 'batch' to -8: dims are at least 0");
}

TEST(LoadRulesTest, IndependentErrorsAreReportedTogether) {
  const OpTable ops(ToyOps());
  const std::string text = absl::StrReplaceAll(
      kTinyModel, {{"op: \"Relu\"", "op: \"Rilu\""},
                   {"region: \"r\"", "region: \"q\""},
                   {"output: \"y\"\nloss", "output: \"z\"\nloss"}});
  EXPECT_EQ(LoadText(text, ops).status().message(),
            "model.textproto: node 'act': unknown operator 'Rilu'\n"
            "model.textproto: node 'fc' (MatMul): unknown region 'q'\n"
            "model.textproto: output 'z': there is no value 'z'");
}

TEST(LoadRulesTest, ErrorsBeyondFiftyAreCounted) {
  const OpTable ops(ToyOps());
  std::string text(kTinyModel);
  for (int i = 0; i < 60; ++i) absl::StrAppend(&text, "output: \"q", i, "\"\n");
  const absl::Status status = LoadText(text, ops).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "'q49'"));
  EXPECT_FALSE(absl::StrContains(status.message(), "'q50'"));
  EXPECT_TRUE(
      absl::EndsWith(status.message(), "\nmodel.textproto: 10 more errors"));
}

}  // namespace
}  // namespace reprise
