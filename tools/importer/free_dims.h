// Which named dims of a model may stay symbols.

#ifndef TOOLS_IMPORTER_FREE_DIMS_H_
#define TOOLS_IMPORTER_FREE_DIMS_H_

#include "core/op_table.h"
#include "tools/importer/importer.h"

namespace reprise {

// Compares two imports of a model at different values of its symbols. Where
// they differ in one entry of a Reshape's shape, that entry becomes -1 in
// `imported`. Where they differ in entries of another list of integers, or in
// more than one, each becomes the symbol that has both numbers; in a Reshape
// that has a -1, 0 if there is no such symbol.
//
//   returns: whether they are the same graph then: the symbols are free.
//            Otherwise nothing is changed.
bool FreeDims(const ImportedModel& other, const OpTable& ops,
              ImportedModel& imported);

}  // namespace reprise

#endif  // TOOLS_IMPORTER_FREE_DIMS_H_
