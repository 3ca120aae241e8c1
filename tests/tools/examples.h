// Models to plan, and how they are trained.

#ifndef TESTS_TOOLS_EXAMPLES_H_
#define TESTS_TOOLS_EXAMPLES_H_

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "reprise.h"

namespace reprise {

// Returns examples/NAME.textproto.
inline proto::Graph Read(const std::string& name) {
  absl::StatusOr<proto::Graph> graph =
      ReadGraphFile(absl::StrCat("examples/", name, ".textproto"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// Adam with its defaults.
inline proto::TrainConfig Adam() {
  proto::TrainConfig config;
  config.set_format_version(1);
  config.mutable_adam();
  return config;
}

}  // namespace reprise

#endif  // TESTS_TOOLS_EXAMPLES_H_
