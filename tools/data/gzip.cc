#include "tools/data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <climits>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/file.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

constexpr absl::string_view kGzipMagic = "\x1f\x8b";
constexpr size_t kChunkBytes = size_t{1} << 18;

absl::Status TooLarge(absl::string_view source) {
  return absl::InvalidArgumentError(
      absl::StrCat(source, ": more than ", kMaxDataFileBytes, " bytes"));
}

}  // namespace

absl::StatusOr<std::string> ReadFileOrGzip(const std::string& path) {
  absl::StatusOr<std::string> content = ReadFile(path, kMaxDataFileBytes);
  if (!content.ok() || !absl::StartsWith(*content, kGzipMagic)) return content;
  return Gunzip(*content, path);
}

absl::StatusOr<std::string> Gunzip(absl::string_view compressed,
                                   absl::string_view source) {
  z_stream stream = {};
  // 15: the largest window; 16 more: a gzip header, nothing else.
  REPRISE_CHECK(inflateInit2(&stream, 15 + 16) == Z_OK);
  const absl::Cleanup end = [&stream] { inflateEnd(&stream); };

  std::string content;
  size_t taken = 0;  // bytes of `compressed` given to zlib
  int code = Z_OK;
  do {
    if (code == Z_STREAM_END) inflateReset(&stream);  // the next member
    while (true) {
      if (stream.avail_in == 0) {
        const size_t bytes =
            std::min<size_t>(compressed.size() - taken, INT_MAX);
        // zlib reads through this pointer only, but lacks the const.
        stream.next_in = reinterpret_cast<Bytef*>(
            const_cast<char*>(compressed.data() + taken));
        stream.avail_in = static_cast<uInt>(bytes);
        taken += bytes;
      }
      const size_t old_size = content.size();
      content.resize(old_size + kChunkBytes);
      stream.next_out = reinterpret_cast<Bytef*>(&content[old_size]);
      stream.avail_out = static_cast<uInt>(kChunkBytes);
      code = inflate(&stream, Z_NO_FLUSH);
      content.resize(old_size + kChunkBytes - stream.avail_out);
      if (static_cast<int64_t>(content.size()) > kMaxDataFileBytes) {
        return TooLarge(source);
      }
      if (code != Z_OK) break;
    }
    const size_t at = taken - stream.avail_in;
    if (code == Z_BUF_ERROR) {
      return absl::InvalidArgumentError(absl::StrCat(
          source, ": gzip stream ends too early, after ", at, " bytes"));
    }
    if (code != Z_STREAM_END) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": not a valid gzip stream at byte ", at, ": ",
                       stream.msg != nullptr ? stream.msg : zError(code)));
    }
  } while (stream.avail_in > 0 || taken < compressed.size());
  return content;
}

}  // namespace reprise
