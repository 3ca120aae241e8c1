// Draws use only operations that IEEE 754 rounds in one way (+ - * / sqrt, and
// a logarithm of our own made of them), never the C library's functions, whose
// last bit differs between versions. The target is compiled without contraction
// to fused multiply-adds for the same reason.
//
// Normal draws: Marsaglia's polar method. A point (x, y) drawn from the square
// (-1, 1)^2 until it lies in the unit circle, s = x^2 + y^2, gives
// x sqrt(-2 ln(s) / s). Attempts take further words of the element's own
// stream, so one element's retries never shift another's draws.
//
// Source: Marsaglia and Bray (1964), "A convenient method for generating normal
// variables", doi:10.1137/1006063; variance scaling: Glorot and Bengio (2010),
// He et al. (2015), arXiv:1502.01852.
// Tested by tests/core/initialize_test.cc.

#include "core/initialize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/load_parts.h"
#include "core/random.h"
#include "core/status_macros.h"

namespace reprise {
namespace {

// Returns ln(x) of a positive normal x, to about 1e-15. With x = m 2^e and m
// in [sqrt(1/2), sqrt(2)): ln(m) = 2 artanh(s), s = (m - 1) / (m + 1), and
// |s| < 0.172, so 10 terms of the series leave less than 1e-17.
double NaturalLog(double x) {
  constexpr double kLn2 = 0.693147180559945309417232121458;
  constexpr double kSqrtHalf = 0.707106781186547524400844362105;
  int exponent;
  double mantissa = std::frexp(x, &exponent);  // exact; in [1/2, 1)
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);
  const double s2 = s * s;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * s2 + 1.0 / k;
  return 2 * s * sum + exponent * kLn2;
}

// Returns a number in (-1, 1), symmetric about 0, from the lower 32 bits.
double Symmetric(uint64_t bits) {
  return (static_cast<double>(bits & 0xffffffffu) + 0.5) * 0x1p-31 - 1;
}

double NormalDraw(uint64_t key, uint64_t index) {
  const uint64_t element_key = RandomBits(key, index);
  for (uint64_t attempt = 0;; ++attempt) {
    const uint64_t bits = RandomBits(element_key, attempt);
    const double x = Symmetric(bits);
    const double y = Symmetric(bits >> 32);
    const double s = x * x + y * y;
    // Symmetric() is never 0, so neither is s.
    if (s < 1) return x * std::sqrt(-2 * NaturalLog(s) / s);
  }
}

struct Draw {
  bool normal = false;
  double mean = 0;  // of normal draws
  double stddev = 0;
  double low = 0;  // of uniform ones
  double high = 0;
};

void FillDraws(const Draw& draw, uint64_t key, int64_t num_elements,
               float* data) {
  for (int64_t i = 0; i < num_elements; ++i) {
    const uint64_t index = static_cast<uint64_t>(i);
    const double x =
        draw.normal ? draw.mean + draw.stddev * NormalDraw(key, index)
                    : draw.low + (draw.high - draw.low) *
                                     double{UnitFloat(RandomBits(key, index))};
    data[i] = static_cast<float>(x);
  }
}

struct Fans {
  double in;
  double out;
};

// Fans of a [in, out] matrix, or of a [out, in / groups, kernel...] weight.
// Counted in double: products of dims alone may exceed int64 in an empty value.
Fans FansOf(const TensorType& type) {
  const Dims& dims = type.dims;
  if (dims.size() == 2) {
    return {static_cast<double>(dims[0]), static_cast<double>(dims[1])};
  }
  double kernel = 1;
  for (size_t i = 2; i < dims.size(); ++i) {
    kernel *= static_cast<double>(dims[i]);
  }
  return {static_cast<double>(dims[1]) * kernel,
          static_cast<double>(dims[0]) * kernel};
}

Draw ScaledDraw(const proto::Initializer::VarianceScaling& scaling,
                const TensorType& type) {
  const Fans fans = FansOf(type);
  double fan = (fans.in + fans.out) / 2;
  if (scaling.mode() == proto::Initializer::FAN_IN) fan = fans.in;
  if (scaling.mode() == proto::Initializer::FAN_OUT) fan = fans.out;
  const double variance = double{scaling.scale()} / std::fmax(fan, 1);
  Draw draw;
  draw.normal = scaling.normal();
  draw.stddev = std::sqrt(variance);
  // Uniform on (-a, a) has variance a^2 / 3.
  draw.high = std::sqrt(3 * variance);
  draw.low = -draw.high;
  return draw;
}

// Writes `content` into the elements first, first + stride, ...
void FillNumber(float content, const TensorType& type, int64_t first,
                int64_t stride, void* data) {
  const int64_t size = SizeOf(type.dtype);
  const int64_t num_elements = type.num_elements();
  char element[sizeof(int64_t)] = {};
  switch (type.dtype) {
    case DType::kF32:
      std::memcpy(element, &content, sizeof(content));
      break;
    case DType::kI32: {
      const int32_t number = static_cast<int32_t>(content);
      std::memcpy(element, &number, sizeof(number));
      break;
    }
    case DType::kI64: {
      const int64_t number = static_cast<int64_t>(content);
      std::memcpy(element, &number, sizeof(number));
      break;
    }
    default:
      element[0] = static_cast<char>(static_cast<uint8_t>(content));
  }
  char* bytes = static_cast<char*>(data);
  for (int64_t i = first; i < num_elements; i += stride) {
    std::memcpy(bytes + i * size, element, size);
  }
}

// Returns the initializer that an absent one stands for.
proto::Initializer DefaultInitializer(const TensorType& type) {
  proto::Initializer initializer;
  if (type.dtype == DType::kF32 && type.rank() >= 2) {
    initializer.mutable_variance_scaling()->set_scale(1);
    initializer.mutable_variance_scaling()->set_mode(
        proto::Initializer::FAN_AVG);
  } else {
    initializer.set_constant(0);
  }
  return initializer;
}

// Returns the content of `tensor` for a value of type `type`, whose dims stand
// for those that the file may have given by symbols.
absl::StatusOr<Literal> ContentOf(const proto::Tensor& tensor,
                                  const TensorType& type) {
  proto::Tensor bound = tensor;
  bound.mutable_type()->clear_dim();
  for (const int64_t dim : type.dims) {
    bound.mutable_type()->add_dim()->set_value(dim);
  }
  ASSIGN_OR_RETURN(Literal literal, ReadLiteral(bound, {}));
  if (literal.type != type) {
    return absl::InvalidArgumentError(absl::StrCat(
        "value is ", ToString(literal.type), ", not ", ToString(type)));
  }
  return literal;
}

}  // namespace

