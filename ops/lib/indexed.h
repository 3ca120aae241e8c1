// Operators that read or write the slices of a tensor that indices name:
// GatherElements, GatherND, ScatterElements, ScatterND.
//
//   item i of the indices  ->  a slice of `data`, and the same one of y's or
//                              the updates' items
//
//   GatherElements, axis 1, data [2, 4], indices [2, 3]: 6 items, slices of one
//   element. GatherND, data [2, 4, 5], indices [3, 1]: 3 items, slices of 20.
//
// Negative indices count from the end. An index out of range is data, not a
// property of the model: what is gathered there is NaN (zeros for integers),
// what is scattered there is dropped, and neither adds to a gradient.
//
// Several items may name one slice. Whatever the number of threads, each slice
// meets its items in their order: threads own columns of all slices, or ranges
// of slices where those are short.

#ifndef OPS_LIB_INDEXED_H_
#define OPS_LIB_INDEXED_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/op.h"
#include "core/tensor_type.h"
#include "ops/lib/infer.h"

namespace reprise {

// Which slice of data each item names.
class SliceIndex {
 public:
  // Items are the elements of the indices; each replaces its own position
  // along `axis`.
  static SliceIndex OfElements(const Dims& data, const Dims& indices, int axis);

  // Items are the rows of the indices: positions along the axes of data that
  // follow `batch_dims` ones, which both have.
  static SliceIndex OfRows(const Dims& data, const Dims& indices,
                           int batch_dims);

  int64_t num_items() const { return num_items_; }
  int64_t num_slices() const { return num_slices_; }
  int64_t slice() const { return slice_; }  // elements

  // Returns the number of the slice that an item names, -1 if there is none.
  template <class I>
  int64_t SliceOf(const I* indices, int64_t item) const {
    int64_t number = 0;
    int64_t rest = item;
    for (const Axis& axis : axes_) {
      number += rest % axis.dim * axis.stride;
      rest /= axis.dim;
    }
    for (size_t i = 0; i < named_.size(); ++i) {
      const int64_t index =
          indices[item * static_cast<int64_t>(named_.size()) + i];
      const int64_t dim = named_[i].dim;
      if (index < -dim || index >= dim) return -1;
      number += (index < 0 ? index + dim : index) * named_[i].stride;
    }
    return number;
  }

 private:
  struct Axis {
    int64_t dim;
    int64_t stride;  // in slices of data
  };
  std::vector<Axis> axes_;   // of the items, innermost first
  std::vector<Axis> named_;  // of data, that an item has an index for
  int64_t num_items_ = 1;
  int64_t num_slices_ = 1;
  int64_t slice_ = 1;
};

// One way of indexing: by elements, or by rows.
struct IndexedSpec {
  std::string name;             // of the operator
  std::vector<AttrSpec> attrs;  // that `index` reads

  // Judges dims. `op` begins the errors.
  std::function<absl::StatusOr<SliceIndex>(absl::string_view op,
                                           const Dims& data,
                                           const Dims& indices, const Attrs&)>
      index;

  // The dims of y, or of the updates, after `index` has judged.
  std::function<Dims(const Dims& data, const Dims& indices, const Attrs&)>
      items;
};

// By elements along the attribute `axis`; by rows, after `batch_dims`.
IndexedSpec ElementsSpec(std::string name);
IndexedSpec RowsSpec(std::string name, bool has_batch_dims);

// Returns the operator (data, indices) -> y, and its gradient, which reads the
// indices.
std::vector<OpDef> GatherSlicesOps(const IndexedSpec& spec);

// Returns the operator (data, indices, updates) -> y with the attribute
// `reduction`, and its gradients. Those of none and add read the indices; of
// several updates for one slice, under none, the last one counts. Those of mul
// read data and updates too; those of max and min also y, and ties share.
std::vector<OpDef> ScatterSlicesOps(const IndexedSpec& spec);

}  // namespace reprise

#endif  // OPS_LIB_INDEXED_H_
