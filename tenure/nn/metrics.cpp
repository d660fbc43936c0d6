#include "tenure/nn/metrics.h"

#include <fmt/format.h>

#include "tenure/nn/sizes.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/sort_ops.h"

namespace tenure::nn {
namespace {

Tensor share(Tensor hits) { return mean(cast(std::move(hits), DType::float32)); }

}  // namespace

Metric accuracy() {
  return {"accuracy", [](const Tensor& prediction, const Tensor& target) {
            return share(argmax(prediction, -1) == cast(target, DType::int64));
          }};
}

Metric top_k_accuracy(std::int64_t k) {
  require_positive("top_k_accuracy", {k});
  return {fmt::format("top_{}_accuracy", k), [k](const Tensor& prediction, const Tensor& target) {
            const Tensor best = topk(prediction, k, -1).indices;
            return share(any(best == expand_dims(cast(target, DType::int64), -1), {-1}));
          }};
}

Metric binary_accuracy() {
  return {"accuracy", [](const Tensor& prediction, const Tensor& target) {
            return share((prediction > 0) == (target > 0.5));
          }};
}

Metric mean_absolute_error() {
  return {"mae", [](const Tensor& prediction, const Tensor& target) {
            return mean(abs(prediction - target));
          }};
}

}  // namespace tenure::nn
