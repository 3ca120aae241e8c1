// Tested by tests/tools/remat_bench_test.cc.

#include "tools/bench/remat_file.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

constexpr int64_t kMaxNodes = 2'000'000;
constexpr int64_t kMaxEdges = 50'000'000;
// Sums of bytes must be exact in doubles with room to spare.
constexpr int64_t kMaxTotalBytes = int64_t{1} << 50;
constexpr int64_t kMaxTotalCost = int64_t{1} << 53;

std::string Quoted(absl::string_view field) {
  constexpr size_t kLongest = 40;
  const std::string text =
      absl::StrCat("'", absl::CHexEscape(field.substr(0, kLongest)), "'");
  return field.size() > kLongest ? absl::StrCat(text, "...") : text;
}

// Takes the lines of a text apart into fields, one line at a time.
class Lines {
 public:
  Lines(absl::string_view content, absl::string_view source)
      : rest_(content), source_(source) {}

  bool AtEnd() const { return absl::StripAsciiWhitespace(rest_).empty(); }

  // Reads the next line, which must be `count` integers from 0 to `limit`.
  absl::StatusOr<std::vector<int64_t>> Next(absl::string_view what,
                                            int64_t count, int64_t limit) {
    ++line_;
    if (rest_.empty()) {
      return Error(absl::StrCat("the file ends where ", what, " must be"));
    }
    const size_t end = rest_.find('\n');
    absl::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == absl::string_view::npos ? rest_.size()
                                                       : end + 1);
    std::vector<int64_t> numbers;
    while (true) {
      line = absl::StripLeadingAsciiWhitespace(line);
      if (line.empty()) break;
      const absl::string_view field =
          line.substr(0, line.find_first_of(" \t\r"));
      line.remove_prefix(field.size());
      int64_t number = 0;
      const bool digits =
          std::all_of(field.begin(), field.end(), absl::ascii_isdigit);
      if (!digits || !absl::SimpleAtoi(field, &number) || number > limit) {
        return Error(absl::StrCat(what, " must be integers from 0 to ", limit,
                                  ", got ", Quoted(field)));
      }
      numbers.push_back(number);
      if (static_cast<int64_t>(numbers.size()) > count) break;
    }
    if (static_cast<int64_t>(numbers.size()) != count) {
      return Error(absl::StrCat("a line with ", what, " must have ", count,
                                " fields, got ",
                                static_cast<int64_t>(numbers.size()) > count
                                    ? "more"
                                    : absl::StrCat(numbers.size())));
    }
    return numbers;
  }

  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(source_, ":", line_, ": ", what));
  }

  void Skip() { ++line_; }

 private:
  absl::string_view rest_;
  absl::string_view source_;
  int64_t line_ = 0;
};

absl::Status CheckSum(const Lines& lines, absl::string_view what,
                      const std::vector<int64_t>& numbers, int64_t limit) {
  int64_t sum = 0;
  for (const int64_t number : numbers) {
    if (number > limit - sum) {
      return lines.Error(absl::StrCat("the sum of ", what, " must not exceed ",
                                      limit, ", got ", sum, " + ", number));
    }
    sum += number;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RematFile> ParseRemat(absl::string_view content,
                                     absl::string_view source, bool in_place) {
  Lines lines(content, source);
  ASSIGN_OR_RETURN(const std::vector<int64_t> size,
                   lines.Next("numbers of nodes and edges", 2, kMaxEdges));
  const int64_t n = size[0];
  if (n < 1 || n > kMaxNodes) {
    return lines.Error(absl::StrCat("the number of nodes must be from 1 to ",
                                    kMaxNodes, ", got ", n));
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> cost,
                   lines.Next("costs", n, kMaxTotalCost));
  RETURN_IF_ERROR(CheckSum(lines, "costs", cost, kMaxTotalCost));
  ASSIGN_OR_RETURN(const std::vector<int64_t> bytes,
                   lines.Next("bytes", n, kMaxTotalBytes));
  RETURN_IF_ERROR(CheckSum(lines, "bytes", bytes, kMaxTotalBytes));
  std::vector<std::vector<int32_t>> reads(n);
  for (int64_t e = 0; e < size[1]; ++e) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> edge,
                     lines.Next("the nodes of an edge", 2, n - 1));
    if (edge[0] >= edge[1]) {
      return lines.Error(absl::StrCat(
          "an edge must lead to a higher number, got ", edge[0], " ", edge[1]));
    }
    reads[edge[1]].push_back(static_cast<int32_t>(edge[0]));
  }
  if (!lines.AtEnd()) {
    lines.Skip();
    return lines.Error(absl::StrCat("nothing may follow the ", size[1],
                                    " edges that line 1 promises"));
  }

  std::vector<bool> needed(n, false);
  needed[n - 1] = true;
  for (int64_t v = n - 1; v >= 0; --v) {
    if (!needed[v]) continue;
    for (const int32_t u : reads[v]) needed[u] = true;
  }
  RematFile file;
  std::vector<int32_t> node_of(n, -1);
  for (int64_t v = 0; v < n; ++v) {
    if (!needed[v]) continue;
    const int32_t id = static_cast<int32_t>(file.number_of.size());
    node_of[v] = id;
    file.number_of.push_back(static_cast<int32_t>(v));
    RematNode node;
    node.cost = cost[v];
    node.may_repeat = true;
    std::sort(reads[v].begin(), reads[v].end());
    reads[v].erase(std::unique(reads[v].begin(), reads[v].end()),
                   reads[v].end());
    for (const int32_t u : reads[v]) {
      if (in_place) {
        node.may_overwrite.push_back({static_cast<int>(node.in.size()), 0});
      }
      node.in.push_back(node_of[u]);
    }
    node.out = {id};
    file.graph.nodes.push_back(std::move(node));
    RematValue value;
    value.bytes = bytes[v];
    value.producer = id;
    value.is_result = v == n - 1;
    file.graph.values.push_back(value);
  }
  return file;
}

std::string ToText(const RematFile& file, absl::Span<const int32_t> runs) {
  // Whether a later run reads the value that is there now.
  std::vector<bool> read_later(file.graph.values.size(), false);
  read_later.back() = true;
  std::vector<std::vector<int32_t>> dropped(runs.size());
  for (size_t i = runs.size(); i-- > 0;) {
    const int32_t node = runs[i];
    if (!read_later[node]) dropped[i].push_back(node);
    read_later[node] = false;
    for (const int32_t v : file.graph.nodes[node].in) {
      if (!read_later[v]) dropped[i].push_back(v);
      read_later[v] = true;
    }
  }
  std::string text;
  for (size_t i = 0; i < runs.size(); ++i) {
    absl::StrAppend(&text, file.number_of[runs[i]], "\n");
    for (const int32_t v : dropped[i]) {
      absl::StrAppend(&text, "-", file.number_of[v], "\n");
    }
  }
  return text;
}

}  // namespace reprise
