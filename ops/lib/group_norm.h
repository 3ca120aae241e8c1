// Normalization of groups of channels: x [n, c, ..] in which every group of
// c / g channels of an image has mean 0 and variance 1, before each channel is
// scaled and shifted.
//
//   xhat = (x - mean) inv,  inv = 1 / sqrt(var + epsilon)
//   y    = xhat scale + b,  scale and b one number a channel
//   dx   = inv (h - mean(h) - xhat mean(h xhat)),  h = dy scale
//   dscale = sum of dy xhat,  db = sum of dy, over images and positions
//
// Means are those of a group of an image. The gradient reads x and two numbers
// a group, never y.
// Source: Wu and He (2018), arXiv:1803.08494; the formula of dx is the
// derivative of the above, terms collected.

#ifndef OPS_LIB_GROUP_NORM_H_
#define OPS_LIB_GROUP_NORM_H_

#include <functional>
#include <string>
#include <vector>

#include "core/op.h"

namespace reprise {

// Returns the operator and its gradient. Outputs 1 and 2 are statistics.
//
//   attrs:  beside epsilon.
//   groups: of a node; refuses its attributes by InvalidArgument.
std::vector<OpDef> GroupNormOps(
    const std::string& name, std::vector<AttrSpec> attrs,
    std::function<absl::StatusOr<int64_t>(const TensorType& x, const Attrs&)>
        groups);

}  // namespace reprise

#endif  // OPS_LIB_GROUP_NORM_H_
