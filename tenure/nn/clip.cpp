#include "tenure/nn/clip.h"

#include <fmt/format.h>

#include <cmath>

#include "tenure/base/error.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

void require_limit(const char* function, double limit) {
  if (limit > 0) return;
  throw ValueError(fmt::format("{}: a limit of {}; it is positive", function, limit));
}

}  // namespace

Tensor global_norm(const std::vector<Tensor>& gradients) {
  Tensor squares = zeros({}, DType::float32);
  for (const Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    squares = std::move(squares) + sum(square(cast(gradient, DType::float32)));
  }
  return sqrt(std::move(squares));
}

std::vector<Tensor> clip_by_global_norm(std::vector<Tensor> gradients, double longest) {
  require_limit("clip_by_global_norm", longest);
  if (std::isinf(longest)) return gradients;  // none is longer
  const Tensor factor = minimum(longest / maximum(global_norm(gradients), longest), 1.0);
  for (Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    const DType dtype = gradient.dtype();
    gradient = cast(std::move(gradient) * factor, dtype);
  }
  return gradients;
}

std::vector<Tensor> clip_by_value(std::vector<Tensor> gradients, double limit) {
  require_limit("clip_by_value", limit);
  for (Tensor& gradient : gradients) {
    if (gradient.defined()) gradient = clamp(std::move(gradient), -limit, limit);
  }
  return gradients;
}

}  // namespace tenure::nn
