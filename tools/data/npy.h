// Numpy's .npy files and .npz archives.

#ifndef TOOLS_DATA_NPY_H_
#define TOOLS_DATA_NPY_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/data/array.h"

namespace reprise {

// Returns the array in a .npy file: '<f4', '<f8' (rounded to f32), '<i4',
// '<i8', '|u1' or '|b1' in C order.
//
//   source: named at the start of every error.
//   errors: InvalidArgument naming the part of the header that is wrong, or
//           the bytes that the shape needs and those that are there.
absl::StatusOr<Array> ParseNpy(absl::string_view content,
                               absl::string_view source);

// Returns the arrays of a .npz archive by name, ".npy" removed.
//
//   errors: InvalidArgument naming archive and member.
absl::StatusOr<std::map<std::string, Array>> ParseNpz(absl::string_view content,
                                                      absl::string_view source);

// Returns the .npy file of an array, version 1.0.
std::string ToNpy(const Array& array);

}  // namespace reprise

#endif  // TOOLS_DATA_NPY_H_
