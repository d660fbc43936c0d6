#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tenure/kernels/cuda/compile/kernels.h"
#include "tenure/kernels/cuda/driver/nvtx-inl.h"
#include "tenure/kernels/view.h"
#include "tenure/memory/kinds.h"
#include "tenure/ops/core/record.h"
#include "tenure/tensor/device_error.h"

struct CUctx_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUstream_st;
struct CUevent_st;

// Note: one queue
//
// All that a GPU is given to do goes into one stream, in order: kernels, copies, and events that
// tell how far it is. The host goes on at once. It waits where it wants elements (read, wait, a
// kernel that measures), and where it runs too far ahead of pinned memory that copies go through.
//
// Errors come late, too. A kernel that faults takes its context with it: every later call of the
// driver fails, for the whole process. The first call that hears of it throws a DeviceError with
// the ops that were queued since the last wait, one of which it was; all later ones say that the
// device is lost, and to what: who heard of it first may have been in no position to throw. With
// TENURE_CUDA_WAIT=1 the host waits for each kernel, and it is that op alone.

namespace tenure::kernels::cuda {

class Gpu;
class Staging;
class DeviceMemory;
class PinnedMemory;

/// How many blocks and threads of a block a kernel has, and the shared memory of each block.
struct Grid {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 1;
  std::uint32_t shared_bytes = 0;
  std::uint32_t blocks_y = 1;
  std::uint32_t blocks_z = 1;
  std::uint32_t cluster = 1;  ///< neighbours along the first axis that are one (device/cluster.cuh)
};
/// As many threads as `n`, in blocks of `threads`, but no more blocks than fill the GPU several
/// times over: threads go on with the elements after those of the whole grid.
Grid grid_over(std::int64_t n, std::uint32_t threads);
/// Threads for n steps of which each thread does at most `at_once`, all that it does: one of few,
/// so that they are on all of the GPU.
Grid grid_of_steps(std::int64_t n, std::uint32_t threads, int at_once);

/// What is known of a GPU.
struct GpuFacts {
  std::string name;
  int architecture = 0;  ///< 90: of compute capability 9.0
  int processors = 0;
  std::size_t memory = 0;

  /// Blocks of a cluster, at most.
  std::uint32_t most_in_cluster() const { return architecture >= 90 ? 8 : 1; }
};

/// Thrown where the host would wait, or give the GPU something that is other the next time, while
/// work is written down.
struct CannotReplay : std::exception {};

/// While it lives, what this thread gives a GPU is not done but written down, in a stream of its
/// own. Not while another one of the thread lives.
class Capture {
 public:
  explicit Capture(Gpu& gpu);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  /// What was written down, once; the caller's. nullptr: it cannot be had.
  CUgraph_st* take() noexcept;

  /// Of this thread; nullptr: there is none.
  static const Capture* current() noexcept { return current_; }
  CUstream_st* stream() const { return stream_; }

 private:
  static thread_local constinit const Capture* current_;
  std::unique_lock<std::mutex> lock_;  ///< of the stream
  CUstream_st* stream_;
};

/// A GPU that is in use: its context, its queue, its kernels, its memory.
class Gpu {
 public:
  /// Throws DeviceError.
  explicit Gpu(int index);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Device device() const { return device_; }
  const GpuFacts& facts() const { return facts_; }
  DeviceMemory& memory() { return *memory_; }
  /// Where pinned memory comes from.
  PinnedMemory& pinned() { return *pinned_; }
  /// Where the work of this thread goes.
  CUstream_st* stream() const {
    const Capture* const capture = Capture::current();
    return capture == nullptr ? stream_ : capture->stream();
  }
  /// Where work is written down; whoever uses it has the lock.
  CUstream_st* writing_stream(std::unique_lock<std::mutex>& lock);
  /// Whether the host waits for each kernel.
  bool waits() const { return waits_; }

  /// Queues a kernel, which is compiled now if it was not before. `op` has static storage duration.
  template <class Arguments>
  void launch(const char* op, const TypedKernel& kernel, Types types, const Grid& grid,
              const Arguments& arguments) {
    enter();
    launch(op, kernels_->find(kernel, types), grid, &arguments, sizeof arguments);
  }
  void launch(const char* op, Function function, const Grid& grid, const void* arguments,
              std::size_t bytes);
  /// Has `give()` queue work in stream(), which is that op's for whoever asks: profilers, and a
  /// fault. `op` has static storage duration.
  template <class Give>
  void queue(const char* op, const Give& give) {
    enter();
    note(op);
    const NvtxRange range(op);
    give();
    if (waits_ && Capture::current() == nullptr) wait();
  }
  /// Compiles and loads kernels unless they are there. Throws DeviceError.
  Function function(const TypedKernel& kernel, Types types, const PrintedNeighbours& neighbours) {
    enter();
    return kernels_->find(kernel, types, neighbours);
  }
  std::vector<Function> functions(const KernelCode& code) { return kernels_->find(code); }

