#include "tests/tools/importer/double_network.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/status_macros.h"

namespace reprise {
namespace {

using Tensor = DoubleNetwork::Tensor;

int64_t Count(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

const onnx::AttributeProto* Find(const onnx::NodeProto& node,
                                 const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t Int(const onnx::NodeProto& node, const std::string& name,
            int64_t fallback) {
  const onnx::AttributeProto* const attribute = Find(node, name);
  return attribute == nullptr ? fallback : attribute->i();
}

double Float(const onnx::NodeProto& node, const std::string& name,
             double fallback) {
  const onnx::AttributeProto* const attribute = Find(node, name);
  return attribute == nullptr ? fallback : attribute->f();
}

std::vector<int64_t> Ints(const onnx::NodeProto& node, const std::string& name,
                          std::vector<int64_t> fallback) {
  const onnx::AttributeProto* const attribute = Find(node, name);
  if (attribute == nullptr) return fallback;
  return {attribute->ints().begin(), attribute->ints().end()};
}

// A window over the last two axes of [n, c, h, w].
struct Window2d {
  std::vector<int64_t> kernel, strides, pads, out;

  Window2d(const onnx::NodeProto& node, const Tensor& x,
           const std::vector<int64_t>& kernel_dims)
      : kernel(kernel_dims),
        strides(Ints(node, "strides", {1, 1})),
        pads(Ints(node, "pads", {0, 0, 0, 0})) {
    for (int a = 0; a < 2; ++a) {
      out.push_back(
          (x.dims[2 + a] + pads[a] + pads[2 + a] - kernel[a]) / strides[a] + 1);
    }
  }
};

Tensor Conv(const onnx::NodeProto& node, const Tensor& x, const Tensor& w,
            const Tensor* b) {
  const Window2d at(node, x, {w.dims[2], w.dims[3]});
  const int64_t groups = Int(node, "group", 1);
  const int64_t outs = w.dims[0], ins = w.dims[1];
  const int64_t height = x.dims[2], width = x.dims[3];
  Tensor y;
  y.dims = {x.dims[0], outs, at.out[0], at.out[1]};
  y.data.assign(Count(y.dims), 0);
  // Row by row: y[r] += w x[row], the innermost loop over columns.
#pragma omp parallel for
  for (int64_t o = 0; o < outs; ++o) {
    for (int64_t n = 0; n < x.dims[0]; ++n) {
      double* const plane = &y.data[(n * outs + o) * at.out[0] * at.out[1]];
      if (b != nullptr) {
        std::fill(plane, plane + at.out[0] * at.out[1], b->data[o]);
      }
      for (int64_t i = 0; i < ins; ++i) {
        const int64_t channel = o / (outs / groups) * ins + i;
        const double* const from =
            &x.data[(n * x.dims[1] + channel) * height * width];
        for (int64_t ky = 0; ky < at.kernel[0]; ++ky) {
          for (int64_t kx = 0; kx < at.kernel[1]; ++kx) {
            const double weight =
                w.data[((o * ins + i) * at.kernel[0] + ky) * at.kernel[1] + kx];
            for (int64_t r = 0; r < at.out[0]; ++r) {
              const int64_t row = r * at.strides[0] + ky - at.pads[0];
              if (row < 0 || row >= height) continue;
              for (int64_t c = 0; c < at.out[1]; ++c) {
                const int64_t column = c * at.strides[1] + kx - at.pads[1];
                if (column < 0 || column >= width) continue;
                plane[r * at.out[1] + c] += weight * from[row * width + column];
              }
            }
          }
        }
      }
    }
  }
  return y;
}

Tensor Pool(const onnx::NodeProto& node, const Tensor& x, bool is_max) {
  const Window2d at(node, x, Ints(node, "kernel_shape", {}));
  const bool count_pads = Int(node, "count_include_pad", 0) != 0;
  Tensor y;
  y.dims = {x.dims[0], x.dims[1], at.out[0], at.out[1]};
  for (int64_t plane = 0; plane < x.dims[0] * x.dims[1]; ++plane) {
    const double* const from = &x.data[plane * x.dims[2] * x.dims[3]];
    for (int64_t r = 0; r < at.out[0]; ++r) {
      for (int64_t c = 0; c < at.out[1]; ++c) {
        double most = -std::numeric_limits<double>::infinity();
        double sum = 0;
        int64_t count = 0;
        for (int64_t ky = 0; ky < at.kernel[0]; ++ky) {
          for (int64_t kx = 0; kx < at.kernel[1]; ++kx) {
            const int64_t row = r * at.strides[0] + ky - at.pads[0];
            const int64_t column = c * at.strides[1] + kx - at.pads[1];
            if (row < 0 || row >= x.dims[2] || column < 0 ||
                column >= x.dims[3]) {
              continue;
            }
            const double element = from[row * x.dims[3] + column];
            most = std::max(most, element);
            sum += element;
            ++count;
          }
        }
        if (count_pads) count = at.kernel[0] * at.kernel[1];
        y.data.push_back(is_max ? most : sum / static_cast<double>(count));
      }
    }
  }
  return y;
}

Tensor GlobalAverage(const Tensor& x) {
  Tensor y;
  y.dims = {x.dims[0], x.dims[1], 1, 1};
  const int64_t area = x.dims[2] * x.dims[3];
  for (int64_t plane = 0; plane < x.dims[0] * x.dims[1]; ++plane) {
    double sum = 0;
    for (int64_t i = 0; i < area; ++i) sum += x.data[plane * area + i];
    y.data.push_back(sum / static_cast<double>(area));
  }
  return y;
}

Tensor Lrn(const onnx::NodeProto& node, const Tensor& x) {
  const int64_t size = Int(node, "size", 0);
  const double alpha = Float(node, "alpha", 1e-4);
  const double beta = Float(node, "beta", 0.75);
  const double bias = Float(node, "bias", 1);
  const int64_t channels = x.dims[1], area = x.dims[2] * x.dims[3];
  Tensor y = x;
  for (int64_t n = 0; n < x.dims[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t low = std::max<int64_t>(0, c - (size - 1) / 2);
      const int64_t high = std::min(channels - 1, c + size / 2);
      for (int64_t i = 0; i < area; ++i) {
        double sum = 0;
        for (int64_t k = low; k <= high; ++k) {
          const double element = x.data[(n * channels + k) * area + i];
          sum += element * element;
        }
        y.data[(n * channels + c) * area + i] /=
            std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
      }
    }
  }
  return y;
}

// y = a w (+ c), of the one form that these files have.
Tensor Gemm(const onnx::NodeProto& node, const Tensor& a, const Tensor& w,
            const Tensor* c) {
  const bool transposed = Int(node, "transB", 0) != 0;
  const int64_t rows = a.dims[0], inner = a.dims[1];
  const int64_t columns = w.dims[transposed ? 0 : 1];
  Tensor y;
  y.dims = {rows, columns};
  y.data.assign(rows * columns, 0);
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < columns; ++n) {
      double sum = c == nullptr ? 0 : c->data[n];
      for (int64_t k = 0; k < inner; ++k) {
        sum += a.data[m * inner + k] *
               w.data[transposed ? n * inner + k : k * columns + n];
      }
      y.data[m * columns + n] = sum;
    }
  }
  return y;
}

Tensor BatchNorm(const onnx::NodeProto& node, const Tensor& x,
                 const Tensor& scale, const Tensor& b, const Tensor& mean,
                 const Tensor& var) {
  const double epsilon = Float(node, "epsilon", 1e-5);
  const int64_t area = Count(x.dims) / (x.dims[0] * x.dims[1]);
  Tensor y = x;
  for (int64_t plane = 0; plane < x.dims[0] * x.dims[1]; ++plane) {
    const int64_t c = plane % x.dims[1];
    const double factor = scale.data[c] / std::sqrt(var.data[c] + epsilon);
    for (int64_t i = plane * area; i < (plane + 1) * area; ++i) {
      y.data[i] = (x.data[i] - mean.data[c]) * factor + b.data[c];
    }
  }
  return y;
}

// x op b for a `b` that broadcasts to x.
template <typename Op>
Tensor Binary(const Tensor& x, const Tensor& b, Op op) {
  Tensor y = x;
  for (int64_t i = 0; i < static_cast<int64_t>(y.data.size()); ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (size_t k = 0; k < x.dims.size(); ++k) {
      const int64_t dim = x.dims[x.dims.size() - 1 - k];
      if (k < b.dims.size()) {
        const int64_t other = b.dims[b.dims.size() - 1 - k];
        if (other != 1) at += stride * (rest % dim);
        stride *= other;
      }
      rest /= dim;
    }
    y.data[i] = op(x.data[i], b.data[at]);
  }
  return y;
}

}  // namespace

void DoubleNetwork::Randomize(const std::string& name, Array& array) {
  if (array.type.dtype != DType::kF32) return;
  Tensor tensor;
  tensor.dims = array.type.dims;
  std::seed_seq seed(name.begin(), name.end());
  std::mt19937_64 random(seed);
  const int64_t n = Count(tensor.dims);
  int64_t fan_in = 1;
  for (size_t i = 1; i < tensor.dims.size(); ++i) fan_in *= tensor.dims[i];
  std::normal_distribution<float> kernel(
      0.0f, std::sqrt(2.0f / static_cast<float>(fan_in)));
  std::uniform_real_distribution<float> vector(0.5f, 1.5f);
  for (int64_t i = 0; i < n; ++i) {
    const float number =
        tensor.dims.size() >= 2 ? kernel(random) : vector(random);
    std::memcpy(&array.data[i * sizeof(number)], &number, sizeof(number));
    tensor.data.push_back(number);
  }
  values_[name] = std::move(tensor);
}

const DoubleNetwork::Tensor& DoubleNetwork::In(const onnx::NodeProto& node,
                                               int i) const {
  const auto it = values_.find(node.input(i));
  REPRISE_CHECK(it != values_.end());
  return it->second;
}

DoubleNetwork::Tensor DoubleNetwork::Compute(const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  const auto optional = [this, &node](int i) {
    return i < node.input_size() ? &In(node, i) : nullptr;
  };
  if (op == "Conv") return Conv(node, In(node, 0), In(node, 1), optional(2));
  if (op == "MaxPool" || op == "AveragePool") {
    return Pool(node, In(node, 0), op == "MaxPool");
  }
  if (op == "GlobalAveragePool") return GlobalAverage(In(node, 0));
  if (op == "LRN") return Lrn(node, In(node, 0));
  if (op == "Gemm") return Gemm(node, In(node, 0), In(node, 1), optional(2));
  if (op == "BatchNormalization") {
    return BatchNorm(node, In(node, 0), In(node, 1), In(node, 2), In(node, 3),
                     In(node, 4));
  }
  if (op == "Mul") {
    return Binary(In(node, 0), In(node, 1),
                  [](double a, double b) { return a * b; });
  }
  if (op == "Add" || op == "Sum") {
    return Binary(In(node, 0), In(node, 1),
                  [](double a, double b) { return a + b; });
  }
  Tensor y = In(node, 0);
  if (op == "Relu") {
    for (double& element : y.data) element = std::max(element, 0.0);
  } else if (op == "Unsqueeze") {
    for (const int64_t axis : Ints(node, "axes", {})) {
      y.dims.insert(y.dims.begin() + axis, 1);
    }
  } else if (op == "Reshape") {
    std::vector<int64_t> dims = shapes_.at(node.input(1));
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == 0) dims[i] = y.dims[i];
    }
    const auto open = std::find(dims.begin(), dims.end(), -1);
    if (open != dims.end()) *open = Count(y.dims) / -Count(dims);
    y.dims = dims;
  } else if (op == "Concat") {
    // Along the channels of one image: one after the other.
    REPRISE_CHECK(Int(node, "axis", 1) == 1 && y.dims[0] == 1);
    for (int i = 1; i < node.input_size(); ++i) {
      const Tensor& more = In(node, i);
      y.dims[1] += more.dims[1];
      y.data.insert(y.data.end(), more.data.begin(), more.data.end());
    }
  } else {
    // In inference the identity.
    REPRISE_CHECK(op == "Dropout");
  }
  return y;
}

