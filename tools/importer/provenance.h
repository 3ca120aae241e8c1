// What PyTorch's exporter says of where a model's initializers come from.

#ifndef TOOLS_IMPORTER_PROVENANCE_H_
#define TOOLS_IMPORTER_PROVENANCE_H_

#include <cstdint>
#include <map>
#include <string>

#include "onnx/onnx_pb.h"

namespace reprise {

// In a model of torch.export, the parameters of the module, its buffers, what
// was computed from either while exporting, and the numbers of its formulas are
// initializers alike. Metadata of the graph tell them apart:
//
//   "pkg.torch.export.ExportedProgram.graph_signature", of the graph, one line
//   for each parameter and buffer:  p_w: PARAMETER target='w'
//   "pkg.onnxscript.optimizer.folded_from", of a value that was computed:
//   ['w', 'val_1']
//
// In other models nothing is known.
class Provenance {
 public:
  Provenance() = default;
  explicit Provenance(const onnx::GraphProto& graph);

  // Whether the metadata are there: every parameter is an initializer then.
  bool known() const { return !is_parameter_.empty(); }

  // Returns whether an initializer is no parameter: a buffer, computed from no
  // parameter, or a single number of which nothing is said. More than one of
  // which nothing is said are taken for parameters that were changed: so the
  // exporter leaves a convolution with a normalization folded in.
  bool IsConstant(const std::string& initializer, int64_t elements) const;

 private:
  std::map<std::string, bool> is_parameter_;        // or a buffer
  std::map<std::string, std::string> folded_from_;  // as written
};

}  // namespace reprise

#endif  // TOOLS_IMPORTER_PROVENANCE_H_