  /// Queues a kernel that tells the host something, at most kMostAnswers numbers, and waits for it:
  /// `place` is the member of its arguments that says where they go.
  template <class Arguments>
  void ask(const char* op, const TypedKernel& kernel, Types types, const Grid& grid,
           Arguments& arguments, std::uint64_t* Arguments::*place,
           std::span<std::uint64_t> answers) {
    enter_to_wait();
    const std::lock_guard lock(answers_mutex_);
    arguments.*place = room_for_answers(answers.size());
    launch(op, kernel, types, grid, arguments);
    wait();
    std::copy_n(arguments.*place, answers.size(), answers.data());
  }
  static constexpr std::size_t kMostAnswers = 4096;

  /// Queues what was written down. False: the driver cannot, for want of memory, say, and nothing
  /// was queued. Throws DeviceError where the GPU was lost.
  bool launch_graph(CUgraphExec_st* graph);

  /// Queues a copy within the GPU.
  void copy_bytes(const char* op, void* to, const void* from, std::size_t bytes);
  /// Queues a fill with bytes of one value.
  void set_bytes(const char* op, void* to, unsigned char value, std::size_t bytes);
  /// After all that was queued.
  void read(void* host, const void* from, std::size_t bytes);
  /// The host's memory is the caller's again on return.
  void write(void* to, const void* host, std::size_t bytes);
  void wait();

  /// Pinned memory of the host's, for good. Throws OutOfMemory.
  std::byte* pin(std::size_t bytes);
  /// For the first bytes of what is read, so that a number can be had whatever memory is left.
  void make_room_to_read();

  /// An event behind all that was queued. It is given back when it is not needed any more.
  CUevent_st* record();
  /// Whether the work before it is done. Of a GPU that was lost, all is.
  bool has_passed(CUevent_st* event) noexcept;
  void wait_for(CUevent_st* event);
  void give_back(CUevent_st* event) noexcept;
  /// What another stream is given from now on begins after all that was queued here.
  void let_wait(CUstream_st* stream);
  /// What is queued here from now on begins after all that another stream was given.
  void wait_for_stream(CUstream_st* stream);
  LoadedKernels& kernels() { return *kernels_; }

  /// Makes the context current for this thread. Throws DeviceError where the GPU was lost, or in a
  /// child of a fork: before any lock, which another thread may have held there.
  void enter();
  /// The same for what the host waits for, or what is other each time. Throws CannotReplay while
  /// work is written down.
  void enter_to_wait() {
    if (Capture::current() != nullptr) throw CannotReplay();
    enter();
  }
  /// Throws DeviceError unless `result`, a CUresult, is 0; `what` the call was for.
  void check(int result, const char* what);
  bool is_lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  [[noreturn]] void fail(int result, const char* what);
  CUevent_st* record(CUstream_st* stream);
  void note(const char* op) noexcept;
  std::string queued_ops() const;
  /// Memory of the host's that kernels write to.
  std::uint64_t* room_for_answers(std::size_t n);

  static constexpr std::size_t kNoted = 16;

  const Device device_;
  GpuFacts facts_;
  CUctx_st* context_ = nullptr;
  CUstream_st* stream_ = nullptr;
  std::mutex writing_mutex_;
  CUstream_st* writing_stream_ = nullptr;  ///< made when it is first needed
  bool waits_ = false;                     ///< for each kernel
  std::atomic<bool> lost_ = false;
  std::atomic<bool> told_ = false;
  std::mutex noted_mutex_;
  std::array<const char*, kNoted> noted_{};  ///< ops since the last wait, the last of them
  std::size_t queued_ = 0;                   ///< since the last wait
  std::string fault_;                        ///< what the GPU was lost to
  std::mutex answers_mutex_;
  std::uint64_t* answers_ = nullptr;  ///< pinned
  std::mutex events_mutex_;
  std::vector<CUevent_st*> events_;  ///< to be used again
  std::unique_ptr<LoadedKernels> kernels_;
  std::unique_ptr<Staging> staging_;
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<PinnedMemory> pinned_;
};

/// The GPU that a kernel's elements are on; nullptr: it has none, and nothing is to be done. In
/// launch/gpus.cpp.
Gpu* gpu_of(const ops::Kernel& kernel);
Gpu* gpu_of(const View& view);
/// The GPU of a device that cuda() has given; in launch/gpus.cpp.
Gpu& gpu(Device device);
/// Makes it if it is not there. Throws DeviceError. In launch/gpus.cpp.
Gpu& make_gpu(int index);

/// Whether this process is a child of one that used CUDA, where it cannot be used. In
/// launch/gpus.cpp.
bool is_forked() noexcept;

}  // namespace tenure::kernels::cuda
