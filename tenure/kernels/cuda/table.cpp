#include "tenure/kernels/cuda/table.h"

#include <mutex>
#include <string_view>
#include <unordered_map>

#include "tenure/kernels/cuda/cuda.h"
#include "tenure/kernels/cuda/find/find.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/launch/queue_clock.h"
#include "tenure/kernels/cuda/launch/replay.h"
#include "tenure/kernels/cuda/loops/cuda_loop.h"
#include "tenure/kernels/cuda/loops/loop_arguments.h"
#include "tenure/kernels/cuda/loops/print.h"
#include "tenure/kernels/cuda/memory/device_memory.h"
#include "tenure/kernels/cuda/memory/pinned_memory.h"
#include "tenure/kernels/cuda/move/move.h"
#include "tenure/memory/pool/devices.h"

namespace tenure::kernels::cuda {
namespace {

class CudaBackend final : public ops::Backend {
 public:
  explicit CudaBackend(Gpu& gpu) : gpu_(gpu) {
    std::unordered_map<std::string_view, const ops::OpRecord*> ops;
    for (const ops::OpRecord* op : ops::all_ops()) {
      ops.emplace(op->name, op);
      if (has_loops(*op)) slots_[op].check = check_for(op->elementwise->refuses);
    }
    for (const Family& family : families()) {
      for (const Row& row : family.rows) {
        const auto op = ops.find(row.op);
        internal_check(op != ops.end(), "a kernel is for an op that is in the list");
        const bool is_new = slots_.emplace(op->second, row.slot).second;
        internal_check(is_new, "an op has one kernel");
      }
    }
  }
  const ops::KernelSlot* find(const ops::OpRecord& op) const override {
    const auto found = slots_.find(&op);
    return found == slots_.end() ? nullptr : &found->second;
  }
  ops::LoopLimits loop_limits() const override { return {.inputs = kLoopInputs, .ops = 64}; }
  // Of an H200; what plans come out is to be the same on all of them.
  ops::WorkRates work_rates() const override {
    return {.flops = 50000, .bytes = 4000, .begin = 2500};
  }
  bool has_wider_than_double() const override { return false; }
  std::int64_t alignment() const override { return 256; }     // a transaction of memory's, twice
  std::int64_t row_alignment() const override { return 16; }  // what a thread loads at once
  std::shared_ptr<const ops::PreparedLoop> prepare(const ops::Loop& loop) const override {
    if (loop.in_types.size() > static_cast<std::size_t>(kLoopInputs)) return nullptr;
    return std::make_shared<const CudaLoop>(gpu_, loop);
  }
  std::unique_ptr<ops::Replay> make_replay() override {
    return gpu_.waits() ? nullptr : std::make_unique<GraphReplay>(gpu_);
  }
  std::unique_ptr<ops::QueueClock> make_clock() override {
    return std::make_unique<GpuClock>(gpu_);
  }
  bool waits_for_indices() const override { return true; }
  IntegerRange integer_range(const View& view) override { return cuda::integer_range(gpu_, view); }
  std::int64_t find_not_finite(const View& view) override {
    return cuda::find_not_finite(gpu_, view);
  }
  void copy(const View& to, const View& from) override { copy_elements(gpu_, "copy", from, to); }
  void read(void* host, const void* from, std::size_t bytes) override {
    gpu_.read(host, from, bytes);
  }
  void write(void* to, const void* host, std::size_t bytes) override {
    gpu_.write(to, host, bytes);
  }
  void wait() override { gpu_.wait(); }

 private:
  Gpu& gpu_;
  std::unordered_map<const ops::OpRecord*, ops::KernelSlot> slots_;
};

}  // namespace

bool has_loops(const ops::OpRecord& op) {
  if (op.elementwise == nullptr) return false;
  for (int i = 0; i < kDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    if (op.takes(type)) return is_printable(ops::loop_of(op, ops::elementwise_types(op, type)));
  }
  return false;
}

std::vector<Family> families() {
  return {arrange_family(), attention_family(), batch_norm_family(), cell_family(),
          conv_family(),    creation_family(),  entropy_family(),    find_family(),
          host_family(),    index_family(),     loss_family(),       mask_family(),
          move_family(),    pool_family(),      product_family(),    random_family(),
          reduce_family(),  row_norm_family(),  scan_family(),       softmax_family(),
          sort_family(),    update_family()};
}

void add_gpu(int index) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Gpu& gpu = make_gpu(index);
  if (mem::is_present(gpu.device())) return;
  auto made = std::make_unique<CudaBackend>(gpu);
  if (!mem::is_present(cuda_pinned(gpu.device()))) {
    mem::add_device(cuda_pinned(gpu.device()), gpu.pinned());
  }
  gpu.make_room_to_read();
  mem::add_device(gpu.device(), gpu.memory());
  ops::add_backend(gpu.device(), *made.release());  // it stays for the process
}

}  // namespace tenure::kernels::cuda