std::vector<double> DoubleNetwork::Run(const Array& input) {
  const onnx::GraphProto& graph = model_.graph();
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (tensor.data_type() != onnx::TensorProto::INT64) continue;
    std::vector<int64_t>& shape = shapes_[tensor.name()];
    shape.assign(tensor.int64_data().begin(), tensor.int64_data().end());
    if (tensor.has_raw_data()) {
      shape.resize(tensor.raw_data().size() / sizeof(int64_t));
      std::memcpy(shape.data(), tensor.raw_data().data(),
                  tensor.raw_data().size());
    }
  }
  Tensor x;
  x.dims = input.type.dims;
  for (int64_t i = 0; i < input.type.num_elements(); ++i) {
    x.data.push_back(ElementAsDouble(input, i));
  }
  for (const onnx::ValueInfoProto& value : graph.input()) {
    // Weights and shapes are listed as inputs too; the data has four axes.
    if (values_.count(value.name()) == 0 && shapes_.count(value.name()) == 0 &&
        value.type().tensor_type().shape().dim_size() == 4) {
      values_[value.name()] = x;
    }
  }
  const std::string& output = graph.output(0).name();
  for (const onnx::NodeProto& node : graph.node()) {
    // Weights: filled, and randomized since.
    if (node.op_type() == "ConstantOfShape") continue;
    values_[node.output(0)] = Compute(node);
    if (node.output(0) == output) break;
  }
  return values_.at(output).data;
}

}  // namespace reprise
