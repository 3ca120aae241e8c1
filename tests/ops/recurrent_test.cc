// What random cases do not show of RNN, GRU and LSTM.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/op_harness.h"

namespace reprise {
namespace {

const std::vector<TensorType> kOperands = {F32({4, 2, 3}), F32({1, 20, 3}),
                                           F32({1, 20, 5})};

TEST(LstmTest, RefusesWhatDoesNotFit) {
  const Attrs size{{"hidden_size", int64_t{5}}};
  const std::vector<TensorType>& in = kOperands;
  const auto with = [&size](const char* name, AttrValue value) {
    Attrs attrs = size;
    attrs.Set(name, std::move(value));
    return attrs;
  };
  ExpectRefused("LSTM", {F32({4, 2}), in[1], in[2]}, size,
                "x must be of rank 3");
  ExpectRefused("LSTM", {F32({0, 2, 3}), in[1], in[2]}, size,
                "x must have 1 to 10000 time steps");
  ExpectRefused("LSTM", {F32({10001, 2, 3}), in[1], in[2]}, size,
                "x must have 1 to 10000 time steps");
  ExpectRefused("LSTM", {in[0], F32({1, 20, 4}), in[2]}, size,
                "w must be f32[1,20,3], got f32[1,20,4]");
  ExpectRefused("LSTM", in, with("direction", std::string("bidirectional")),
                "w must be f32[2,20,3]");
  ExpectRefused("LSTM", in, with("direction", std::string("back")),
                "direction must be forward, reverse or bidirectional");
  ExpectRefused("LSTM", in, with("layout", int64_t{2}), "layout 0 or 1");
  ExpectRefused("LSTM", in, with("activations", std::string("Tanh,Tanh")),
                "activations must be 3 of Tanh, Sigmoid and Relu");
  ExpectRefused("LSTM", in, with("activations", std::string("Tanh,Tanh,Erf")),
                "got 'Tanh,Tanh,Erf'");
  ExpectRefused("LSTM", {in[0], in[1], in[2], TensorType{}, I32({2})}, size,
                "sequence_lens must be absent");
  ExpectRefused(
      "LSTM", {in[0], in[1], in[2], TensorType{}, TensorType{}, F32({1, 2, 4})},
      size, "initial_h must be f32[1,2,5]");
}

}  // namespace
}  // namespace reprise
