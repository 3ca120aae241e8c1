// SHA-256, for fingerprints.

#ifndef CORE_SHA256_H_
#define CORE_SHA256_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

// Digest of bytes given piece by piece.
class Sha256 {
 public:
  Sha256();

  void Update(absl::string_view bytes);

  // Returns the 32 bytes of the digest. The object is spent.
  std::string Finish();

 private:
  void Block(const unsigned char* block);

  std::array<uint32_t, 8> state_;
  std::array<unsigned char, 64> pending_;
  uint64_t num_bytes_ = 0;
};

// Returns the digest of `bytes` as 64 hex digits.
std::string Sha256Hex(absl::string_view bytes);

}  // namespace reprise

#endif  // CORE_SHA256_H_
