// What random cases of operators are made of.

#ifndef TESTS_TESTING_CASE_RANDOM_H_
#define TESTS_TESTING_CASE_RANDOM_H_

#include <cstdint>
#include <random>
#include <vector>

#include "core/tensor_type.h"

namespace reprise {

// Numbers for making random cases.
class CaseRandom {
 public:
  explicit CaseRandom(uint64_t seed) : engine_(seed) {}

  // Returns a whole number in [low, high].
  int64_t Int(int64_t low, int64_t high);
  double Real(double low, double high);
  bool Bool() { return Int(0, 1) == 1; }

  template <class T>
  T Pick(const std::vector<T>& from) {
    return from[Int(0, static_cast<int64_t>(from.size()) - 1)];
  }

  // Returns a dim: mostly small, often odd or 1, at times longer than a vector
  // of any instruction set, seldom 0.
  int64_t Dim();

  // Returns `rank` dims whose product is at most a thousand.
  Dims DimsOfRank(int rank);

  // Returns dims of rank in [min_rank, max_rank].
  Dims AnyDims(int min_rank, int max_rank);

  // Returns dims that broadcast with `dims` to `dims`: some made 1, some
  // leading ones dropped.
  Dims Narrowed(const Dims& dims);

 private:
  std::mt19937_64 engine_;
};

}  // namespace reprise

#endif  // TESTS_TESTING_CASE_RANDOM_H_
