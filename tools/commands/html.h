// Text inside HTML pages.

#ifndef TOOLS_COMMANDS_HTML_H_
#define TOOLS_COMMANDS_HTML_H_

#include <string>

#include "absl/strings/string_view.h"
#include "tools/commands/report.h"

namespace reprise {

// Returns `text` as content of an element or a quoted attribute; bytes that are
// not UTF-8 or no character of a page are shown as a replacement character.
std::string EscapeHtml(absl::string_view text);

// Returns `json` in one line, as content of a <script> element: nothing in it
// can end the element.
std::string JsonInScript(const Json& json);

// Returns a page that needs nothing but itself.
//
//   style, body: CSS and HTML, as they are.
std::string HtmlPage(absl::string_view title, absl::string_view style,
                     absl::string_view body);

}  // namespace reprise

#endif  // TOOLS_COMMANDS_HTML_H_
