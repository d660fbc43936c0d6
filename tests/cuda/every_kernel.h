#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tenure/kernels/cuda/loops/print.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/core/types.h"

namespace tenure::test {

/// Kernels that are compiled as one program: a compiler takes long to begin.
struct KernelBatch {
  std::vector<kernels::cuda::KernelCode> all;  ///< of one file
  /// Of each template, and of the loop of each op, the one of the widest type: it takes the most
  /// registers and shared memory.
  std::vector<kernels::cuda::KernelCode> widest;
};

/// The kernels of each elementwise op alone, in each type that it takes, some at a time.
inline std::vector<KernelBatch> every_loop() {
  constexpr std::size_t kAtOnce = 128;
  std::vector<KernelBatch> batches(1);
  std::set<std::string> names;
  for (const ops::OpRecord* const op : ops::all_ops()) {
    if (op->elementwise == nullptr) continue;
    if (batches.back().all.size() >= kAtOnce) batches.emplace_back();
    KernelBatch& batch = batches.back();
    bool is_new = false;
    for (int i = 0; i < kDTypes; ++i) {  // from narrow to wide
      const auto type = static_cast<DType>(i);
      if (!op->takes(type)) continue;
      const ops::Loop loop = ops::loop_of(*op, ops::elementwise_types(*op, type));
      std::vector<DType> given(loop.in_types.size(), type);
      if (op->elementwise->rule == ops::TypeRule::select) given[0] = DType::boolean;
      kernels::cuda::KernelCode code = kernels::cuda::print_loop(loop, given);
      if (!names.insert(code.names[0]).second) continue;
      batch.all.push_back(std::move(code));
      is_new = true;
    }
    if (is_new) batch.widest.push_back(batch.all.back());
  }
  return batches;
}

/// The kernels of each family in each type, by their files.
inline std::vector<KernelBatch> every_family() {
  std::map<std::string, KernelBatch> by_file;
  for (const kernels::cuda::Family& family : kernels::cuda::families()) {
    for (const kernels::cuda::TypedKernel* const kernel : family.kernels) {
      KernelBatch& batch = by_file[kernel->file];
      for (const kernels::cuda::Types& types : kernel->types) {
        batch.all.push_back(kernel->code(types));
      }
      batch.widest.push_back(batch.all.back());
    }
  }
  std::vector<KernelBatch> batches;
  for (auto& [file, batch] : by_file) batches.push_back(std::move(batch));
  return batches;
}

}  // namespace tenure::test
