#include "core/proto_file.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "gtest/gtest.h"
#include "proto/graph.pb.h"
#include "proto/plan.pb.h"
#include "tests/testing/test_path.h"

namespace reprise {
namespace {

std::string Repeat(absl::string_view text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) absl::StrAppend(&repeated, text);
  return repeated;
}

absl::Status Binary(absl::string_view bytes) {
  proto::Graph graph;
  return ParseBinary(bytes, "g.pb", graph);
}

absl::Status Text(absl::string_view text) {
  proto::Graph graph;
  return ParseText(text, "g.textproto", graph);
}

TEST(ParseBinaryTest, PassesOverUnknownFieldsOfForeignFormats) {
  BinaryRules rules;
  rules.skip_unknown_fields = true;
  const auto parse = [&rules](absl::string_view bytes) {
    proto::Graph graph;
    return ParseBinary(bytes, "g.pb", graph, rules);
  };
  // Field 99 as a number, eight bytes, four bytes and text of one byte, each
  // before the format's version.
  for (const std::string& field : {std::string("\x98\x06\x01"),
                                   std::string("\x99\x06"
                                               "12345678"),
                                   std::string("\x9d\x06"
                                               "1234"),
                                   std::string("\x9a\x06\x01x")}) {
    EXPECT_TRUE(parse(absl::StrCat(field, "\x08\x01")).ok());
    // Each of its prefixes breaks off within it.
    for (size_t size = 1; size < field.size(); ++size) {
      EXPECT_FALSE(parse(field.substr(0, size)).ok()) << size;
    }
  }
  // A group, and the field number 0.
  EXPECT_FALSE(parse("\x9b\x06\x9c\x06").ok());
  EXPECT_FALSE(parse(absl::string_view("\x00\x01", 2)).ok());
}

TEST(ParseBinaryTest, CountsElementsOfForeignFormats) {
  BinaryRules rules;
  rules.max_elements = 3;
  proto::Graph graph;
  // Nodes (field 7) without content.
  EXPECT_TRUE(
      ParseBinary(Repeat(std::string("\x3a\x00", 2), 3), "g.pb", graph, rules)
          .ok());
  const absl::Status status =
      ParseBinary(Repeat(std::string("\x3a\x00", 2), 4), "g.pb", graph, rules);
  EXPECT_TRUE(absl::StrContains(status.message(), "more than 3 messages"))
      << status;
}

// Field numbers of Graph: 1 format_version (varint), 2 name (string), 7 node
// (message); of Node: 1 name. A tag is number << 3 | wire type.
TEST(ParseBinaryTest, NamesByteFieldAndRule) {
  struct Bad {
    std::string bytes;
    std::string error;
  };
  const std::vector<Bad> cases = {
      {"\x98\x06\x01", "at byte 2: unknown field 99 in a Graph"},
      {"\x3a\x03\x98\x06\x01", "at byte 4: unknown field 99 in a Node"},
      {"\x0a\x01x",
       "field 'reprise.proto.Graph.format_version' has wire type 2, not 0"},
      {"\x10\x01", "field 'reprise.proto.Graph.name' has wire type 0, not 2"},
      {"\x13\x14", "field 'reprise.proto.Graph.name' has wire type 3, not 2"},
      {"\x12\x05"
       "abc",
       "field 'reprise.proto.Graph.name' claims 5 bytes where 3 are left"},
      {"\x3a\x04\x0a\x05"
       "ab",
       "field 'reprise.proto.Node.name' claims 5 bytes where 2 are left"},
      {"\x12\x02\xc3(", "field 'reprise.proto.Graph.name' is not UTF-8"},
      {"\x08",
       "field 'reprise.proto.Graph.format_version' has a broken number"},
      {"\x12\xff\xff", "field 'reprise.proto.Graph.name' has a broken length"},
      {Repeat("\xff", 11), "a broken tag in a Graph"},
      {absl::StrCat("\x08", Repeat("\xff", 10)), "has a broken number"},
      {absl::StrCat("\x12", Repeat("\xff", 9), "\x01"),
       "claims 18446744073709551615 bytes where 0 are left"}};
  for (const Bad& bad : cases) {
    const absl::Status status = Binary(bad.bytes);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StartsWith(status.message(), "g.pb: at byte ")) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), bad.error)) << status;
  }
}

TEST(ParseBinaryTest, TakesPackedAndLooseNumbers) {
  // A node with attribute { ints { v: 1 } }: fields 7, 5, 7, 1.
  proto::Graph packed;
  EXPECT_TRUE(ParseBinary(absl::string_view("\x3a\x07\x2a\x05\x3a\x03\x0a\x01"
                                            "\x01",
                                            9),
                          "g.pb", packed)
                  .ok());
  proto::Graph loose;
  EXPECT_TRUE(
      ParseBinary(absl::string_view("\x3a\x06\x2a\x04\x3a\x02\x08\x01", 8),
                  "g.pb", loose)
          .ok());
  EXPECT_EQ(packed.node(0).attribute(0).ints().v(0), 1);
  EXPECT_EQ(packed.DebugString(), loose.DebugString());
}

