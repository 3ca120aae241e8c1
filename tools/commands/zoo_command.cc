// `reprise zoo`: prints a benchmark model.

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/zoo/zoo.h"

namespace reprise {
namespace {

struct SizeFlag {
  const char* name;
  const char* help;
};

constexpr SizeFlag kSizeFlags[] = {
    {"batch", "Default of the symbol `batch`"},
    {"blocks", "Depth, in blocks"},
    {"channels", "Channels of an image"},
    {"classes", "Classes of labels"},
    {"heads", "Heads of attention"},
    {"image", "Pixels of an image's side"},
    {"length", "Tokens of a sample"},
    {"vocabulary", "Kinds of tokens"},
    {"width", "Channels or features of the first block"},
};

std::string ListOfModels() {
  std::string text = "Models, with their sizes and defaults:\n";
  for (const ZooModel& model : ZooModels()) {
    absl::StrAppend(&text, "  ", model.name, ": ", model.summary, "\n      ",
                    ToFlags(model.sizes),
                    model.has_dropout ? " --dropout=0" : "", "\n");
  }
  return text;
}

class ZooCommand : public Command {
 public:
  std::string name() const override { return "zoo"; }
  std::string help() const override {
    return "Print a benchmark model, with loss and labels, at a size";
  }
  void AddOptions(CLI::App& app) override {
    app.add_option("NAME", request_.model, "The model; see below")->required();
    for (const SizeFlag& flag : kSizeFlags) {
      app.add_option_function<int64_t>(
             absl::StrCat("--", flag.name),
             [this, &flag](const int64_t& value) {
               request_.sizes[flag.name] = value;
             },
             flag.help)
          ->type_name("N")
          ->transform(Integer(1, kMaxZooSize));
    }
    app.add_option("--dropout", request_.dropout,
                   "Ratio of every dropout, where the model has any; 0: none")
        ->check(Fraction());
    app.add_option("--regions", regions_, "none, or block: one a block")
        ->check(CLI::IsMember({"none", "block"}));
    app.add_option("--policy", policy_,
                   "Of the regions; without it save_nothing")
        ->check(CLI::IsMember(ZooPolicies()));
    app.footer(ListOfModels());
    // A size that does not fit is wrong usage, not a wrong file.
    app.callback([this]() {
      const absl::Status status = Make();
      if (!status.ok()) {
        throw CLI::ValidationError("zoo", std::string(status.message()));
      }
    });
  }

  absl::Status Run(const Console& console) override {
    WriteText(made_, console.out);
    return absl::OkStatus();
  }

 private:
  absl::Status Make() {
    if (regions_ == "block") {
      request_.block_policy = policy_.empty() ? "save_nothing" : policy_;
    } else if (!policy_.empty()) {
      return absl::InvalidArgumentError(
          "--policy is that of regions: it needs --regions=block");
    }
    absl::StatusOr<ZooGraph> made = MakeZooGraph(request_);
    if (!made.ok()) return made.status();
    made_ = *std::move(made);
    return absl::OkStatus();
  }

  ZooRequest request_;
  std::string regions_ = "none";
  std::string policy_;
  ZooGraph made_;
};

}  // namespace

std::unique_ptr<Command> MakeZooCommand() {
  return std::make_unique<ZooCommand>();
}

}  // namespace reprise
