// Safetensors files: the header's length, then the header, then the content.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"
#include "core/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t header = 0;
  if (size < sizeof(header)) return 0;
  std::memcpy(&header, data, sizeof(header));
  const absl::string_view rest(
      reinterpret_cast<const char*>(data) + sizeof(header),
      size - sizeof(header));
  if (header > rest.size()) header = rest.size();
  reprise::ParseSafetensorsHeader(rest.substr(0, header),
                                  static_cast<int64_t>(rest.size() - header))
      .status()
      .IgnoreError();
  return 0;
}
