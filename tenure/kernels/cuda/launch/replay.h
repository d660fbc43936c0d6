#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "tenure/ops/core/backend.h"

struct CUgraphExec_st;

// Note: programs as graphs of CUDA's
//
// A launch costs the host some microseconds, a graph of many kernels hardly more than one of them.
// So when a program runs for the second time with the same addresses, its work is written down
// (Capture) instead of done, and given to the GPU as a graph, then and each time when these
// addresses come again: the pool gives a loop's tensors the same few. What is written down are
// kernels with their arguments. A program of which the host has to know something while it runs
// says so by CannotReplay, has done nothing by then, and is run as it always was from then on; so
// is one whose work a library cannot write down, which a DeviceError says, and one for whose graph
// the driver has no memory: then it gets back what it took for those of other addresses.
//
// With TENURE_CUDA_WAIT=1 there are no graphs, so that a fault is the op's that made it.

namespace tenure::kernels::cuda {

class Gpu;

class GraphReplay final : public ops::Replay {
 public:
  explicit GraphReplay(Gpu& gpu) : gpu_(gpu) {}
  ~GraphReplay() override;

  void run(std::span<std::byte* const> addresses, const std::function<void()>& work) override;

 private:
  /// A run with certain addresses, as a graph once it came for the second time.
  struct Run {
    std::vector<std::byte*> addresses{};
    bool rounds = false;  ///< cuda_tf32(), which what is written down depends on, too
    CUgraphExec_st* graph = nullptr;
    std::uint64_t last = 0;  ///< when it came last, by `count_`
  };
  static constexpr std::size_t kMostRuns = 8;

  Run* find(std::span<std::byte* const> addresses);
  void remember(std::span<std::byte* const> addresses);
  /// nullptr: it cannot be had, now or ever.
  CUgraphExec_st* make_graph(const std::function<void()>& work);
  static void end(CUgraphExec_st* graph) noexcept;
  void give_up() noexcept;

  Gpu& gpu_;
  std::mutex mutex_;
  bool is_possible_ = true;
  std::uint64_t count_ = 0;
  std::vector<Run> runs_;
};

}  // namespace tenure::kernels::cuda
