#include "core/proto_file.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/error_list.h"
#include "core/file.h"
#include "core/names.h"
#include "core/status_macros.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"

namespace reprise {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// The wire types of the binary format.
enum WireType {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kFixed32 = 5,
};

int WireTypeOf(const FieldDescriptor& field) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_DOUBLE:
    case FieldDescriptor::TYPE_FIXED64:
    case FieldDescriptor::TYPE_SFIXED64:
      return kFixed64;
    case FieldDescriptor::TYPE_FLOAT:
    case FieldDescriptor::TYPE_FIXED32:
    case FieldDescriptor::TYPE_SFIXED32:
      return kFixed32;
    case FieldDescriptor::TYPE_STRING:
    case FieldDescriptor::TYPE_BYTES:
    case FieldDescriptor::TYPE_MESSAGE:
      return kLengthDelimited;
    default:
      return kVarint;
  }
}

absl::Status TooMany(absl::string_view field) {
  return absl::InvalidArgumentError(absl::StrCat(
      "field '", field, "' has more than ", kMaxEntries, " entries"));
}

absl::Status TooManyElements(int64_t most = kMaxElements) {
  return absl::InvalidArgumentError(
      absl::StrCat("more than ", most, " messages and strings altogether"));
}

absl::Status TooDeep() {
  return absl::InvalidArgumentError(absl::StrCat(
      "messages are nested more than ", kMaxMessageNesting, " deep"));
}

// Walks binary content and judges it without building anything.
class WireWalker {
 public:
  WireWalker(absl::string_view bytes, const BinaryRules& rules)
      : bytes_(bytes), rules_(rules) {}

  absl::Status Walk(const Descriptor& root) {
    const absl::Status status = WalkMessage(root, bytes_.size(), 1);
    if (status.ok()) return status;
    return absl::InvalidArgumentError(
        absl::StrCat("at byte ", at_, ": ", status.message()));
  }

 private:
  bool ReadVarint(size_t end, uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 70 && at_ < end; shift += 7) {
      const uint64_t byte = static_cast<unsigned char>(bytes_[at_++]);
      if (shift < 64) *value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  absl::Status WalkMessage(const Descriptor& type, size_t end, int depth) {
    if (depth > kMaxMessageNesting) return TooDeep();
    while (at_ < end) {
      uint64_t tag;
      if (!ReadVarint(end, &tag) || tag > 0xffffffffu) {
        return absl::InvalidArgumentError(
            absl::StrCat("a broken tag in a ", type.name()));
      }
      const int number = static_cast<int>(tag >> 3);
      const FieldDescriptor* field = type.FindFieldByNumber(number);
      const int wire_type = static_cast<int>(tag & 7);
      if (field != nullptr) {
        RETURN_IF_ERROR(WalkField(*field, wire_type, end, depth));
      } else if (!rules_.skip_unknown_fields || number == 0 ||
                 !SkipField(wire_type, end)) {
        return absl::InvalidArgumentError(
            absl::StrCat(rules_.skip_unknown_fields ? "broken" : "unknown",
                         " field ", number, " in a ", type.name()));
      }
    }
    return absl::OkStatus();
  }

  // Returns whether there is such a field before `end`; groups are none.
  bool SkipField(int wire_type, size_t end) {
    uint64_t size = 0;
    switch (wire_type) {
      case kVarint:
        return ReadVarint(end, &size);
      case kFixed64:
        size = 8;
        break;
      case kFixed32:
        size = 4;
        break;
      case kLengthDelimited:
        if (!ReadVarint(end, &size)) return false;
        break;
      default:
        return false;
    }
    if (size > end - at_) return false;
    at_ += size;
    return true;
  }

  absl::Status WalkField(const FieldDescriptor& field, int wire_type,
                         size_t end, int depth) {
    const auto error = [&field](absl::string_view what) {
      return absl::InvalidArgumentError(
          absl::StrCat("field '", field.full_name(), "' ", what));
    };
    if (depth == 1 && field.is_repeated() &&
        ++entries_[field.number()] > kMaxEntries) {
      return TooMany(field.name());
    }
    const int expected = WireTypeOf(field);
    const bool packed = wire_type == kLengthDelimited && field.is_packable();
    if (wire_type != expected && !packed) {
      return error(
          absl::StrCat("has wire type ", wire_type, ", not ", expected));
    }
    uint64_t size;
    switch (wire_type) {
      case kVarint:
        if (!ReadVarint(end, &size)) return error("has a broken number");
        return absl::OkStatus();
      case kFixed64:
        size = 8;
        break;
      case kFixed32:
        size = 4;
        break;
      default:
        if (!ReadVarint(end, &size)) return error("has a broken length");
    }
    if (size > end - at_) {
      return error(absl::StrCat("claims ", size, " bytes where ", end - at_,
                                " are left"));
    }
    if (wire_type == kLengthDelimited && !packed &&
        ++num_elements_ > rules_.max_elements) {
      return TooManyElements(rules_.max_elements);
    }
    if (field.type() == FieldDescriptor::TYPE_MESSAGE) {
      return WalkMessage(*field.message_type(), at_ + size, depth + 1);
    }
    if (field.type() == FieldDescriptor::TYPE_STRING &&
        !IsUtf8(bytes_.substr(at_, size))) {
      return error("is not UTF-8");
    }
    at_ += size;
    return absl::OkStatus();
  }

  absl::string_view bytes_;
  const BinaryRules& rules_;
  size_t at_ = 0;
  int64_t num_elements_ = 0;
  absl::flat_hash_map<int, int64_t> entries_;
};

// Counts the messages of text content: braces outside of comments and quotes,
// each belonging to the field named last before it.
absl::Status CheckTextCaps(absl::string_view text) {
  absl::flat_hash_map<absl::string_view, int64_t> entries;
  absl::string_view word;
  int depth = 1;
  int64_t num_elements = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#') {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (c == '"' || c == '\'') {
      if (++num_elements > kMaxElements) return TooManyElements();
      for (++i; i < text.size() && text[i] != c && text[i] != '\n'; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (c == '{' || c == '<') {
      if (depth == 1 && ++entries[word] > kMaxEntries) return TooMany(word);
      if (++num_elements > kMaxElements) return TooManyElements();
      if (++depth > kMaxMessageNesting) return TooDeep();
    } else if (c == '}' || c == '>') {
      if (depth > 1) --depth;
    } else if (absl::ascii_isalpha(static_cast<unsigned char>(c))) {
      const size_t begin = i;
      while (i + 1 < text.size() &&
             (absl::ascii_isalnum(static_cast<unsigned char>(text[i + 1])) ||
              text[i + 1] == '_')) {
        ++i;
      }
      word = text.substr(begin, i + 1 - begin);
    }
  }
  return absl::OkStatus();
}

// Protobuf counts lines and columns from 0; people do not.
class TextErrors : public google::protobuf::io::ErrorCollector {
 public:
  explicit TextErrors(absl::string_view source) : errors_(source) {}

  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    errors_.Add(absl::StrCat("line ", line + 1, ", column ", column + 1, ": ",
                             message));
  }