TEST(ParseBinaryTest, DeepNestingIsRefusedBeforeItIsFollowed) {
  // Policy { any_of { policy { ... } } }: fields 8 and 1, from the inside out.
  std::string policy;
  for (int i = 0; i < 10'000; ++i) {
    for (const int field : {1, 8}) {
      std::string length;
      size_t n = policy.size();
      for (; n >= 0x80; n >>= 7) length.push_back(static_cast<char>(n | 0x80));
      length.push_back(static_cast<char>(n));
      policy = absl::StrCat(std::string(1, static_cast<char>(field << 3 | 2)),
                            length, policy);
    }
  }
  proto::Policy message;
  const absl::Status status = ParseBinary(policy, "p", message);
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "messages are nested more than 64 deep"))
      << status;
}

// Two bytes a node; protobuf would make some 100 of each.
TEST(ParseBinaryTest, EntriesAreCountedBeforeTheyAreMade) {
  const absl::string_view empty_node("\x3a\x00", 2);
  const std::string limit = Repeat(empty_node, 2'000'000);
  EXPECT_EQ(Binary(limit + std::string(empty_node)).message(),
            "g.pb: at byte 4000001: field 'node' has more than 2000000 "
            "entries");
}

TEST(ParseBinaryTest, ReadsMapsOfOtherMessages) {
  proto::Plan plan;
  (*plan.mutable_symbol())["batch"] = 4;
  plan.add_step()->add_in()->set_value(-1);
  proto::Plan read;
  const absl::Status status = ParseBinary(plan.SerializeAsString(), "p", read);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(read.DebugString(), plan.DebugString());
}

TEST(ParseTextTest, EveryMistakeHasLineAndColumn) {
  EXPECT_EQ(Text("name: \"a\"\nnode { nam: \"x\" }").message(),
            "g.textproto: line 2, column 11: Message type "
            "\"reprise.proto.Node\" has no field named \"nam\".");
  EXPECT_EQ(Text("name: \"a\" name: \"b\"").message(),
            "g.textproto: line 1, column 15: Non-repeated field \"name\" is "
            "specified multiple times.");
}

TEST(ParseTextTest, BinaryContentIsNamedAsSuch) {
  EXPECT_EQ(Text("\x12\x02\xc3(").message(),
            "g.textproto: is not UTF-8; a binary file must not be named "
            ".textproto");
}

TEST(ParseTextTest, EntriesAreCountedBeforeTheyAreMade) {
  // A brace in a comment or in quotes is none.
  const std::string head = "# node { } {\nname: \"{ \\\"{\" ";
  const std::string limit = head + "node [" + Repeat("{},", 1'999'999) + "{}]";
  EXPECT_EQ(Text(limit + " node {}").message(),
            "g.textproto: field 'node' has more than 2000000 entries");
}

TEST(ParseTextTest, DeepNestingIsRefusedBeforeItIsFollowed) {
  EXPECT_EQ(Text("region { policy " + Repeat("{ any_of { policy ", 100'000))
                .message(),
            "g.textproto: messages are nested more than 64 deep");
  // Angle brackets nest too.
  EXPECT_EQ(Text("region < policy " + Repeat("< any_of < policy ", 100'000))
                .message(),
            "g.textproto: messages are nested more than 64 deep");
}

TEST(WriteProtoFileTest, EqualMessagesMakeEqualFiles) {
  proto::Plan a;
  proto::Plan b;
  for (int i = 0; i < 20; ++i) {
    (*a.mutable_symbol())[absl::StrCat("s", i)] = i;
    (*b.mutable_symbol())[absl::StrCat("s", 19 - i)] = 19 - i;
  }
  const std::string path = TestPath("map");
  for (const absl::string_view suffix : {".pb", ".textproto"}) {
    const std::string file = absl::StrCat(path, suffix);
    ASSERT_TRUE(WriteProtoFile(a, file).ok());
    const std::string content = *ReadFile(file, 10'000);
    ASSERT_TRUE(WriteProtoFile(b, file).ok());
    EXPECT_EQ(*ReadFile(file, 10'000), content);
    proto::Plan read;
    ASSERT_TRUE(ReadProtoFile(file, read).ok());
    EXPECT_EQ(read.symbol_size(), 20);
  }
}

TEST(ProtoFileTest, TextUnderAnotherNameIsRefusedWithTheRule) {
  const std::string file = TestPath("model.txt");
  std::ofstream(file) << "format_version: 1\n";
  proto::Graph graph;
  const absl::Status status = ReadProtoFile(file, graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), ".textproto")) << status;
}

}  // namespace
}  // namespace reprise
