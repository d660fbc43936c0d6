#pragma once

#include <utility>

#include "tenure/tenure.h"

namespace tenure::test {

/// A model of two layers, "hidden" and "out", from 64 features to 32.
class SmallNet final : public nn::Layer {
 public:
  SmallNet() : Layer("SmallNet") {
    add("hidden", hidden_);
    add("out", out_);
  }

 protected:
  Tensor forward(Tensor x) const override { return out_(gelu_tanh(hidden_(std::move(x)))); }

 private:
  nn::Dense hidden_{64, 256};
  nn::Dense out_{256, 32};
};

/// A loop with a branch in it, in named layers: "outer", "outer/cell", and below it "wide" and
/// "narrow", of which the first takes more memory.
inline Tensor looped(const Tensor& x) {
  const NameScope outer("outer");
  const Tensor begun = matmul(x, tanh(x));
  return while_loop([](const Tensor& s) { return sum(square(s)) > 1e-3; },
                    [](const Tensor& s) {
                      const NameScope cell("cell");
                      const Tensor y = matmul(s, softmax(s, -1));
                      return cond(
                          sum(y) > 0,
                          [](const Tensor& t) {
                            const NameScope wide("wide");
                            const Tensor twice = concat({t, t}, 0);
                            return matmul(transpose(softmax(matmul(twice, t), -1), 0, 1), twice) *
                                   0.1;
                          },
                          [](const Tensor& t) {
                            const NameScope narrow("narrow");
                            return matmul(cumsum(t, 0), t) * 0.1;
                          },
                          y);
                    },
                    begun, 3);
}

}  // namespace tenure::test
