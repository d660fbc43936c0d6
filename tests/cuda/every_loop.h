#pragma once

#include <set>
#include <string>
#include <vector>

#include "tenure/kernels/cuda/loops/print.h"
#include "tenure/ops/core/types.h"

namespace tenure::test {

/// The kernels of each elementwise op alone, in each type that it takes.
inline std::vector<kernels::cuda::KernelCode> every_loop() {
  std::vector<kernels::cuda::KernelCode> loops;
  std::set<std::string> names;
  for (const ops::OpRecord* const op : ops::all_ops()) {
    if (op->elementwise == nullptr) continue;
    for (int i = 0; i < kDTypes; ++i) {
      const auto type = static_cast<DType>(i);
      if (!op->takes(type)) continue;
      const ops::Loop loop = ops::loop_of(*op, ops::elementwise_types(*op, type));
      std::vector<DType> given(loop.in_types.size(), type);
      if (op->elementwise->rule == ops::TypeRule::select) given[0] = DType::boolean;
      kernels::cuda::KernelCode code = kernels::cuda::print_loop(loop, given);
      if (names.insert(code.names[0]).second) loops.push_back(std::move(code));
    }
  }
  return loops;
}

}  // namespace tenure::test
