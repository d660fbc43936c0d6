#include "tenure/ops/core/cost.h"

#include <algorithm>

#include "tenure/ops/core/backend.h"

namespace tenure::ops {

Cost cost_of(const OpRecord& op, const Kernel& kernel) {
  if (op.view != nullptr && op.view(kernel)) return {};
  const auto total = [](std::span<const View> views, auto amount) {
    double sum = 0;
    for (const View& view : views) sum += static_cast<double>(view.count()) * amount(view);
    return sum;
  };
  const auto one = [](const View&) { return 1.0; };
  const auto size = [](const View& view) { return static_cast<double>(size_of(view.dtype)); };
  Cost cost{.bytes = total(kernel.in, size) + total(kernel.out, size)};
  if (op.flops != nullptr) {
    cost.flops = op.flops(kernel);
  } else if (op.elementwise != nullptr) {
    cost.flops = op.elementwise->cost * total(kernel.out, one);
  } else {
    cost.flops = std::max(total(kernel.in, one), total(kernel.out, one));
  }
  return cost;
}

double nanoseconds(const Cost& cost, const WorkRates& rates) {
  return rates.begin + cost.flops / rates.flops + cost.bytes / rates.bytes;
}

}  // namespace tenure::ops
