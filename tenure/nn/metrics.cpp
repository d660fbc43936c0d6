#include "tenure/nn/metrics.h"

#include <fmt/format.h>

#include "tenure/memory/threads/arguments.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/sort_ops.h"

namespace tenure::nn {
namespace {

Tensor share(Tensor hits, Site at) {
  return mean({cast({std::move(hits), at}, DType::float32), at});
}

Tensor classes(const Tensor& target, Site at) { return cast({target, at}, DType::int64); }

}  // namespace

Tensor Loss::operator()(const Tensors& predictions, const Tensors& targets) const {
  const bool is_one = predictions.size() == 1 && targets.size() == 1;
  if (of_one_ && is_one) return of_one_(predictions.front(), targets.front());
  if (of_all_) return of_all_(predictions, targets);
  throw ValueError(fmt::format(
      "a loss or metric of one prediction and one target is given {} and {}; make it of a function "
      "of two lists of tensors",
      predictions.size(), targets.size()));
}

Metric accuracy(Site at) {
  return {"accuracy", [at](const Tensor& prediction, const Tensor& target) {
            const Tensor best = argmax({prediction, at}, -1);
            return share(equal({best, at}, {classes(target, at), at}), at);
          }};
}

Metric top_k_accuracy(std::int64_t k, Site at) {
  mem::require_least("top_k_accuracy", {{"k", k}}, at);
  return {fmt::format("top_{}_accuracy", k),
          [k, at](const Tensor& prediction, const Tensor& target) {
            const Tensor best = topk({prediction, at}, k, -1).indices;
            const Tensor wanted = expand_dims({classes(target, at), at}, -1);
            return share(any({equal({best, at}, {wanted, at}), at}, {-1}), at);
          }};
}

Metric binary_accuracy(Site at) {
  return {"accuracy", [at](const Tensor& prediction, const Tensor& target) {
            const Tensor side = greater({prediction, at}, 0);
            return share(equal({side, at}, {greater({target, at}, 0.5), at}), at);
          }};
}

Metric mean_absolute_error(Site at) {
  return {"mae", [at](const Tensor& prediction, const Tensor& target) {
            const Tensor difference = sub({prediction, at}, {target, at});
            return mean({abs({difference, at}), at});
          }};
}

}  // namespace tenure::nn
