#include "tenure/kernels/cpu/table.h"

#include <string_view>
#include <unordered_map>

namespace tenure::kernels {
namespace {

class CpuBackend final : public ops::Backend {
 public:
  CpuBackend() {
    std::unordered_map<std::string_view, const ops::OpRecord*> ops;
    for (const ops::OpRecord* op : ops::all_ops()) ops.emplace(op->name, op);
    for (const KernelRow& row : cpu_kernels()) {
      const auto op = ops.find(row.op);
      internal_check(op != ops.end(), "a kernel is for an op that is in the list");
      const bool is_new = slots_.emplace(op->second, row.slot).second;
      internal_check(is_new, "an op has one kernel");
    }
  }
  const ops::KernelSlot* find(const ops::OpRecord& op) const override {
    const auto found = slots_.find(&op);
    return found == slots_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<const ops::OpRecord*, ops::KernelSlot> slots_;
};

}  // namespace

std::vector<KernelRow> cpu_kernels() {
  std::vector<KernelRow> all;
  for (const auto& family :
       {activation_kernels(), arithmetic_kernels(), arrange_kernels(),       attention_kernels(),
        cell_kernels(),       comparison_kernels(), conv_kernels(),          copy_kernels(),
        creation_kernels(),   derivative_kernels(), dropout_kernels(),       exponential_kernels(),
        index_kernels(),      logic_kernels(),      loss_kernels(),          matmul_kernels(),
        norm_kernels(),       pool_kernels(),       random_kernels(),        reduce_kernels(),
        selection_kernels(),  sorting_kernels(),    trigonometric_kernels(), update_kernels()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

ops::Backend& cpu_backend() {
  static auto& one = *new CpuBackend;
  return one;
}

}  // namespace tenure::kernels
