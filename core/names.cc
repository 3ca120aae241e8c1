#include "core/names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

bool IsFirst(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '.' || c == '/';
}

bool IsLater(char c) { return IsFirst(c) || c == ':' || c == '-'; }

absl::Status CheckLength(absl::string_view name) {
  if (name.empty()) return absl::InvalidArgumentError("a name is missing");
  if (name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("names have at most ", kMaxNameBytes, " bytes, ",
                     Quote(name), " has ", name.size()));
  }
  return absl::OkStatus();
}

absl::Status BadCharacter(absl::string_view name, size_t position,
                          absl::string_view grammar) {
  return absl::InvalidArgumentError(absl::StrCat("names match ", grammar, ", ",
                                                 Quote(name), " does not at ",
                                                 "byte ", position));
}

}  // namespace

absl::Status CheckName(absl::string_view name) {
  const absl::Status length = CheckLength(name);
  if (!length.ok()) return length;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i == 0 ? IsFirst(name[i]) : IsLater(name[i])) continue;
    return BadCharacter(name, i, "[A-Za-z0-9_./][A-Za-z0-9_./:-]*");
  }
  if (name.substr(0, kReservedPrefix.size()) == kReservedPrefix) {
    return absl::InvalidArgumentError(absl::StrCat(
        "names beginning with '__' are reserved, got ", Quote(name)));
  }
  return absl::OkStatus();
}

absl::Status CheckGlob(absl::string_view glob) {
  const absl::Status length = CheckLength(glob);
  if (!length.ok()) return length;
  for (size_t i = 0; i < glob.size(); ++i) {
    if (IsLater(glob[i]) || glob[i] == '*') continue;
    return BadCharacter(glob, i, "[A-Za-z0-9_./:*-]+");
  }
  return absl::OkStatus();
}

bool IsUtf8(absl::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const unsigned char lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    // The second byte's range excludes overlong forms, surrogates and code
    // points above U+10FFFF.
    int more;
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) {
      more = 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      more = 2;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      more = 3;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    } else {
      return false;
    }
    for (; more > 0; --more) {
      if (i == text.size()) return false;
      const unsigned char c = static_cast<unsigned char>(text[i++]);
      if (c < low || c > high) return false;
      low = 0x80;
      high = 0xBF;
    }
  }
  return true;
}

std::string Quote(absl::string_view text) {
  constexpr size_t kShown = 80;
  const bool cut = text.size() > kShown;
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, kShown)),
                      cut ? "...'" : "'");
}

}  // namespace reprise
