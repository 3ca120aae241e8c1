#include "tools/commands/size.h"

#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace reprise {
namespace {

constexpr std::pair<absl::string_view, double> kUnits[] = {
    {"", 1},     {"B", 1},        {"KB", 1e3},        {"MB", 1e6},
    {"GB", 1e9}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
};

// Returns `number` with three significant digits; it is below 1,024.
std::string ThreeDigits(double number) {
  if (number >= 99.95) return absl::StrFormat("%.0f", number);
  if (number >= 9.995) return absl::StrFormat("%.1f", number);
  return absl::StrFormat("%.2f", number);
}

}  // namespace

absl::StatusOr<int64_t> ParseSize(absl::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789.");
  const absl::string_view unit =
      digits == absl::string_view::npos
          ? absl::string_view()
          : absl::StripLeadingAsciiWhitespace(text.substr(digits));
  double number = 0;
  if (absl::SimpleAtod(text.substr(0, digits), &number)) {
    for (const auto& [name, factor] : kUnits) {
      if (name != unit) continue;
      const double bytes = std::floor(number * factor);
      if (bytes < 9e18) return static_cast<int64_t>(bytes);
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", text,
      "' is not a size; a number with B, KB, MB, GB, KiB, MiB or GiB is"));
}

std::string FormatSize(int64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double number = static_cast<double>(bytes);
  for (const char* unit : {"KiB", "MiB"}) {
    number /= 1024;
    // What would be shown as 1024 is 1.00 of the next unit.
    if (number < 1023.5) return absl::StrCat(ThreeDigits(number), " ", unit);
  }
  return absl::StrFormat("%.2f GiB", number / 1024);
}

std::string FormatCount(int64_t count) {
  std::string digits = absl::StrCat(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string FormatNanoseconds(int64_t nanoseconds) {
  double number = static_cast<double>(nanoseconds);
  if (number < 1e3) return absl::StrCat(nanoseconds, " ns");
  for (const char* unit : {"us", "ms"}) {
    number /= 1e3;
    if (number < 999.5) return absl::StrCat(ThreeDigits(number), " ", unit);
  }
  return absl::StrCat(ThreeDigits(number / 1e3), " s");
}

}  // namespace reprise
