#include "tenure/kernels/cpu/table.h"

#include <cstring>
#include <string_view>
#include <unordered_map>

#include "tenure/base/lasting.h"
#include "tenure/kernels/cpu/elementwise/cpu_loop.h"
#include "tenure/kernels/cpu/move/copy.h"
#include "tenure/kernels/cpu/reduce/finite.h"
#include "tenure/kernels/parallel.h"
#include "tenure/kernels/thread_limit.h"

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
      const bool is_new = rows_.emplace(op->second, row).second;
      internal_check(is_new, "an op has one kernel");
    }
  }
  const ops::KernelSlot* find(const ops::OpRecord& op) const override {
    const auto found = rows_.find(&op);
    return found == rows_.end() ? nullptr : &found->second.slot;
  }
  ops::LoopLimits loop_limits() const override {
    // What fits in one tile needs none if its numbers are there as often as they are read.
    return {.inputs = kMaxFusedInputs, .ops = kMaxFusedOps, .repeated_numbers = kFusedTile};
  }
  // Of a usual machine; what plans come out is to be the same on all of them.
  ops::WorkRates work_rates() const override { return {.flops = 100, .bytes = 20, .begin = 500}; }
  std::int64_t alignment() const override { return 64; }  // a cache line, and the widest vector
  std::shared_ptr<const ops::PreparedLoop> prepare(const ops::Loop& loop) const override {
    return prepare_loop(loop, cpu_body);
  }
  int threads() const override { return num_threads(); }
  std::size_t workspace(const ops::KernelSlot& slot, const ops::Kernel& kernel,
                        int threads) const override {
    const ThreadLimit limit(threads);
    return slot.workspace(kernel);
  }
  void run(const ops::KernelSlot& slot, const ops::Kernel& kernel, int threads) override {
    const ThreadLimit limit(threads);
    slot.run(kernel);
  }
  void run_fused(const ops::KernelSlot& slot, const ops::Kernel& kernel,
                 const ops::FusedNeighbours& neighbours, int threads) override {
    const ThreadLimit limit(threads);
    const CallThreads call(kernel);
    slot.fusing->run(kernel, neighbours);
  }
  void run_packed(const ops::KernelSlot& slot, const ops::Kernel& kernel, const std::byte* packed,
                  const ops::FusedNeighbours& neighbours, int threads) override {
    const ThreadLimit limit(threads);
    const CallThreads call(kernel);
    slot.packing->run(kernel, packed, neighbours);
  }
  std::int64_t find_not_finite(const View& view) override {
    return kernels::find_not_finite(view.dtype, view.data, static_cast<std::size_t>(view.count()));
  }
  const Bodies* bodies(const ops::OpRecord& op) const {
    const auto found = rows_.find(&op);
    return found == rows_.end() ? nullptr : found->second.bodies;
  }
  void copy(const ops::View& to, const ops::View& from) override { kernels::copy(from, to); }
  void read(void* host, const void* from, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(host, from, bytes);
  }
  void write(void* to, const void* host, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(to, host, bytes);
  }
  void wait() override {}  // it computes at once

 private:
  std::unordered_map<const ops::OpRecord*, KernelRow> rows_;
};

CpuBackend& backend() {
  static constinit Lasting<CpuBackend> one;
  return one.get([] { return new CpuBackend; });
}

}  // namespace

std::vector<KernelRow> cpu_kernels() {
  std::vector<KernelRow> all;
  for (const auto& family : {activation_kernels(),    arithmetic_kernels(), arrange_kernels(),
                             attention_kernels(),     cell_kernels(),       comparison_kernels(),
                             conv_kernels(),          copy_kernels(),       creation_kernels(),
                             decomposition_kernels(), derivative_kernels(), dropout_kernels(),
                             exponential_kernels(),   fft_kernels(),        index_kernels(),
                             logic_kernels(),         loss_kernels(),       matmul_kernels(),
                             norm_kernels(),          pool_kernels(),       random_kernels(),
                             reduce_kernels(),        selection_kernels(),  solving_kernels(),
                             sorting_kernels(),       special_kernels(),    trigonometric_kernels(),
                             update_kernels()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

ops::Backend& cpu_backend() { return backend(); }

Body cpu_body(const ops::OpRecord& op, DType compute) {
  const auto type = static_cast<std::size_t>(compute);
  if (const Bodies* const bodies = backend().bodies(op)) return (*bodies)[type];
  const ops::KernelSlot& slot = ops::kernel_of(op, cpu);
  return slot.loops == nullptr ? Body() : Body((*slot.loops)[type]);
}

}  // namespace tenure::kernels
