// Sizes as people write and read them.

#include "tools/commands/size.h"

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(ParseSizeTest, KnowsBothKindsOfUnits) {
  EXPECT_EQ(*ParseSize("4096"), 4096);
  EXPECT_EQ(*ParseSize("7 B"), 7);
  EXPECT_EQ(*ParseSize("2KB"), 2000);
  EXPECT_EQ(*ParseSize("2KiB"), 2048);
  EXPECT_EQ(*ParseSize("512MiB"), 512 * 1048576);
  EXPECT_EQ(*ParseSize("1.5 GiB"), 1610612736);  // 1.5 * 2^30
  EXPECT_EQ(*ParseSize("3GB"), 3000000000);
  EXPECT_EQ(*ParseSize("0"), 0);
}

TEST(ParseSizeTest, RefusesWhatIsNoSize) {
  for (const char* text : {"", "MiB", "-1", "1 MiBs", "1e3", "5 mib", "1.2.3",
                           "99999999999 GiB", "inf", "nan", "0x10"}) {
    EXPECT_FALSE(ParseSize(text).ok()) << text;
  }
}

TEST(FormatSizeTest, ShowsThreeDigits) {
  EXPECT_EQ(FormatSize(0), "0 B");
  EXPECT_EQ(FormatSize(1023), "1023 B");
  EXPECT_EQ(FormatSize(1024), "1.00 KiB");
  EXPECT_EQ(FormatSize(16384), "16.0 KiB");
  EXPECT_EQ(FormatSize(262144), "256 KiB");
  EXPECT_EQ(FormatSize(1048575), "1.00 MiB");  // 1023.999 KiB
  EXPECT_EQ(FormatSize(int64_t{5} << 30), "5.00 GiB");
}

TEST(FormatCountTest, GroupsDigits) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1797), "1,797");
  EXPECT_EQ(FormatCount(-1234567), "-1,234,567");
  EXPECT_EQ(FormatCount(-123), "-123");
}

TEST(FormatNanosecondsTest, PicksTheUnit) {
  EXPECT_EQ(FormatNanoseconds(850), "850 ns");
  EXPECT_EQ(FormatNanoseconds(1210000), "1.21 ms");
  EXPECT_EQ(FormatNanoseconds(12300000000), "12.3 s");
}

}  // namespace
}  // namespace reprise
