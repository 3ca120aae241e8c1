#include "core/names.h"

#include <string>

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(CheckNameTest, TakesTheGrammar) {
  for (const char* name : {"x", "_", ".w", "/a", "9", "a:0", "block/0.w-1_B"}) {
    EXPECT_TRUE(CheckName(name).ok()) << name;
  }
  EXPECT_TRUE(CheckName(std::string(256, 'a')).ok());
}

TEST(CheckNameTest, RefusesTheRest) {
  for (const char* name :
       {"", ":a", "-a", "a b", "a*", "\xc3\xa9", "a\n", "__", "__grad/x"}) {
    EXPECT_FALSE(CheckName(name).ok()) << name;
  }
  EXPECT_FALSE(CheckName(std::string(257, 'a')).ok());
  EXPECT_FALSE(CheckName(absl::string_view("a\0b", 3)).ok());
}

TEST(CheckGlobTest, TakesStarsAnywhere) {
  for (const char* glob : {"*", "a*", "*/w", "a*b*:0", "-*"}) {
    EXPECT_TRUE(CheckGlob(glob).ok()) << glob;
  }
  for (const char* glob : {"", "a?", "[a]", "a b"}) {
    EXPECT_FALSE(CheckGlob(glob).ok()) << glob;
  }
}

TEST(IsUtf8Test, FollowsTheStandard) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x8e\xb5"));
  EXPECT_TRUE(IsUtf8("\xf4\x8f\xbf\xbf"));   // U+10FFFF
  EXPECT_TRUE(IsUtf8("\xed\x9f\xbf"));       // U+D7FF
  EXPECT_FALSE(IsUtf8("\x80"));              // a second byte first
  EXPECT_FALSE(IsUtf8("\xc3"));              // cut short
  EXPECT_FALSE(IsUtf8("\xc3("));             // not a second byte
  EXPECT_FALSE(IsUtf8("\xc0\xaf"));          // overlong
  EXPECT_FALSE(IsUtf8("\xe0\x9f\xbf"));      // overlong
  EXPECT_FALSE(IsUtf8("\xf0\x8f\xbf\xbf"));  // overlong
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));      // a surrogate
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80"));  // above U+10FFFF
  EXPECT_FALSE(IsUtf8("\xff"));
}

TEST(QuoteTest, ShowsAnything) {
  EXPECT_EQ(Quote("a b"), "'a b'");
  EXPECT_EQ(Quote("a\n\xff'"), "'a\\n\\xff\\''");
  EXPECT_EQ(Quote(std::string(100, 'a')), "'" + std::string(80, 'a') + "...'");
}

}  // namespace
}  // namespace reprise
