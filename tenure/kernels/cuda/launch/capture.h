#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <mutex>
#include <span>
#include <vector>

#include "tenure/kernels/cuda/device/turns_arguments.h"

struct CUgraph_st;
struct CUgraphNode_st;
struct CUstream_st;

namespace tenure::kernels::cuda {

class Gpu;

/// Thrown where the host would wait, or give the GPU something that is other the next time, while
/// work is written down.
struct CannotReplay : std::exception {};

/// While it lives, what this thread gives a GPU is not done but written down, in a stream of its
/// own. Not while another one of the thread lives.
class Capture {
 public:
  using Nodes = std::vector<CUgraphNode_st*>;

  explicit Capture(Gpu& gpu);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  /// What was written down, once; the caller's. nullptr: it cannot be had.
  CUgraph_st* take() noexcept;

  /// What comes next comes after these, which are all that was given last.
  Nodes last() const;
  /// What comes next comes after these alone.
  void go_on_after(std::span<CUgraphNode_st* const> nodes);
  /// Whether all that comes next waits for is one kernel.
  bool follows_kernel() const;
  /// See Gpu::in_turn.
  template <class Give>
  void in_turn(const Give& give) {
    const std::size_t turn = next_turn_++ % kTurns;
    also_after(in_turn_[turn]);
    give(static_cast<unsigned>(turn));
    in_turn_[turn] = last();
  }

  /// Of this thread; nullptr: there is none.
  static Capture* current() noexcept { return current_; }
  CUstream_st* stream() const { return stream_; }

 private:
  void also_after(std::span<CUgraphNode_st* const> nodes);
  void set_dependencies(std::span<CUgraphNode_st* const> nodes, unsigned how);

  static thread_local constinit Capture* current_;
  Gpu& gpu_;
  std::unique_lock<std::mutex> lock_;  ///< of the stream
  CUstream_st* stream_;
  std::size_t next_turn_ = 0;
  std::array<Nodes, kTurns> in_turn_;  ///< what was given last in each turn
};

}  // namespace tenure::kernels::cuda