absl::Status FillInitial(const proto::Initializer& initializer,
                         absl::string_view name, const TensorType& type,
                         uint64_t seed, absl::Span<char> data) {
  const auto refuse = [name](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "': ", what));
  };
  REPRISE_CHECK(static_cast<int64_t>(data.size()) >= type.bytes());
  if (initializer.kind_case() == proto::Initializer::KIND_NOT_SET) {
    return FillInitial(DefaultInitializer(type), name, type, seed, data);
  }
  if (initializer.kind_case() == proto::Initializer::kValue) {
    const absl::StatusOr<Literal> content =
        ContentOf(initializer.value(), type);
    if (!content.ok()) return refuse(content.status().message());
    if (!content->data.empty()) {
      std::memcpy(data.data(), content->data.data(), content->data.size());
    }
    return absl::OkStatus();
  }
  const absl::Status fits = CheckInitializer(initializer, type, {});
  if (!fits.ok()) return refuse(fits.message());
  const uint64_t key = RandomKey(seed, NameHash(name));
  const int64_t num_elements = type.num_elements();
  float* floats = reinterpret_cast<float*>(data.data());
  Draw draw;
  switch (initializer.kind_case()) {
    case proto::Initializer::kConstant:
      FillNumber(initializer.constant(), type, 0, 1, data.data());
      return absl::OkStatus();
    case proto::Initializer::kIdentity:
      FillNumber(0, type, 0, 1, data.data());
      if (num_elements > 0) {
        // Row i has its one at column i; there are min(rows, columns) of them.
        const int64_t columns = type.dims[1];
        TensorType square = type;
        square.dims[0] = std::min(type.dims[0], columns);
        FillNumber(1, square, 0, columns + 1, data.data());
      }
      return absl::OkStatus();
    case proto::Initializer::kUniform:
      draw.low = initializer.uniform().low();
      draw.high = initializer.uniform().high();
      break;
    case proto::Initializer::kNormal:
      draw.normal = true;
      draw.mean = initializer.normal().mean();
      draw.stddev = initializer.normal().stddev();
      break;
    default:
      draw = ScaledDraw(initializer.variance_scaling(), type);
  }
  FillDraws(draw, key, num_elements, floats);
  return absl::OkStatus();
}

}  // namespace reprise
