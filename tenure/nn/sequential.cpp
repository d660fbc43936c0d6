#include "tenure/nn/sequential.h"

#include "tenure/ops/elementwise.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {

Lambda Relu() {
  return {"Relu", [](Tensor x) { return relu(std::move(x)); }};
}
Lambda Tanh() {
  return {"Tanh", [](Tensor x) { return tanh(std::move(x)); }};
}
Lambda Sigmoid() {
  return {"Sigmoid", [](Tensor x) { return sigmoid(std::move(x)); }};
}
Lambda Gelu() {
  return {"Gelu", [](Tensor x) { return gelu_tanh(std::move(x)); }};
}
Lambda Silu() {
  return {"Silu", [](Tensor x) { return silu(std::move(x)); }};
}
Lambda Softmax() {
  return {"Softmax", [](Tensor x) { return softmax(std::move(x)); }};
}
Lambda Flatten() {
  return {"Flatten", [](Tensor x) { return flatten(std::move(x), 1); }};
}

Tensor Sequential::forward(Tensor x) const {
  for (const auto& layer : layers_) x = (*layer)(std::move(x));
  return x;
}

}  // namespace tenure::nn
