#include "tools/commands/sweep_picture.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/commands/html.h"
#include "tools/commands/size.h"

namespace reprise {
namespace {

constexpr char kSweepStyle[] = R"css(
svg { width: 100%; height: auto; max-height: 72vh; display: block; }
svg text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #1d2733; }
svg .everything, svg .annotated, svg .bound { paint-order: stroke;
  stroke: #fff; stroke-width: 5px; stroke-linejoin: round; }
svg .dim { fill: #5b6875; }
svg .bound { fill: #c4221f; }
svg .annotated { fill: #b0541a; }
svg .everything { fill: #1f7a54; }
svg circle.plan { fill: #2f6fbf; }
svg circle.plan:hover { fill: #10202f; }
)css";

constexpr double kWidth = 1100;
constexpr double kHeight = 560;
constexpr double kLeft = 76;
constexpr double kRight = 30;
constexpr double kTop = 46;
constexpr double kBottom = 62;
constexpr double kLetter = 7.2;  // width of one, about

// Returns 1, 2 or 5 times a power of ten, or the next power of two, that
// divides `span` into at most `most` parts.
double DecimalTick(double span, int most) {
  double unit = std::pow(10.0, std::floor(std::log10(span / most)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (span / (unit * factor) <= most) return unit * factor;
  }
  return unit * 10;
}

double BinaryTick(double span, int most) {
  double unit = 1;
  while (span / unit > most) unit *= 2;
  return unit;
}

class Drawing {
 public:
  explicit Drawing(const Sweep& sweep) : sweep_(sweep) {
    std::vector<TradeOff> points = sweep.curve;
    points.push_back(sweep.annotated);
    points.push_back(sweep.save_everything);
    double low = static_cast<double>(sweep.working_set_bytes);
    double high = low;
    double most = 0;
    for (const TradeOff& point : points) {
      low = std::min(low, static_cast<double>(point.arena_bytes));
      high = std::max(high, static_cast<double>(point.arena_bytes));
      most = std::max(most, 100 * AddedFraction(point));
    }
    const double margin = std::max((high - low) * 0.04, 64.0);
    low_ = std::max(low - margin, 0.0);
    high_ = high + margin;
    most_ = most > 0 ? most * 1.08 : 10;
  }

  std::string Draw() {
    absl::StrAppend(&svg_, "<svg viewBox=\"0 0 ", kWidth, " ", kHeight,
                    "\" role=\"img\">\n");
    DrawAxes();
    DrawBound();
    DrawCurve();
    const bool same = X(sweep_.annotated) == X(sweep_.save_everything) &&
                      Y(sweep_.annotated) == Y(sweep_.save_everything);
    DrawMark(sweep_.save_everything, "everything", "#1f7a54",
             same ? "save everything, and as annotated" : "save everything");
    if (!same) {
      DrawMark(sweep_.annotated, "annotated", "#b0541a", "as annotated");
    }
    svg_ += "</svg>\n";
    return std::move(svg_);
  }

 private:
  double X(double bytes) const {
    return kLeft + (bytes - low_) / (high_ - low_) * (kWidth - kLeft - kRight);
  }
  double Y(double percent) const {
    return kHeight - kBottom - percent / most_ * (kHeight - kTop - kBottom);
  }
  double X(const TradeOff& p) const {
    return X(static_cast<double>(p.arena_bytes));
  }
  double Y(const TradeOff& p) const { return Y(100 * AddedFraction(p)); }

  void Line(double x0, double y0, double x1, double y1, const char* style) {
    absl::StrAppendFormat(
        &svg_, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n",
        x0, y0, x1, y1, style);
  }

  void Text(double x, double y, const char* anchor, const char* look,
            const std::string& text) {
    absl::StrAppendFormat(
        &svg_,
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">%s"
        "</text>\n",
        x, y, anchor, look, EscapeHtml(text));
  }

  void DrawAxes() {
    const double base = kHeight - kBottom;
    const double x_tick = BinaryTick(high_ - low_, 9);
    for (double b = std::ceil(low_ / x_tick) * x_tick; b <= high_;
         b += x_tick) {
      Line(X(b), kTop, X(b), base + 5, "stroke=\"#e4e9ee\"");
      Text(X(b), base + 20, "middle", "", FormatSize(static_cast<int64_t>(b)));
    }
    const double y_tick = DecimalTick(most_, 8);
    for (int i = 0; i * y_tick <= most_; ++i) {
      Line(kLeft - 5, Y(i * y_tick), kWidth - kRight, Y(i * y_tick),
           "stroke=\"#e4e9ee\"");
      Text(kLeft - 9, Y(i * y_tick) + 4, "end", "",
           absl::StrFormat("%g %%", i * y_tick));
    }
    Line(kLeft, base, kWidth - kRight, base, "stroke=\"#5b6875\"");
    Line(kLeft, kTop, kLeft, base, "stroke=\"#5b6875\"");
    Text((kLeft + kWidth - kRight) / 2, base + 44, "middle", "dim",
         "arena of the whole set");
    Text(kLeft - 62, kTop - 26, "start", "dim",
         "added cost, in percent of a step without it");
  }

  void DrawBound() {
    const double x = X(static_cast<double>(sweep_.working_set_bytes));
    Line(x, kTop, x, kHeight - kBottom,
         "stroke=\"#c4221f\" stroke-width=\"1.5\" stroke-dasharray=\"7 4\"");
    Label(x, kTop - 7, "bound",
          absl::StrCat("working set ", FormatSize(sweep_.working_set_bytes),
                       ": no schedule needs less"));
  }

  void DrawCurve() {
    // A budget between two plans gets the one of the smaller arena.
    std::string path;
    for (size_t i = 0; i < sweep_.curve.size(); ++i) {
      const TradeOff& point = sweep_.curve[i];
      if (i == 0) {
        absl::StrAppendFormat(&path, "M%.1f %.1f", X(high_), Y(point));
      } else {
        absl::StrAppendFormat(&path, "V%.1f", Y(point));
      }
      absl::StrAppendFormat(&path, "H%.1f", X(point));
    }
    absl::StrAppend(&svg_, "<path d=\"", path,
                    "\" fill=\"none\" stroke=\"#2f6fbf\" "
                    "stroke-width=\"1.5\"/>\n");
    for (const TradeOff& point : sweep_.curve) {
      absl::StrAppendFormat(
          &svg_,
          "<circle class=\"plan\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\">"
          "<title>%s</title></circle>\n",
          X(point), Y(point), EscapeHtml(Describe(point)));
    }
  }

  void DrawMark(const TradeOff& point, const char* look, const char* color,
                const std::string& name) {
    const double x = X(point);
    const double y = Y(point);
    absl::StrAppendFormat(
        &svg_,
        "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"8\" fill=\"none\" "
        "stroke=\"%s\" stroke-width=\"3\"><title>%s: %s</title></circle>\n",
        x, y, color, EscapeHtml(name), EscapeHtml(Describe(point)));
    // The lower of two marks at one place has its label above.
    double at = y - 16;
    if (std::abs(x - last_x_) < 300 && std::abs(at - last_y_) < 18) {
      at = last_y_ - 18;
    }
    last_x_ = x;
    last_y_ = at;
    Label(
        x, at, look,
        absl::StrFormat("%s: %s, +%.1f %%", name, FormatSize(point.arena_bytes),
                        100 * AddedFraction(point)));
  }

  // A label centred on `x`, moved where it would leave the picture.
  void Label(double x, double y, const char* look, const std::string& text) {
    const double room = kLetter * static_cast<double>(text.size());
    const char* anchor = "middle";
    if (x - room / 2 < kLeft) {
      anchor = "start";
      x = std::max(x - 4, kLeft + 4);
    } else if (x + room / 2 > kWidth - 4) {
      anchor = "end";
      x = std::min(x + 8, kWidth - 4);
    }
    Text(x, y, anchor, look, text);
  }

  static std::string Describe(const TradeOff& point) {
    return absl::StrFormat(
        "arena %s (%s bytes), peak %s, %d steps again, +%s (%.1f %%)%s",
        FormatSize(point.arena_bytes), FormatCount(point.arena_bytes),
        FormatSize(point.peak_live_bytes), point.recomputed_steps,
        FormatNanoseconds(point.added_cost_nanoseconds),
        100 * AddedFraction(point),
        point.method.empty() ? "" : absl::StrCat(", by ", point.method));
  }

  const Sweep& sweep_;
  double low_ = 0;
  double high_ = 0;
  double most_ = 0;
  double last_x_ = -1000;
  double last_y_ = -1000;
  std::string svg_;
};

std::string Row(const std::string& name, const TradeOff& point) {
  std::string row = absl::StrCat("<tr><td>", EscapeHtml(name), "</td>");
  for (const std::string& cell :
       {FormatSize(point.arena_bytes), FormatCount(point.arena_bytes),
        FormatSize(point.peak_live_bytes), absl::StrCat(point.recomputed_steps),
        FormatNanoseconds(point.added_cost_nanoseconds),
        absl::StrFormat("%.2f %%", 100 * AddedFraction(point))}) {
    absl::StrAppend(&row, "<td class=\"number\">", EscapeHtml(cell), "</td>");
  }
  return absl::StrCat(row, "<td>", EscapeHtml(point.method), "</td></tr>\n");
}

}  // namespace

double AddedFraction(const TradeOff& point) {
  if (point.cost_nanoseconds == 0) return 0;
  return static_cast<double>(point.added_cost_nanoseconds) /
         static_cast<double>(point.cost_nanoseconds);
}

std::string SweepPicture(const std::string& model, const Sweep& sweep) {
  std::string body =
      absl::StrCat("<h1>Memory against time of ", EscapeHtml(model),
                   "</h1>\n<p class=\"dim\">");
  for (const auto& [name, value] : sweep.symbols) {
    absl::StrAppend(&body, EscapeHtml(name), " = ", value, ", ");
  }
  absl::StrAppend(
      &body, "a step costs ",
      FormatNanoseconds(sweep.save_everything.cost_nanoseconds),
      " without anything computed again; costs are estimates</p>\n",
      Drawing(sweep).Draw(),
      "<table>\n<tr><th></th><th class=\"number\">arena</th>"
      "<th class=\"number\">bytes</th><th class=\"number\">peak</th>"
      "<th class=\"number\">steps again</th>"
      "<th class=\"number\">added time</th>"
      "<th class=\"number\">added cost</th><th>found by</th></tr>\n",
      Row("save everything", sweep.save_everything),
      Row("as annotated", sweep.annotated));
  for (size_t i = 0; i < sweep.curve.size(); ++i) {
    absl::StrAppend(&body, Row(absl::StrCat("plan ", i + 1), sweep.curve[i]));
  }
  absl::StrAppend(&body, "</table>\n");
  return HtmlPage(absl::StrCat("Memory against time of ", model), kSweepStyle,
                  body);
}

}  // namespace reprise
