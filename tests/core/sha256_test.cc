#include "core/sha256.h"

#include <string>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

// The examples of FIPS 180-4 and of NIST's test vectors.
TEST(Sha256Test, MatchesTheStandardsExamples) {
  EXPECT_EQ(Sha256Hex(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Lengths around the end of a block (64 bytes) and of the room for the message
// length in it (56).
TEST(Sha256Test, PiecesGiveTheDigestOfTheWhole) {
  for (const size_t length : {0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128}) {
    const std::string text(length, 'x');
    for (const size_t piece : {1, 7, 64}) {
      Sha256 hash;
      for (size_t i = 0; i < length; i += piece) {
        hash.Update(text.substr(i, piece));
      }
      EXPECT_EQ(absl::BytesToHexString(hash.Finish()), Sha256Hex(text))
          << length << " by " << piece;
    }
  }
}

}  // namespace
}  // namespace reprise
