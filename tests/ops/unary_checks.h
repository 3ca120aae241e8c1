// Checks of operators on one operand, by lists of numbers.

#ifndef TESTS_OPS_UNARY_CHECKS_H_
#define TESTS_OPS_UNARY_CHECKS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Returns the case of a vector of n elements.
inline OpCase VectorCase(const std::string& op, int64_t n, Attrs attrs = {}) {
  OpCase c;
  c.op = op;
  c.in = {F32({n})};
  c.attrs = std::move(attrs);
  return c;
}

// Returns the operator's results on a list of numbers.
inline std::vector<double> Apply(const std::string& op, std::vector<double> x,
                                 Attrs attrs = {}) {
  const int64_t n = static_cast<int64_t>(x.size());
  const HostTensors out =
      RunOp(VectorCase(op, n, std::move(attrs)), {{F32({n}), std::move(x)}});
  return out.empty() ? std::vector<double>() : out[0].data;
}

// Expects these results, bit for bit as f32, NaN where NaN is wanted.
inline void ExpectValues(const std::string& op, const std::vector<double>& x,
                         const std::vector<double>& want, Attrs attrs = {}) {
  const std::vector<double> got = Apply(op, x, std::move(attrs));
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << op << "(" << x[i] << ") = " << got[i];
    } else {
      EXPECT_EQ(got[i], static_cast<float>(want[i]))
          << op << "(" << x[i] << ")";
    }
  }
}

// Returns the error of f in units of the last place of an f32, over a sweep.
inline double LargestUlps(const std::string& op, double low, double high,
                          double (*f)(double), Attrs attrs = {}) {
  constexpr int kPoints = 40000;
  std::vector<double> x;
  for (int i = 0; i < kPoints; ++i) {
    x.push_back(static_cast<float>(low + (high - low) * i / (kPoints - 1)));
  }
  const std::vector<double> y = Apply(op, x, std::move(attrs));
  double largest = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double want = f(x[i]);
    int exponent;
    std::frexp(want, &exponent);
    const double ulp = std::ldexp(1.0, std::max(exponent, -125) - 24);
    largest = std::max(largest, std::abs(y[i] - want) / ulp);
  }
  return largest;
}

// Expects that an element gets the same operations in a full vector and in the
// remainder: a list read backwards gives the results backwards.
inline void ExpectBitsDoNotDependOnPlace(const std::string& op) {
  for (const int n : {1, 15, 16, 17, 37, 67}) {
    std::vector<double> x;
    for (int i = 0; i < n; ++i) {
      x.push_back(static_cast<float>(std::sin(1.0 + i) * 3));
    }
    const std::vector<double> y = Apply(op, x);
    std::reverse(x.begin(), x.end());
    std::vector<double> backwards = Apply(op, x);
    std::reverse(backwards.begin(), backwards.end());
    for (int i = 0; i < n; ++i) {
      EXPECT_TRUE(y[i] == backwards[i] || std::isnan(y[i]))
          << op << " of " << n << ", element " << i;
    }
  }
}

}  // namespace reprise

#endif  // TESTS_OPS_UNARY_CHECKS_H_
