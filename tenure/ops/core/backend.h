#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tenure/ops/core/loop.h"
#include "tenure/ops/core/record.h"
#include "tenure/tensor/device_error.h"

// Note: where a device begins
//
// A record (record.h) says what an op means: types, shapes, memory effect, gradient. How a device
// computes it is in that device's table of kernels, a folder below kernels/: `backend(device)` is
// the device, `kernel_of(op, device)` what it has for an op. Whoever runs an op asks with the
// device of its inputs, or of the program, and knows no device by name.
//
// A device may compute later, in the order in which it was given work: run() then returns before
// the elements are there. Whoever wants them on the host goes through read(), which waits. What a
// kernel finds out from elements (measure, check, an index outside its axis) it waits for itself,
// so that a call that throws has changed nothing.

namespace tenure::ops {

/// A tensor's element type and how its elements lie, borrowed.
struct LayoutRef {
  DType dtype;
  const Shape& shape;
  const Strides& strides;
};

/// A shorter way for calls on two tensors that end before views and workspaces are made.
struct DirectKernel {
  /// Whether it takes these inputs; then `shape` is the output's, of the inputs' type.
  bool (*infer)(const LayoutRef& a, const LayoutRef& b, Shape& shape) = nullptr;
  void (*run)(const LayoutRef& a, const void* a_data, const LayoutRef& b, const void* b_data,
              void* out) = nullptr;
};

/// How elementwise ops join a kernel, so that what lies between them takes no memory, or is not
/// read from memory again. Whether it pays is asked of views without data, of sizes alone.
struct FusingKernel {
  /// Whether it pays that a loop makes input 0 as the kernel reads it; null: never.
  bool (*takes_loop)(const Kernel& kernel) = nullptr;
  /// Whether it pays that a loop follows on each part of the result when that is computed; null:
  /// never. It is the first result, if there are several; views of results are not given.
  bool (*leads_loop)(const Kernel& kernel) = nullptr;
  /// Whether the elements that such a loop makes may be of another size than the kernel's own.
  bool of_any_size = false;
  /// run, with those ops.
  void (*run)(const Kernel& kernel, const FusedNeighbours& neighbours) = nullptr;
};

/// How a kernel gets one of its inputs in the order in which it reads it, where that stays the same
/// for many calls (weights): packed once, before, instead of in each of them. The results have the
/// same bits either way, and the workspace is the same.
struct PackingKernel {
  int input = 0;  ///< of which it is
  /// Bytes of that input packed; 0: it does not pay. Asked of views without data, and the same on
  /// every machine.
  std::size_t (*bytes)(const Kernel& kernel) = nullptr;
  /// Packs it. How depends on the view alone.
  void (*pack)(const View& input, std::byte* to) = nullptr;
  /// run, or where there are neighbours fusing->run, with that input packed.
  void (*run)(const Kernel& kernel, const std::byte* packed,
              const FusedNeighbours& neighbours) = nullptr;
};

/// How the host computes an elementwise op of a user's: reads n elements of each input and writes n
/// to `out`, all contiguous. `out` may be one of the inputs.
using ElementLoop = void (*)(const void* const* in, void* out, std::size_t n);
/// By the type that they compute in. 16-bit floats need none: they are computed with in float32.
using ElementLoops = std::array<ElementLoop, kDTypes>;

/// A piece of a kernel's workspace, for recordings.
struct WorkspacePiece {
  const char* what = "";  ///< "carry"
  std::size_t offset = 0;
  std::size_t bytes = 0;
  Spec spec{};    ///< of what lies there
  int body = -1;  ///< or of a branch or a loop: the number of the body whose arena it is
};

/// What a device has for an op.
struct KernelSlot {
  /// Bytes of temporary memory for a call; null: none.
  std::size_t (*workspace)(const Kernel&) = nullptr;
  /// What that memory consists of, if there is more to say; bodies may have the same place.
  std::vector<WorkspacePiece> (*pieces)(const Kernel&) = nullptr;
  /// Fills kernel.out, or sees to it that whoever comes later finds it filled. Not of elementwise
  /// ops.
  void (*run)(const Kernel&) = nullptr;
  /// Of an op whose shapes depend on data: all that infer says, with the sizes that it leaves
  /// unknown. It sees the inputs' elements and the workspace, where it may leave what run goes on
  /// with.
  Specs (*measure)(const Kernel&) = nullptr;
  /// Of elementwise ops: rejects values that the op is not defined on, before anything is written.
  void (*check)(const char* op, DType compute, const LoopInputs& in) = nullptr;
  /// run, of several calls none of which touches what another writes; null: that gains nothing.
  void (*run_together)(std::span<const Kernel>) = nullptr;
  const DirectKernel* direct = nullptr;
  const FusingKernel* fusing = nullptr;
  const PackingKernel* packing = nullptr;
  /// Of a kernel that can write its one result in other layouts than densely in the order of its
  /// axes, and reads other ones as well as that: the bytes that it moves only because its operands,
  /// the result among them, lie as these views do; nothing if it takes no such views. Asked without
  /// data. A call that a loop joins has its result as ever, and is not asked.
  std::optional<std::int64_t> (*moved)(const Kernel&) = nullptr;
  bool adds = false;  ///< run heeds Kernel::adds
  /// Sums may be joined in another order where a call is cut into parts (OpRecord::parts): a
  /// library decides that by sizes.
  bool rounds_parts_anew = false;
  /// Of users' elementwise ops, on the CPU. The others have bodies, which a device compiles.
  const ElementLoops* loops = nullptr;
};

/// The slot of a struct with static members of these names, of which only run must be there.
template <class Members>
KernelSlot make_slot() {
  KernelSlot slot{.run = Members::run};
  if constexpr (requires { Members::workspace; }) slot.workspace = Members::workspace;
  if constexpr (requires { Members::pieces; }) slot.pieces = Members::pieces;
  if constexpr (requires { Members::measure; }) slot.measure = Members::measure;
  if constexpr (requires { Members::moved; }) slot.moved = Members::moved;
  if constexpr (requires { Members::adds; }) slot.adds = Members::adds;
  if constexpr (requires { Members::rounds_parts_anew; }) {
    slot.rounds_parts_anew = Members::rounds_parts_anew;
  }
  if constexpr (requires { Members::run_together; }) slot.run_together = Members::run_together;
  if constexpr (requires { Members::direct; }) slot.direct = &Members::direct;
  if constexpr (requires { Members::fusing; }) slot.fusing = &Members::fusing;
  if constexpr (requires { Members::packing; }) slot.packing = &Members::packing;
  return slot;
}

/// How much a device makes one loop of. The same on every machine, as plans are.
struct LoopLimits {
  int inputs = kMaxLoopInputs;  ///< at most kMaxLoopInputs
  int ops = 0;
  /// A loop over at most so many elements gets its numbers as often as it reads them.
  std::int64_t repeated_numbers = 0;
};

/// What a usual device of a kind does in a nanosecond, and how many it takes to begin a kernel:
/// plans weigh memory against time by it. The same on every machine, as plans are.
struct WorkRates {
  double flops = 1;
  double bytes = 1;
  double begin = 0;
};

/// How a device does again what it was given once, in one piece. Any number of threads may use it.
class Replay {
 public:
  Replay() = default;
  virtual ~Replay() = default;
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// Has the device do what `work` gives it, which these addresses alone decide. Some of the times
  /// `work` is called, and sometimes twice: it may give work to the device, and nothing else. What
  /// it throws leaves this, unless it is called once more.
  virtual void run(std::span<std::byte* const> addresses, const std::function<void()>& work) = 0;
};

/// Tells when a device that computes later came to marks in its queue. One thread uses it at a
/// time.
class QueueClock {
 public:
  QueueClock() = default;
  virtual ~QueueClock() = default;
  QueueClock(const QueueClock&) = delete;
  QueueClock& operator=(const QueueClock&) = delete;

