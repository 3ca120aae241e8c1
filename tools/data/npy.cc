// A .npy file: "\x93NUMPY", version (two bytes), header length (2 bytes in
// version 1, 4 in versions 2 and 3), header, elements. The header is a Python
// dict, for instance
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//
// source: numpy.lib.format (NEP 1).

#include "tools/data/npy.h"

#include <archive.h>
#include <archive_entry.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/status_macros.h"
#include "tools/data/gzip.h"

namespace reprise {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kHeaderAlignment = 64;

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  Dims shape;
};

// Reads the header's dict: string keys; strings, booleans or tuples of
// integers as values.
class HeaderReader {
 public:
  HeaderReader(absl::string_view text, absl::string_view source)
      : rest_(text), source_(source) {}

  absl::StatusOr<NpyHeader> Read() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!Skip("{")) return Error("must be a dict");
    while (!Skip("}")) {
      std::string key;
      if (!ReadString(key) || !Skip(":")) return Error("key expected");
      if (key == "descr") {
        has_descr = ReadString(header.descr);
        if (!has_descr) return Error("'descr' must be a string");
      } else if (key == "fortran_order") {
        header.fortran_order = Skip("True");
        has_order = header.fortran_order || Skip("False");
        if (!has_order) return Error("'fortran_order' must be a boolean");
      } else if (key == "shape") {
        has_shape = ReadShape(header.shape);
        if (!has_shape) {
          return Error("'shape' must be a tuple of at most 8 integers");
        }
      } else {
        return Error(absl::StrCat("unknown key '", absl::CHexEscape(key), "'"));
      }
      if (!Skip(",") && !Peek("}")) return Error("',' or '}' expected");
    }
    if (!has_descr || !has_order || !has_shape) {
      return Error("needs 'descr', 'fortran_order' and 'shape'");
    }
    return header;
  }

 private:
  void SkipSpaces() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) {
      rest_.remove_prefix(1);
    }
  }
  bool Peek(absl::string_view token) {
    SkipSpaces();
    return absl::StartsWith(rest_, token);
  }
  bool Skip(absl::string_view token) {
    SkipSpaces();
    return absl::ConsumePrefix(&rest_, token);
  }

  bool ReadString(std::string& text) {
    SkipSpaces();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return false;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == absl::string_view::npos) return false;
    text = std::string(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool ReadShape(Dims& shape) {
    if (!Skip("(")) return false;
    while (!Skip(")")) {
      SkipSpaces();
      const size_t digits = rest_.find_first_not_of("0123456789");
      int64_t dim = 0;
      if (!absl::SimpleAtoi(rest_.substr(0, digits), &dim) ||
          static_cast<int>(shape.size()) == kMaxRank) {
        return false;
      }
      rest_.remove_prefix(std::min(digits, rest_.size()));
      shape.push_back(dim);
      if (!Skip(",") && !Peek(")")) return false;
    }
    return true;
  }

  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(source_, ": .npy header: ", what));
  }

  absl::string_view rest_;
  absl::string_view source_;
};

// Returns float64 elements as float32 ones.
std::string Narrow(absl::string_view doubles) {
  std::string floats(doubles.size() / 2, '\0');
  for (size_t i = 0; i < floats.size() / 4; ++i) {
    double wide;
    std::memcpy(&wide, doubles.data() + 8 * i, 8);
    const float narrow = static_cast<float>(wide);
    std::memcpy(&floats[4 * i], &narrow, 4);
  }
  return floats;
}

struct ReadArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};

absl::Status ArchiveError(archive* a, absl::string_view source) {
  const char* text = archive_error_string(a);
  return absl::InvalidArgumentError(
      absl::StrCat(source, ": ", text != nullptr ? text : "broken archive"));
}

// Reads the member that the archive stands at.
absl::StatusOr<std::string> ReadMember(archive* a, absl::string_view source) {
  std::string content;
  constexpr size_t kChunkBytes = size_t{1} << 18;
  while (true) {
    const size_t old_size = content.size();
    content.resize(old_size + kChunkBytes);
    const la_ssize_t got =
        archive_read_data(a, &content[old_size], kChunkBytes);
    if (got < 0) return ArchiveError(a, source);
    content.resize(old_size + static_cast<size_t>(got));
    if (got == 0) return content;
    if (static_cast<int64_t>(content.size()) > kMaxDataFileBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": more than ", kMaxDataFileBytes, " bytes"));
    }
  }
}

}  // namespace

