#include "tests/testing/recorded_ops.h"

#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/status_macros.h"
#include "ops/all_ops.h"

namespace reprise {
namespace {

// Fields of a line, separated by tabs.
enum Field {
  kKey,
  kImplementation,
  kInLayouts,
  kOutLayouts,
  kOutBytes,
  kScratchpad,
  kHeap,
  kRate,
  kFlops,
  kBytesMoved,
  kPairs,
  kNumFields,
};

std::string LayoutsText(const std::vector<Layout>& layouts) {
  return absl::StrCat(
      layouts.size(), ":",
      absl::StrJoin(layouts, ",", [](std::string* out, const Layout& layout) {
        absl::StrAppend(out, layout.format);
      }));
}

absl::StatusOr<std::vector<Layout>> ParseLayouts(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  int count = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &count)) {
    return absl::InvalidArgumentError(absl::StrCat("layouts: ", text));
  }
  std::vector<Layout> layouts;
  if (count == 0) return layouts;
  for (const absl::string_view format : absl::StrSplit(parts[1], ',')) {
    layouts.push_back(Layout{std::string(format)});
  }
  return layouts;
}

absl::StatusOr<std::vector<int64_t>> ParseNumbers(absl::string_view text) {
  std::vector<int64_t> numbers;
  for (const absl::string_view part :
       absl::StrSplit(text, ',', absl::SkipEmpty())) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(part, &number)) {
      return absl::InvalidArgumentError(absl::StrCat("number: ", part));
    }
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

std::vector<OpDef> RecordingOps(Recording& recording) {
  std::vector<OpDef> ops = AllOps();
  for (OpDef& op : ops) {
    if (!op.describe) continue;
    op.describe = [&recording, describe = op.describe](
                      const Signature& offered,
                      const OpEnv& env) -> absl::StatusOr<Description> {
      ASSIGN_OR_RETURN(Description description, describe(offered, env));
      recording[SignatureKey(offered)] = description;
      return description;
    };
  }
  return ops;
}

std::vector<OpDef> RecordedOps(const Recording& recording) {
  std::vector<OpDef> ops = AllOps();
  for (OpDef& op : ops) {
    op.describe = [&recording](const Signature& offered,
                               const OpEnv&) -> absl::StatusOr<Description> {
      const std::string key = SignatureKey(offered);
      const auto it = recording.find(key);
      if (it == recording.end()) {
        return absl::NotFoundError(absl::StrCat("not recorded: ", key));
      }
      return it->second;
    };
  }
  return ops;
}

std::string ToText(const Recording& recording) {
  std::string text;
  for (const auto& [key, d] : recording) {
    absl::StrAppend(&text, key, "\t", d.implementation, "\t",
                    LayoutsText(d.in_layouts), "\t", LayoutsText(d.out_layouts),
                    "\t");
    absl::StrAppend(&text, absl::StrJoin(d.out_bytes, ","), "\t",
                    d.scratchpad_bytes, "\t", d.library_heap_bytes, "\t",
                    static_cast<int>(d.rate), "\t", d.flops, "\t",
                    d.bytes_moved, "\t");
    absl::StrAppend(&text,
                    absl::StrJoin(d.may_overwrite, ",",
                                  [](std::string* out, const Overwrite& pair) {
                                    absl::StrAppend(out, pair.in, ",",
                                                    pair.out);
                                  }),
                    "\n");
  }
  return text;
}

absl::StatusOr<Recording> FromText(absl::string_view text) {
  Recording recording;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    if (fields.size() != kNumFields) {
      return absl::InvalidArgumentError(
          absl::StrCat(fields.size(), " fields: ", line));
    }
    Description d;
    d.implementation = fields[kImplementation];
    ASSIGN_OR_RETURN(d.in_layouts, ParseLayouts(fields[kInLayouts]));
    ASSIGN_OR_RETURN(d.out_layouts, ParseLayouts(fields[kOutLayouts]));
    ASSIGN_OR_RETURN(d.out_bytes, ParseNumbers(fields[kOutBytes]));
    ASSIGN_OR_RETURN(const std::vector<int64_t> numbers,
                     ParseNumbers(absl::StrJoin(fields.begin() + kScratchpad,
                                                fields.begin() + kPairs, ",")));
    d.scratchpad_bytes = numbers[0];
    d.library_heap_bytes = numbers[1];
    d.rate = static_cast<Rate>(numbers[2]);
    d.flops = numbers[3];
    d.bytes_moved = numbers[4];
    ASSIGN_OR_RETURN(const std::vector<int64_t> pairs,
                     ParseNumbers(fields[kPairs]));
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      d.may_overwrite.push_back(
          {static_cast<int>(pairs[i]), static_cast<int>(pairs[i + 1])});
    }
    recording[fields[kKey]] = std::move(d);
  }
  return recording;
}

}  // namespace reprise