  /// A mark that the device came to.
  struct Passed {
    std::uint64_t number = 0;
    std::int64_t ns = 0;  ///< since a moment of the device's own
  };
  /// Puts a mark behind all that the device was given. False: it cannot be had.
  virtual bool mark(std::uint64_t number) noexcept = 0;
  /// The oldest mark that is left, which is gone then. nullopt: there is none, or the device has
  /// not come there yet, which it does first if this `waits`. A device that was lost has none.
  virtual std::optional<Passed> next(bool waits) noexcept = 0;
};

/// A device: what it can compute, and the ways to its memory, whose addresses mean nothing to the
/// host.
class Backend {
 public:
  virtual ~Backend() = default;
  /// nullptr: this device cannot. What it returns stays for the process.
  virtual const KernelSlot* find(const OpRecord& op) const = 0;
  virtual LoopLimits loop_limits() const = 0;
  virtual WorkRates work_rates() const = 0;
  /// Whether what is hard to compute in float64 is computed in a wider type.
  virtual bool has_wider_than_double() const { return true; }
  /// What the first bytes of a program's buffers are multiples of: a power of two, at least that of
  /// the pool (64) and at most the granularity of its memory.
  virtual std::int64_t alignment() const = 0;
  /// What bytes rows of matrices best begin at multiples of, so that a gap behind each may be worth
  /// its memory to kernels that leave one (KernelSlot::moved). 1: anywhere.
  virtual std::int64_t row_alignment() const { return 1; }
  /// Elementwise ops of which it has kernels, as it runs them. nullptr: they are too many for one
  /// loop, as one op alone never is.
  virtual std::shared_ptr<const PreparedLoop> prepare(const Loop& loop) const = 0;