absl::StatusOr<Array> ParseNpy(absl::string_view content,
                               absl::string_view source) {
  if (!absl::StartsWith(content, kMagic) || content.size() < 10) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": not a .npy file"));
  }
  const int version = static_cast<unsigned char>(content[6]);
  if (version < 1 || version > 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": .npy version must be 1, 2 or 3, got ", version));
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t header_begin = kMagic.size() + 2 + length_bytes;
  size_t header_bytes = 0;
  for (size_t i = std::min(header_begin, content.size()); i-- > 8;) {
    header_bytes = header_bytes << 8 | static_cast<unsigned char>(content[i]);
  }
  if (content.size() < header_begin ||
      content.size() - header_begin < header_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": .npy header ends after ", header_begin + header_bytes,
        " bytes, the file has ", content.size()));
  }
  HeaderReader reader(content.substr(header_begin, header_bytes), source);
  ASSIGN_OR_RETURN(const NpyHeader header, reader.Read());
  if (header.fortran_order && header.shape.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        source,
        ": must be in C order, got Fortran order; numpy.ascontiguousarray "
        "converts"));
  }
  DType dtype = DType::kNone;
  if (header.descr == "<f4" || header.descr == "<f8") {
    dtype = DType::kF32;
  } else if (header.descr == "<i4") {
    dtype = DType::kI32;
  } else if (header.descr == "<i8") {
    dtype = DType::kI64;
  } else if (header.descr == "|u1") {
    dtype = DType::kU8;
  } else if (header.descr == "|b1") {
    dtype = DType::kBool;
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": element type must be <f4, <f8, <i4, <i8, |u1 or |b1, got '",
        absl::CHexEscape(header.descr), "'"));
  }
  absl::StatusOr<TensorType> type = TensorType::Make(dtype, header.shape);
  if (!type.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": ", type.status().message()));
  }
  const absl::string_view elements =
      content.substr(header_begin + header_bytes);
  const bool wide = header.descr == "<f8";
  const int64_t got_bytes = static_cast<int64_t>(elements.size());
  if ((wide ? got_bytes % 2 != 0 || got_bytes / 2 != type->bytes()
            : got_bytes != type->bytes())) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": ", type->num_elements(), " elements of ",
                     header.descr, " expected, got ", got_bytes, " bytes"));
  }
  Array array{*std::move(type),
              wide ? Narrow(elements) : std::string(elements)};
  if (dtype == DType::kBool) {
    for (char& element : array.data) element = element != 0 ? 1 : 0;
  }
  return array;
}

absl::StatusOr<std::map<std::string, Array>> ParseNpz(
    absl::string_view content, absl::string_view source) {
  const std::unique_ptr<archive, ReadArchive> a(archive_read_new());
  // The seekable reader goes by the directory at the end of the file: without
  // it a truncated archive would look like a shorter one.
  archive_read_support_format_zip_seekable(a.get());
  if (archive_read_open_memory(a.get(), content.data(), content.size()) !=
      ARCHIVE_OK) {
    return ArchiveError(a.get(), source);
  }
  std::map<std::string, Array> arrays;
  while (true) {
    archive_entry* entry = nullptr;
    const int code = archive_read_next_header(a.get(), &entry);
    if (code == ARCHIVE_EOF) break;
    if (code != ARCHIVE_OK) return ArchiveError(a.get(), source);
    const char* path = archive_entry_pathname(entry);
    const absl::string_view name =
        absl::StripSuffix(path != nullptr ? path : "", ".npy");
    const std::string member =
        absl::StrCat(source, ": member '", absl::CHexEscape(name), "'");
    ASSIGN_OR_RETURN(const std::string bytes, ReadMember(a.get(), member));
    ASSIGN_OR_RETURN(Array array, ParseNpy(bytes, member));
    if (!arrays.emplace(std::string(name), std::move(array)).second) {
      return absl::InvalidArgumentError(absl::StrCat(member, ": twice"));
    }
  }
  if (arrays.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": has no array"));
  }
  return arrays;
}

std::string ToNpy(const Array& array) {
  absl::string_view descr;
  switch (array.type.dtype) {
    case DType::kF32:
      descr = "<f4";
      break;
    case DType::kI32:
      descr = "<i4";
      break;
    case DType::kI64:
      descr = "<i8";
      break;
    case DType::kBool:
      descr = "|b1";
      break;
    case DType::kU8:
      descr = "|u1";
      break;
    default:
      REPRISE_CHECK(false);
  }
  std::string header = absl::StrCat("{'descr': '", descr,
                                    "', 'fortran_order': False, 'shape': (",
                                    absl::StrJoin(array.type.dims, ", "),
                                    array.type.rank() == 1 ? ",), }" : "), }");
  const size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append(
      (kHeaderAlignment - unpadded % kHeaderAlignment) % kHeaderAlignment, ' ');
  header += '\n';
  const char prefix[] = {1, 0, static_cast<char>(header.size() & 0xff),
                         static_cast<char>(header.size() >> 8)};
  return absl::StrCat(kMagic, absl::string_view(prefix, sizeof(prefix)), header,
                      array.data);
}

}  // namespace reprise
