// Graph files: text if the first byte is 't', which is not part of it.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/load.h"
#include "core/proto_file.h"
#include "proto/graph.pb.h"
#include "reprise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const reprise::OpTable* const ops = reprise::MakeOpTable().release();
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  reprise::proto::Graph graph;
  const bool is_text = size > 0 && bytes[0] == 't';
  const absl::Status parsed =
      is_text ? reprise::ParseText(bytes.substr(1), "fuzz", graph)
              : reprise::ParseBinary(bytes, "fuzz", graph);
  if (!parsed.ok()) return 0;
  reprise::LoadGraph(graph, *ops, /*bindings=*/{}, "fuzz")
      .status()
      .IgnoreError();
  return 0;
}
