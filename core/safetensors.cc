// The header is read by a state machine over JSON events, not into a tree: no
// event allocates more than it brings, doubled keys are seen, and nesting has
// a bound.
//
// Source: the format's description in the safetensors project,
// https://github.com/huggingface/safetensors
// Tested by tests/core/safetensors_test.cc.

#include "core/safetensors.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/names.h"
#include "core/status_macros.h"
#include "nlohmann/json.hpp"

namespace reprise {
namespace {

constexpr absl::string_view kMetadataKey = "__metadata__";
constexpr int64_t kLengthBytes = 8;

absl::Status Refuse(absl::string_view what) {
  return absl::InvalidArgumentError(what);
}

struct DTypeName {
  absl::string_view name;
  DType dtype;
};
constexpr DTypeName kDTypeNames[] = {{"F32", DType::kF32},
                                     {"I64", DType::kI64},
                                     {"I32", DType::kI32},
                                     {"U8", DType::kU8},
                                     {"BOOL", DType::kBool}};

// Returns the element type of that name, or kNone.
DType DTypeOf(absl::string_view name) {
  for (const DTypeName& known : kDTypeNames) {
    if (known.name == name) return known.dtype;
  }
  return DType::kNone;
}

// Returns the name of that element type; empty if the format has none.
absl::string_view NameOf(DType dtype) {
  for (const DTypeName& known : kDTypeNames) {
    if (known.dtype == dtype) return known.name;
  }
  return "";
}

// Takes the JSON events of a header. A false return ends the parse; `status`
// then says why.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  const absl::Status& status() const { return status_; }
  SafetensorsHeader TakeHeader() { return std::move(header_); }

