#include "tenure/nn/clip.h"

#include <algorithm>
#include <cmath>

#include "tenure/memory/default_device.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {

Tensor global_norm(const std::vector<Tensor>& gradients, Site site) {
  const auto first = std::find_if(gradients.begin(), gradients.end(),
                                  [](const Tensor& gradient) { return gradient.defined(); });
  const DeviceScope device(first == gradients.end() ? default_device() : first->device());
  Tensor squares = zeros({}, DType::float32, site);
  for (const Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    Tensor own = square({cast({gradient, site}, DType::float32), site});
    squares = add({std::move(squares), site}, {sum({std::move(own), site}), site});
  }
  return sqrt({std::move(squares), site});
}

std::vector<Tensor> clip_by_global_norm(std::vector<Tensor> gradients, double longest, Site site) {
  mem::require_in(mem::kAboveZero, "clip_by_global_norm", {{"longest", longest}}, site);
  if (std::isinf(static_cast<float>(longest))) return gradients;  // none is longer
  Tensor length = maximum({global_norm(gradients, site), site}, {longest, site});
  const Tensor factor =
      minimum({div({longest, site}, {std::move(length), site}), site}, {1.0, site});
  for (Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    const DType dtype = gradient.dtype();
    gradient = cast({mul({std::move(gradient), site}, {factor, site}), site}, dtype);
  }
  return gradients;
}

std::vector<Tensor> clip_by_value(std::vector<Tensor> gradients, double limit, Site site) {
  mem::require_in(mem::kAboveZero, "clip_by_value", {{"limit", limit}}, site);
  for (Tensor& gradient : gradients) {
    if (gradient.defined()) gradient = clamp({std::move(gradient), site}, -limit, limit);
  }
  return gradients;
}

}  // namespace tenure::nn