  /// Threads that a kernel may use now, if that means anything here: its workspace may depend on
  /// them.
  virtual int threads() const { return 1; }
  /// What a kernel that has a workspace wants on at most so many threads.
  virtual std::size_t workspace(const KernelSlot& slot, const Kernel& kernel, int threads) const {
    static_cast<void>(threads);
    return slot.workspace(kernel);
  }
  /// slot.run on at most so many threads.
  virtual void run(const KernelSlot& slot, const Kernel& kernel, int threads) {
    static_cast<void>(threads);
    slot.run(kernel);
  }
  /// slot.fusing->run on at most so many threads.
  virtual void run_fused(const KernelSlot& slot, const Kernel& kernel,
                         const FusedNeighbours& neighbours, int threads) {
    static_cast<void>(threads);
    slot.fusing->run(kernel, neighbours);
  }
  /// slot.packing->pack.
  virtual void pack(const KernelSlot& slot, const View& input, std::byte* to) {
    slot.packing->pack(input, to);
  }
  /// slot.packing->run on at most so many threads.
  virtual void run_packed(const KernelSlot& slot, const Kernel& kernel, const std::byte* packed,
                          const FusedNeighbours& neighbours, int threads) {
    static_cast<void>(threads);
    slot.packing->run(kernel, packed, neighbours);
  }
  /// The first element of a contiguous tensor that is infinite or no number, once it is computed;
  /// -1: there is none.
  virtual std::int64_t find_not_finite(const View& view) = 0;

  /// Whether kernels wait for the device where they look at indices, so that it is better to know
  /// them already (tensor/integer_notes.h).
  virtual bool waits_for_indices() const { return false; }
  /// Of a view of int32 or int64, once it is computed. Of devices that wait for indices.
  virtual IntegerRange integer_range(const View& view) {
    static_cast<void>(view);
    return IntegerRange::none();
  }

  /// Something of a program's to repeat its runs by. nullptr: this device gains nothing by that.
  virtual std::unique_ptr<Replay> make_replay() { return nullptr; }

  /// For whoever wants to know how long the device takes. nullptr: it computes at once.
  virtual std::unique_ptr<QueueClock> make_clock() { return nullptr; }

  /// Copies elements within the device, of one shape and type, any layout, no overlap.
  virtual void copy(const View& to, const View& from) = 0;
  /// Copies bytes to the host once all work that was given to the device is done.
  virtual void read(void* host, const void* from, std::size_t bytes) = 0;
  /// Copies bytes from the host; its memory is the caller's again on return.
  virtual void write(void* to, const void* host, std::size_t bytes) = 0;
  /// Returns when all work that was given to the device is done.
  virtual void wait() = 0;
};

/// The backend of a device; nullptr if there is none. wiring.cpp has the table; nothing
/// registers itself.
Backend* find_backend(Device device);
/// The same, or DeviceError.
Backend& backend(Device device);
/// Gives a device that the table does not have a backend, for good: one of a program's own. Its
/// memory is made known by mem::add_device. Throws ValueError if it has one.
void add_backend(Device device, Backend& backend);
/// What add_backend was given; nullptr: nothing. For the table.
Backend* find_added_backend(Device device) noexcept;

/// Whether a device needs a kernel for the op: it is neither written in other ops nor a view alone.
bool needs_kernel(const OpRecord& op);

/// Asks the device and keeps the answer, for find_kernel. In backend.cpp.
const KernelSlot& ask_for_kernel(const OpRecord& op, Device device);
/// What ask_for_kernel keeps where a device cannot.
extern const KernelSlot kNoKernel;
[[noreturn]] void throw_no_kernel(const OpRecord& op, Device device);

/// Asks the device and keeps the answer, for loop_of. In backend.cpp.
const PreparedLoop& ask_for_loop(const OpRecord& op, Device device, DType common);

/// What the device has for the op; nullptr if it cannot compute it.
inline const KernelSlot* find_kernel(const OpRecord& op, Device device) {
  const KernelSlot* slot = op.kernels.get(device);
  if (slot == nullptr) [[unlikely]]
    slot = &ask_for_kernel(op, device);
  return slot == &kNoKernel ? nullptr : slot;
}

/// What the device has for the op, or DeviceError, which names both.
inline const KernelSlot& kernel_of(const OpRecord& op, Device device) {
  const KernelSlot* const slot = find_kernel(op, device);
  if (slot == nullptr) [[unlikely]]
    throw_no_kernel(op, device);
  return *slot;
}

/// An elementwise op alone, on operands that meet in a type, which it takes; or DeviceError.
inline const PreparedLoop& loop_of(const OpRecord& op, Device device, DType common) {
  const PreparedLoop* const loop = op.kernels.loop(device, common);
  return loop != nullptr ? *loop : ask_for_loop(op, device, common);
}

}  // namespace tenure::ops
