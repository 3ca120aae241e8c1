#include "tools/commands/html.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace reprise {
namespace {

// What both kinds of pages look like.
constexpr char kStyle[] = R"css(
:root { color-scheme: light; }
body { margin: 0 auto; padding: 16px 24px; max-width: 1600px; color: #1d2733;
  background: #fff; font: 14px/1.45 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 20px; margin: 0 0 2px; overflow-wrap: anywhere; }
p { margin: 4px 0; }
.dim { color: #5b6875; }
.facts { display: flex; flex-wrap: wrap; gap: 8px; margin: 12px 0; }
.facts div { border: 1px solid #d5dce3; border-radius: 6px;
  padding: 5px 11px; }
.facts b { display: block; font-size: 16px; font-variant-numeric: tabular-nums; }
.facts span { color: #5b6875; font-size: 12px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 12px 3px 0; text-align: left;
  border-bottom: 1px solid #e4e9ee; }
th { color: #5b6875; font-weight: 600; }
.number { text-align: right; }
)css";

}  // namespace

std::string EscapeHtml(absl::string_view text) {
  // The writer of JSON judges UTF-8, and shows control characters as \u00XX.
  const std::string dumped = Json(std::string(text))
                                 .dump(-1, ' ', /*ensure_ascii=*/false,
                                       Json::error_handler_t::replace);
  const std::string valid = Json::parse(dumped).get<std::string>();
  std::string escaped;
  for (const char c : valid) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        // Control characters are no characters of a page.
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          escaped += "\xef\xbf\xbd";
        } else {
          escaped += c;
        }
    }
  }
  return escaped;
}

std::string JsonInScript(const Json& json) {
  return absl::StrReplaceAll(
      json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace),
      {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

std::string HtmlPage(absl::string_view title, absl::string_view style,
                     absl::string_view body) {
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
      EscapeHtml(title), "</title>\n<style>", kStyle, style,
      "</style>\n</head>\n<body>\n", body, "</body>\n</html>\n");
}

}  // namespace reprise
