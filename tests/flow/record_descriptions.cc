// Writes the descriptions that tests/flow/pinned_arena_test.cc replays:
//
//   bazel run //tests/flow:record_descriptions -- "$PWD"

#include <unistd.h>

#include <cstdio>

#include "tests/flow/pinned_examples.h"
#include "tests/testing/recorded_ops.h"

int main(int argc, char** argv) {
  if (argc != 2 || chdir(argv[1]) != 0) {
    std::fprintf(stderr, "usage: record_descriptions FOLDER_OF_THE_PROJECT\n");
    return 2;
  }
  reprise::Recording recording;
  const reprise::OpTable ops(reprise::RecordingOps(recording));
  for (const std::string& name : reprise::PinnedExamples()) {
    const absl::Status status = reprise::PlanExample(name, ops).status();
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return 1;
    }
  }
  std::FILE* const file = std::fopen("tests/flow/descriptions.txt", "w");
  if (file == nullptr) return 1;
  const std::string text = reprise::ToText(recording);
  const bool written =
      std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written ? 0 : 1;
}
