// `reprise import`: from ONNX to a graph and its weights.

#include "absl/strings/str_cat.h"
#include "core/status_macros.h"
#include "reprise.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/commands/model_source.h"
#include "tools/commands/output_file.h"
#include "tools/commands/report.h"
#include "tools/commands/size.h"

namespace reprise {
namespace {

class ImportCommand : public Command {
 public:
  std::string name() const override { return "import"; }
  std::string help() const override {
    return "Turn an ONNX model into a graph and its weights";
  }
  void AddOptions(CLI::App& app) override {
    app.add_option("MODEL", model_, "ONNX file: .onnx")->required();
    app.add_option("--out", out_,
                   "Folder that gets model.textproto, weights.safetensors and "
                   "names.json; made if it is not there")
        ->type_name("DIR")
        ->required();
    AddSymbolFlag(app, sets_);
    import_.Add(app);
    format_.Add(app);
  }

  absl::Status Run(const Console& console) override {
    ASSIGN_OR_RETURN(const ImportOptions options,
                     import_.Read(SymbolsOf(sets_)));
    const std::unique_ptr<OpTable> ops = MakeOpTable();
    ASSIGN_OR_RETURN(const ImportedModel imported,
                     ImportFile(model_, *ops, options));
    RETURN_IF_ERROR(MakeFolder(out_));
    RETURN_IF_ERROR(CheckOutputs({absl::StrCat(out_, "/model.textproto"),
                                  absl::StrCat(out_, "/weights.safetensors"),
                                  absl::StrCat(out_, "/names.json")},
                                 {model_}));
    RETURN_IF_ERROR(WriteImported(imported, out_));
    int64_t elements = 0;
    for (const NamedArray& weight : imported.weights) {
      elements += weight.array.type.num_elements();
    }
    const proto::Graph& graph = imported.graph;
    if (format_.json()) {
      console.out << Dump({{"model", model_},
                           {"out", out_},
                           {"nodes", graph.node_size()},
                           {"parameters", graph.parameter_size()},
                           {"elements", elements},
                           {"inputs", imported.inputs},
                           {"outputs", imported.outputs},
                           {"renamed", imported.names.size()},
                           {"notes", imported.notes}});
      return absl::OkStatus();
    }
    for (const std::string& note : imported.notes) {
      console.out << "note: " << note << "\n";
    }
    console.out << FormatCount(graph.node_size()) << " nodes, "
                << FormatCount(graph.parameter_size()) << " parameters of "
                << FormatCount(elements) << " numbers, "
                << FormatCount(static_cast<int64_t>(imported.names.size()))
                << " names changed\n"
                << out_
                << "/model.textproto, weights.safetensors, names.json\n";
    return absl::OkStatus();
  }

 private:
  std::string model_;
  std::string out_;
  std::vector<std::string> sets_;
  ImportFlags import_;
  FormatFlag format_;
};

}  // namespace

std::unique_ptr<Command> MakeImportCommand() {
  return std::make_unique<ImportCommand>();
}

}  // namespace reprise
