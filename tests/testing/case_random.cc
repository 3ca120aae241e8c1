#include "tests/testing/case_random.h"

namespace reprise {

// Not a std distribution: those differ between standard libraries.
int64_t CaseRandom::Int(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(engine_() %
                                    static_cast<uint64_t>(high - low + 1));
}

double CaseRandom::Real(double low, double high) {
  return low + (high - low) * static_cast<double>(engine_() >> 11) /
                   9007199254740992.0;  // 2^53
}

int64_t CaseRandom::Dim() {
  switch (Int(0, 19)) {
    case 0:
      return 0;
    case 1:
      return 67;  // four vectors of 16 floats and a remainder
    case 2:
      return 16;
    case 3:
    case 4:
    case 5:
      return 1;
    default:
      return Int(2, 7);
  }
}

Dims CaseRandom::DimsOfRank(int rank) {
  while (true) {
    Dims dims;
    int64_t product = 1;
    for (int i = 0; i < rank; ++i) {
      dims.push_back(Dim());
      product *= dims.back();
    }
    if (product <= 1000) return dims;
  }
}

Dims CaseRandom::AnyDims(int min_rank, int max_rank) {
  return DimsOfRank(static_cast<int>(Int(min_rank, max_rank)));
}

Dims CaseRandom::Narrowed(const Dims& dims) {
  Dims narrowed(dims.begin() + Int(0, static_cast<int64_t>(dims.size())),
                dims.end());
  for (int64_t& dim : narrowed) {
    if (Int(0, 2) == 0) dim = 1;
  }
  return narrowed;
}

}  // namespace reprise
