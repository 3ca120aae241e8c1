// Layout: bytes 0 0 type rank; rank dims of 4 bytes, big-endian; elements.

#include "tools/data/idx.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

constexpr char kUnsignedByte = 0x08;
constexpr char kInt32 = 0x0C;
constexpr char kFloat32 = 0x0D;

uint32_t BigEndian(absl::string_view bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

}  // namespace

bool LooksLikeIdx(absl::string_view content) {
  return content.size() >= 4 && content[0] == 0 && content[1] == 0 &&
         (content[2] == kUnsignedByte || content[2] == kInt32 ||
          content[2] == kFloat32);
}

absl::StatusOr<Array> ParseIdx(absl::string_view content,
                               absl::string_view source) {
  if (content.size() < 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": an idx file has at least 4 bytes, got ", content.size()));
  }
  if (content[0] != 0 || content[1] != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: not an idx file: it must begin with two zero bytes, got %02x "
        "%02x",
        source, content[0] & 0xff, content[1] & 0xff));
  }
  DType dtype = DType::kNone;
  switch (content[2]) {
    case kUnsignedByte:
      dtype = DType::kU8;
      break;
    case kInt32:
      dtype = DType::kI32;
      break;
    case kFloat32:
      dtype = DType::kF32;
      break;
    default:
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s: idx element type must be 08 (byte), 0c (int32) or 0d "
          "(float32), got %02x",
          source, content[2] & 0xff));
  }
  const int rank = static_cast<unsigned char>(content[3]);
  const size_t header_bytes = 4 + size_t{4} * rank;
  if (content.size() < header_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": an idx header of rank ", rank, " has ",
                     header_bytes, " bytes, the file ", content.size()));
  }
  Dims dims;
  for (int i = 0; i < rank; ++i) {
    dims.push_back(BigEndian(content.substr(4 + size_t{4} * i)));
  }
  absl::StatusOr<TensorType> type = TensorType::Make(dtype, std::move(dims));
  if (!type.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": ", type.status().message()));
  }
  const absl::string_view elements = content.substr(header_bytes);
  if (static_cast<int64_t>(elements.size()) != type->bytes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": ", ToString(*type), " has ", type->bytes(),
        " bytes, the file ", elements.size(), " after its header"));
  }
  Array array{*std::move(type), std::string(elements)};
  if (dtype != DType::kU8) {
    for (size_t i = 0; i < array.data.size(); i += 4) {
      std::reverse(array.data.begin() + i, array.data.begin() + i + 4);
    }
  }
  return array;
}

}  // namespace reprise
