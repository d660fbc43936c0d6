#include "tenure/nn/sequential.h"

#include "tenure/base/error.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

template <class F>
F checked(const std::string& kind, F function, Site site) {
  return mem::in_call(kind, site, [&] {
    if (function == nullptr) throw ValueError(kind + ": the function is empty");
    return std::move(function);
  });
}

}  // namespace

Lambda::Lambda(std::string kind, std::function<Tensor(Tensor)> function, Site site)
    : Lambda(
          kind,
          [f = checked(kind, std::move(function), site)](Tensor x, Site) {
            return f(std::move(x));
          },
          site) {}

Lambda::Lambda(std::string kind, std::function<Tensor(Tensor, Site)> function, Site site)
    : Layer(kind, site), function_(checked(kind, std::move(function), site)) {}

Lambda Relu(Site site) {
  return {"Relu", [](Tensor x, Site at) { return relu({std::move(x), at}); }, site};
}
Lambda Tanh(Site site) {
  return {"Tanh", [](Tensor x, Site at) { return tanh({std::move(x), at}); }, site};
}
Lambda Sigmoid(Site site) {
  return {"Sigmoid", [](Tensor x, Site at) { return sigmoid({std::move(x), at}); }, site};
}
Lambda Gelu(Site site) {
  return {"Gelu", [](Tensor x, Site at) { return gelu_tanh({std::move(x), at}); }, site};
}
Lambda Silu(Site site) {
  return {"Silu", [](Tensor x, Site at) { return silu({std::move(x), at}); }, site};
}
Lambda Softmax(Site site) {
  return {"Softmax", [](Tensor x, Site at) { return softmax({std::move(x), at}); }, site};
}
Lambda Flatten(Site site) {
  return {"Flatten", [](Tensor x, Site at) { return flatten({std::move(x), at}, 1); }, site};
}

const Layer& Sequential::operator[](Asked<std::size_t> place) const {
  return mem::in_call("Sequential", place.site, [&]() -> const Layer& {
    if (place.value >= layers_.size()) {
      throw IndexError("Sequential", "there is no such layer",
                       static_cast<std::int64_t>(place.value),
                       static_cast<std::int64_t>(layers_.size()));
    }
    return *layers_[place.value];
  });
}

Tensor Sequential::forward(Tensor x) const {
  for (const auto& layer : layers_) x = (*layer)(std::move(x), part_site(*layer));
  return x;
}

}  // namespace tenure::nn