  const ErrorList& errors() const { return errors_; }

 private:
  ErrorList errors_;
};

// Protobuf's streams count in int: larger content must not reach them.
absl::Status CheckSize(absl::string_view content) {
  if (static_cast<int64_t>(content.size()) <= kMaxFileBytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "a file has at most ", kMaxFileBytes, " bytes, got ", content.size()));
}

bool IsText(absl::string_view path) {
  return absl::EndsWith(path, ".textproto");
}

}  // namespace

absl::Status ParseText(absl::string_view text, absl::string_view source,
                       google::protobuf::Message& message) {
  ErrorList errors(source);
  if (!IsUtf8(text)) {
    errors.Add("is not UTF-8; a binary file must not be named .textproto");
    return errors.status();
  }
  absl::Status caps = CheckSize(text);
  if (caps.ok()) caps = CheckTextCaps(text);
  if (!caps.ok()) {
    errors.Add(caps.message());
    return errors.status();
  }
  TextErrors text_errors(source);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&text_errors);
  parser.SetRecursionLimit(kMaxMessageNesting);
  google::protobuf::io::ArrayInputStream stream(text.data(),
                                                static_cast<int>(text.size()));
  if (parser.Parse(&stream, &message)) return absl::OkStatus();
  if (text_errors.errors().empty()) {
    errors.Add("is not a text message");
    return errors.status();
  }
  return text_errors.errors().status();
}

absl::Status ParseBinary(absl::string_view bytes, absl::string_view source,
                         google::protobuf::Message& message,
                         const BinaryRules& rules) {
  ErrorList errors(source);
  absl::Status wire = CheckSize(bytes);
  if (wire.ok()) wire = WireWalker(bytes, rules).Walk(*message.GetDescriptor());
  if (!wire.ok()) {
    errors.Add(wire.message());
    return errors.status();
  }
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    errors.Add(absl::StrCat("is not a binary ", message.GetDescriptor()->name(),
                            " of ", bytes.size(), " bytes"));
  }
  return errors.status();
}

absl::Status ReadProtoFile(const std::string& path,
                           google::protobuf::Message& message) {
  ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kMaxFileBytes));
  if (IsText(path)) return ParseText(content, path, message);
  const absl::Status status = ParseBinary(content, path, message);
  if (status.ok() || absl::EndsWith(path, ".pb")) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(), " (only names in .textproto are text)"));
}

absl::Status WriteProtoFile(const google::protobuf::Message& message,
                            const std::string& path) {
  std::string content;
  bool written;
  if (IsText(path)) {
    written = google::protobuf::TextFormat::PrintToString(message, &content);
  } else {
    google::protobuf::io::StringOutputStream stream(&content);
    google::protobuf::io::CodedOutputStream coded(&stream);
    // Equal messages give equal files, maps included.
    coded.SetSerializationDeterministic(true);
    written = message.ByteSizeLong() <= static_cast<size_t>(kMaxFileBytes) &&
              message.SerializeToCodedStream(&coded);
  }
  if (!written || static_cast<int64_t>(content.size()) > kMaxFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the message needs ", message.ByteSizeLong(),
                     " bytes in binary, a file has at most ", kMaxFileBytes));
  }
  return ReplaceFile(path, {content});
}

}  // namespace reprise
