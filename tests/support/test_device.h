#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <unordered_map>

#include "tenure/memory/pool/source.h"
#include "tenure/ops/core/backend.h"
#include "tests/support/late_queue.h"
#include "tests/support/shadow_memory.h"

// Note: the test device
//
// A device without a chip, for whoever wants to know whether code keeps to the rules of devices.
//
// - Whoever reads or writes its memory from the host ends the process (shadow_memory.h).
// - It computes later (late_queue.h), so that the host runs ahead of it. A freed block is given out
//   again at once, and its memory goes back to the system in the queue's order.
// - A kernel is the CPU's, run on the shadow. An address in a call that is none of the device's
//   ends the process: somebody forgot a copy.
// - There are two of them, which share nothing: what is right on the one with the other's kernels,
//   memory or queue was not asked of a device but of its kind.

namespace tenure::test {

/// Devices of this process once test_device() was called with their index.
inline constexpr Device kTestDevice{.kind = Device::Kind::test, .index = 0};
inline constexpr Device kOtherTestDevice{.kind = Device::Kind::test, .index = 1};
inline constexpr std::size_t kTestDevices = 2;

class TestDevice final : public ops::Backend, public mem::Source {
 public:
  explicit TestDevice(Device device);

  // Backend
  const ops::KernelSlot* find(const ops::OpRecord& op) const override;
  ops::LoopLimits loop_limits() const override;
  ops::WorkRates work_rates() const override;
  std::int64_t alignment() const override;
  std::shared_ptr<const ops::PreparedLoop> prepare(const ops::Loop& loop) const override;
  int threads() const override;
  std::size_t workspace(const ops::KernelSlot& slot, const ops::Kernel& kernel,
                        int threads) const override;
  void run(const ops::KernelSlot& slot, const ops::Kernel& kernel, int threads) override;
  void run_fused(const ops::KernelSlot& slot, const ops::Kernel& kernel,
                 const ops::FusedNeighbours& neighbours, int threads) override;
  void pack(const ops::KernelSlot& slot, const ops::View& input, std::byte* to) override;
  void run_packed(const ops::KernelSlot& slot, const ops::Kernel& kernel, const std::byte* packed,
                  const ops::FusedNeighbours& neighbours, int threads) override;
  std::int64_t find_not_finite(const ops::View& view) override;
  std::unique_ptr<ops::QueueClock> make_clock() override;
  void copy(const ops::View& to, const ops::View& from) override;
  void read(void* host, const void* from, std::size_t bytes) override;
  void write(void* to, const void* host, std::size_t bytes) override;
  void wait() override;

  // Source
  void* map(std::size_t bytes) noexcept override;
  void unmap(void* begin, std::size_t bytes) noexcept override;
  bool purge(void* begin, std::size_t bytes) noexcept override;
  Room room() noexcept override;
  std::size_t granularity() const noexcept override { return ShadowMemory::kPage; }

  /// How many pieces of work it was given.
  std::size_t queued() const { return queue_.queued(); }
  /// How many loops it was asked for.
  std::size_t prepared() const { return prepared_; }
  /// While `hold` is true nothing is taken out of the queue.
  void hold(bool hold) { queue_.hold(hold); }
  /// Has the device say that so much of its memory is others'.
  void set_outside(std::size_t bytes) { outside_ = bytes; }

 private:
  /// What the device has for an op: the CPU's kernel, and what tells when to wait for it.
  struct Entry {
    ops::KernelSlot slot{};
    ops::FusingKernel fusing{};
    const ops::KernelSlot* host = nullptr;
    bool waits = false;
    bool is_transfer = false;
  };
  class Work;
  class TestLoop;
  class LoopWork;
  static constexpr std::size_t kEntries = 512;

  template <std::size_t device, std::size_t i>
  struct Place;
  template <std::size_t device, std::size_t... i>
  void write_table(std::index_sequence<i...>);

  // What the functions at a place of the table do.
  void run_kernel(std::size_t place, const ops::Kernel& kernel);
  ops::Specs measure(std::size_t place, const ops::Kernel& kernel);
  void check(std::size_t place, const char* op, DType compute, const ops::LoopInputs& in);
  void run_fused(std::size_t place, const ops::Kernel& kernel,
                 const ops::FusedNeighbours& neighbours);
  /// Of a slot that find() gave.
  const Entry& entry_of(const ops::KernelSlot& slot) const;
  /// Puts a call with its neighbours into the queue; `run(kernel, neighbours)` is the CPU's.
  template <class Run>
  void enqueue_with_loops(const Entry& entry, const ops::Kernel& kernel,
                          const ops::FusedNeighbours& neighbours, const Run& run);
  void run_transfer(const ops::Kernel& kernel);

  Device device_;
  ShadowMemory memory_;
  LateQueue queue_;
  std::atomic<std::size_t> outside_ = 0;

  mutable std::atomic<std::size_t> prepared_ = 0;
  mutable std::mutex entries_mutex_;
  mutable std::array<Entry, kEntries> entries_{};
  mutable std::unordered_map<const ops::OpRecord*, std::size_t> numbers_;
};

/// Made known, with its backend, by the first call for an index below kTestDevices; there for good.
TestDevice& test_device(std::size_t index = 0);

}  // namespace tenure::test