  bool null() override { return Fail("null is not expected"); }
  bool boolean(bool) override { return Fail("a bool is not expected"); }
  bool number_float(number_float_t, const string_t& text) override {
    return Fail(absl::StrCat("whole numbers are expected, got ", text));
  }
  bool number_integer(number_integer_t value) override {
    return Fail(absl::StrCat("numbers are at least 0, got ", value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<uint64_t>(INT64_MAX)) {
      return Fail(absl::StrCat("number ", value, " exceeds int64"));
    }
    if (where_ == Where::kShape) {
      if (dims_.size() == kMaxRank) {
        return Fail(absl::StrCat("rank is above ", kMaxRank));
      }
      dims_.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (where_ == Where::kOffsets) {
      if (offsets_.size() == 2) return Fail("data_offsets has two numbers");
      offsets_.push_back(static_cast<int64_t>(value));
      return true;
    }
    return Fail("a number is not expected");
  }
  bool string(string_t& value) override {
    if (where_ == Where::kMetadata) {
      if (header_.metadata.emplace(key_, value).second) return true;
      return Fail(absl::StrCat("key ", Quote(key_), " is doubled"));
    }
    if (where_ == Where::kTensor && key_ == "dtype") {
      dtype_ = DTypeOf(value);
      if (dtype_ != DType::kNone) return true;
      return Fail(absl::StrCat("element type ", Quote(value),
                               " is not one of F32, I64, I32, U8, BOOL"));
    }
    return Fail("a string is not expected");
  }
  bool binary(binary_t&) override { return Fail("binary is not expected"); }

  bool start_object(size_t) override {
    switch (where_) {
      case Where::kStart:
        where_ = Where::kTop;
        return true;
      case Where::kTop:
        where_ = name_ == kMetadataKey ? Where::kMetadata : Where::kTensor;
        dtype_ = DType::kNone;
        dims_.clear();
        offsets_.clear();
        seen_.clear();
        return true;
      default:
        return Fail("an object is not expected");
    }
  }
  bool key(string_t& key) override {
    if (where_ == Where::kTop) {
      name_ = key;
      if (!names_.insert(key).second) return Fail("is there twice");
      return true;
    }
    key_ = key;
    if (where_ == Where::kMetadata) return true;
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      return Fail(absl::StrCat("unknown key ", Quote(key)));
    }
    if (std::find(seen_.begin(), seen_.end(), key) != seen_.end()) {
      return Fail(absl::StrCat("key ", Quote(key), " is doubled"));
    }
    seen_.push_back(key);
    return true;
  }
  bool end_object() override {
    if (where_ == Where::kTensor) {
      where_ = Where::kTop;
      return EndTensor();
    }
    where_ = where_ == Where::kMetadata ? Where::kTop : Where::kEnd;
    return true;
  }
  bool start_array(size_t) override {
    if (where_ == Where::kTensor && key_ == "shape") {
      where_ = Where::kShape;
      return true;
    }
    if (where_ == Where::kTensor && key_ == "data_offsets") {
      where_ = Where::kOffsets;
      return true;
    }
    return Fail("a list is not expected");
  }
  bool end_array() override {
    where_ = Where::kTensor;
    return true;
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    name_.clear();
    return Fail(
        absl::StrCat("is not JSON in UTF-8 at byte ", position, " of it"));
  }

 private:
  enum class Where {
    kStart,
    kTop,
    kMetadata,
    kTensor,
    kShape,
    kOffsets,
    kEnd,
  };

  bool Fail(absl::string_view what) {
    status_ = Refuse(
        name_.empty() || name_ == kMetadataKey
            ? absl::StrCat("header: ", name_, name_.empty() ? "" : " ", what)
            : absl::StrCat("tensor ", Quote(name_), ": ", what));
    return false;
  }

  bool EndTensor() {
    if (seen_.size() != 3) return Fail("needs dtype, shape and data_offsets");
    if (offsets_.size() != 2) return Fail("data_offsets has two numbers");
    absl::StatusOr<TensorType> type = TensorType::Make(dtype_, dims_);
    if (!type.ok()) return Fail(type.status().message());
    const auto [begin, end] = std::make_pair(offsets_[0], offsets_[1]);
    if (end < begin || end - begin != type->bytes()) {
      return Fail(absl::StrCat(ToString(*type), " has ", type->bytes(),
                               " bytes, data_offsets are ", begin, " and ",
                               end));
    }
    header_.entries.push_back({name_, *std::move(type), begin});
    return true;
  }

  absl::Status status_;
  Where where_ = Where::kStart;
  std::string name_;  // of the tensor, at the top level
  std::string key_;   // within it
  std::vector<std::string> seen_;
  DType dtype_ = DType::kNone;
  Dims dims_;
  std::vector<int64_t> offsets_;
  absl::flat_hash_set<std::string> names_;
  SafetensorsHeader header_;
};

// Returns `text` as a JSON string; it is UTF-8.
std::string JsonString(absl::string_view text) {
  return nlohmann::json(std::string(text)).dump();
}

std::string HeaderJson(const std::vector<const TensorView*>& order,
                       const SafetensorsMetadata& metadata) {
  std::vector<std::string> members;
  if (!metadata.empty()) {
    members.push_back(absl::StrCat(JsonString(kMetadataKey), ":",
                                   nlohmann::json(metadata).dump()));
  }
  int64_t offset = 0;
  for (const TensorView* tensor : order) {
    const int64_t end = offset + tensor->type.bytes();
    members.push_back(absl::StrCat(
        JsonString(tensor->name), ":{\"dtype\":\"", NameOf(tensor->type.dtype),
        "\",\"shape\":", DimsToString(tensor->type.dims), ",\"data_offsets\":[",
        offset, ",", end, "]}"));
    offset = end;
  }
  std::string text = absl::StrCat("{", absl::StrJoin(members, ","), "}");
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes,
              ' ');
  return text;
}

absl::Status CheckWritable(const std::string& path,
                           const std::vector<TensorView>& tensors,
                           const SafetensorsMetadata& metadata) {
  absl::flat_hash_set<absl::string_view> names;
  for (const TensorView& tensor : tensors) {
    const std::string who = absl::StrCat(path, ": tensor ", Quote(tensor.name));
    if (!IsUtf8(tensor.name) || tensor.name == kMetadataKey) {
      return Refuse(absl::StrCat(who, ": is no name for a tensor"));
    }
    if (!names.insert(tensor.name).second) {
      return Refuse(absl::StrCat(who, ": is there twice"));
    }
    if (NameOf(tensor.type.dtype).empty()) {
      return Refuse(absl::StrCat(who, ": ", ToString(tensor.type),
                                 " has no element type of the format"));
    }
  }
  for (const auto& [key, value] : metadata) {
    if (!IsUtf8(key) || !IsUtf8(value)) {
      return Refuse(
          absl::StrCat(path, ": metadata ", Quote(key), " is not UTF-8"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json,
                                                         int64_t data_bytes) {
  HeaderReader reader;
  const bool parsed =
      nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  RETURN_IF_ERROR(reader.status());
  if (!parsed) return Refuse("header: is not JSON");
  SafetensorsHeader header = reader.TakeHeader();
  std::vector<SafetensorsEntry>& entries = header.entries;
  // Empty tensors stand before the one that begins where they end.
  std::sort(entries.begin(), entries.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              const int64_t a_bytes = a.type.bytes();
              const int64_t b_bytes = b.type.bytes();
              return std::tie(a.offset, a_bytes, a.name) <
                     std::tie(b.offset, b_bytes, b.name);
            });
  int64_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.offset != end) {
      return Refuse(absl::StrCat(
          "tensor ", Quote(entry.name), ": begins at byte ", entry.offset,
          entry.offset < end ? ", inside the one before, which ends at "
                             : ", behind a hole after ",
          end));
    }
    // Offsets are int64 and each tensor ends where its second one says.
    end += entry.type.bytes();
  }
  if (end != data_bytes) {
    return Refuse(absl::StrCat("the tensors have ", end, " bytes, the file ",
                               data_bytes));
  }
  return header;
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(OpenFile file, OpenForReading(path));
  if (file.bytes < kLengthBytes) {
    return Refuse(absl::StrCat(path, ": a safetensors file has at least ",
                               kLengthBytes, " bytes, this one has ",
                               file.bytes));
  }
  unsigned char raw[kLengthBytes];
  RETURN_IF_ERROR(ReadAt(file.fd, path, 0, kLengthBytes, raw));
  uint64_t length = 0;
  for (int i = kLengthBytes - 1; i >= 0; --i) length = length << 8 | raw[i];
  const int64_t most =
      std::min(file.bytes - kLengthBytes, kMaxSafetensorsHeaderBytes);
  if (length > static_cast<uint64_t>(most)) {
    return Refuse(absl::StrCat(path, ": the header claims ", length,
                               " bytes, at most ", most, " are possible"));
  }
  std::string json(length, '\0');
  RETURN_IF_ERROR(ReadAt(file.fd, path, kLengthBytes,
                         static_cast<int64_t>(length), &json[0]));
  const int64_t data_begin = kLengthBytes + static_cast<int64_t>(length);
  absl::StatusOr<SafetensorsHeader> header =
      ParseSafetensorsHeader(json, file.bytes - data_begin);
  if (!header.ok()) {
    return Refuse(absl::StrCat(path, ": ", header.status().message()));
  }
  return SafetensorsFile(path, std::move(file.fd), data_begin,
                         *std::move(header));
}

absl::Status SafetensorsFile::Read(const SafetensorsEntry& entry,
                                   void* dst) const {
  return ReadAt(fd_, path_, data_begin_ + entry.offset, entry.type.bytes(),
                dst);
}

absl::Status WriteSafetensors(const std::string& path,
                              const std::vector<TensorView>& tensors,
                              const SafetensorsMetadata& metadata) {
  RETURN_IF_ERROR(CheckWritable(path, tensors, metadata));
  std::vector<const TensorView*> order;
  for (const TensorView& tensor : tensors) order.push_back(&tensor);
  // Larger elements first: all are aligned, and there are no holes.
  std::sort(order.begin(), order.end(),
            [](const TensorView* a, const TensorView* b) {
              const int64_t a_size = -SizeOf(a->type.dtype);
              const int64_t b_size = -SizeOf(b->type.dtype);
              return std::tie(a_size, a->name) < std::tie(b_size, b->name);
            });
  const std::string json = HeaderJson(order, metadata);
  if (static_cast<int64_t>(json.size()) > kMaxSafetensorsHeaderBytes) {
    return Refuse(absl::StrCat(path, ": the header has ", json.size(),
                               " bytes, at most ", kMaxSafetensorsHeaderBytes,
                               " are allowed"));
  }
  std::string length;
  for (int shift = 0; shift < 64; shift += 8) {
    length.push_back(static_cast<char>(json.size() >> shift & 0xff));
  }
  std::vector<absl::string_view> parts = {length, json};
  for (const TensorView* tensor : order) {
    parts.emplace_back(static_cast<const char*>(tensor->data),
                       static_cast<size_t>(tensor->type.bytes()));
  }
  return ReplaceFile(path, parts);
}

}  // namespace reprise
