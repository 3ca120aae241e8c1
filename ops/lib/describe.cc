#include "ops/lib/describe.h"

#include <utility>

#include "ops/lib/layout.h"

namespace reprise {

Description DescribeRowMajor(const Signature& signature,
                             std::string implementation, int64_t flops) {
  Description d;
  d.implementation = std::move(implementation);
  d.in_layouts.resize(signature.in.size());
  d.out_layouts.resize(signature.out.size());
  d.flops = flops;
  for (const TensorType& type : signature.in) d.bytes_moved += type.bytes();
  for (const TensorType& type : signature.out) {
    d.bytes_moved += type.bytes();
    d.out_bytes.push_back(type.bytes());
  }
  return d;
}

Layout CommonLayout(const Signature& offered) {
  for (size_t i = 0; i < offered.in.size(); ++i) {
    const Layout& layout = offered.in_layouts[i];
    if (offered.in[i].dims == offered.out[0].dims && !layout.row_major() &&
        IsPermutation(layout)) {
      return layout;
    }
  }
  return Layout();
}

void AllowOverwrite(const std::vector<int>& inputs, Description& description) {
  for (const int in : inputs) description.may_overwrite.push_back({in, 0});
}

}  // namespace reprise
