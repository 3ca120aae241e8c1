#include "ops/lib/indexed.h"

#include <algorithm>
#include <utility>

#include "core/status_macros.h"

namespace reprise {

SliceIndex SliceIndex::OfElements(const Dims& data, const Dims& indices,
                                  int axis) {
  SliceIndex result;
  int64_t stride = 1;
  for (int i = static_cast<int>(data.size()) - 1; i >= 0; --i) {
    if (i == axis) result.named_ = {{data[i], stride}};
    result.axes_.push_back({indices[i], i == axis ? 0 : stride});
    stride *= data[i];
  }
  result.num_items_ = Product(indices);
  result.num_slices_ = stride;
  return result;
}

SliceIndex SliceIndex::OfRows(const Dims& data, const Dims& indices,
                              int batch_dims) {
  SliceIndex result;
  const absl::Span<const int64_t> dims = data;
  const int length = static_cast<int>(indices.back());
  result.slice_ = Product(dims.subspan(batch_dims + length));
  int64_t stride = 1;
  for (int i = batch_dims + length - 1; i >= batch_dims; --i) {
    result.named_.insert(result.named_.begin(), {data[i], stride});
    stride *= data[i];
  }
  for (size_t i = indices.size() - 1; i-- > 0;) {
    const bool batch = i < static_cast<size_t>(batch_dims);
    result.axes_.push_back({indices[i], batch ? stride : 0});
    if (batch) stride *= data[i];
    result.num_items_ *= indices[i];
  }
  result.num_slices_ = stride;
  return result;
}

IndexedSpec ElementsSpec(std::string name) {
  IndexedSpec spec;
  spec.name = std::move(name);
  spec.attrs = {AttrSpec("axis", int64_t{0})};
  spec.index = [](absl::string_view op, const Dims& data, const Dims& indices,
                  const Attrs& attrs) -> absl::StatusOr<SliceIndex> {
    const int rank = static_cast<int>(data.size());
    ASSIGN_OR_RETURN(const int axis,
                     NormalizeAxis(attrs.Int("axis"), rank, op));
    bool fits = indices.size() == data.size();
    for (int i = 0; fits && i < rank; ++i) {
      fits = i == axis || indices[i] <= data[i];
    }
    if (!fits) {
      return Invalid(op, ": indices must be of data's rank, and no longer ",
                     "than it along the axes other than ", axis, ", got ",
                     DimsToString(indices), " for ", DimsToString(data));
    }
    return SliceIndex::OfElements(data, indices, axis);
  };
  spec.items = [](const Dims&, const Dims& indices, const Attrs&) {
    return indices;
  };
  return spec;
}

IndexedSpec RowsSpec(std::string name, bool has_batch_dims) {
  IndexedSpec spec;
  spec.name = std::move(name);
  if (has_batch_dims) spec.attrs = {AttrSpec("batch_dims", int64_t{0})};
  const auto batch_dims = [has_batch_dims](const Attrs& attrs) {
    return has_batch_dims ? attrs.Int("batch_dims") : int64_t{0};
  };
  spec.index = [batch_dims](absl::string_view op, const Dims& data,
                            const Dims& indices,
                            const Attrs& attrs) -> absl::StatusOr<SliceIndex> {
    const int64_t batch = batch_dims(attrs);
    const int64_t rank = static_cast<int64_t>(data.size());
    const bool fits =
        batch >= 0 && batch < rank &&
        batch < static_cast<int64_t>(indices.size()) && indices.back() >= 1 &&
        indices.back() <= rank - batch &&
        std::equal(data.begin(), data.begin() + batch, indices.begin());
    if (!fits) {
      return Invalid(op, ": indices must be rows of positions along axes of ",
                     "data that follow ", batch, " common ones, got ",
                     DimsToString(indices), " for ", DimsToString(data));
    }
    return SliceIndex::OfRows(data, indices, static_cast<int>(batch));
  };
  spec.items = [batch_dims](const Dims& data, const Dims& indices,
                            const Attrs& attrs) {
    Dims dims(indices.begin(), indices.end() - 1);
    dims.insert(dims.end(), data.begin() + batch_dims(attrs) + indices.back(),
                data.end());
    return dims;
  };
  return spec;
}

}  // namespace reprise
