#include "tenure/kernels/cuda/launch/replay.h"

#include <algorithm>
#include <utility>

#include "tenure/kernels/cuda/cuda.h"
#include "tenure/kernels/cuda/driver/driver-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/tensor/device_error.h"

namespace tenure::kernels::cuda {
namespace {

const DriverFunctions& functions() { return driver().functions; }

}  // namespace

thread_local constinit const Capture* Capture::current_ = nullptr;

Capture::Capture(Gpu& gpu) : stream_(gpu.writing_stream(lock_)) {
  // Other threads of this process, and this one, may load code meanwhile.
  gpu.check(functions().cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED),
            "write work down");
  current_ = this;
}

Capture::~Capture() {
  if (CUgraph_st* const unused = take()) functions().cuGraphDestroy(unused);
}

CUgraph_st* Capture::take() noexcept {
  if (std::exchange(current_, nullptr) == nullptr) return nullptr;
  CUgraph graph = nullptr;
  return functions().cuStreamEndCapture(stream_, &graph) == CUDA_SUCCESS ? graph : nullptr;
}

GraphReplay::~GraphReplay() { give_up(); }

/// What the driver took for graphs goes back to it.
void GraphReplay::give_up() noexcept {
  is_possible_ = false;
  for (const Run& run : runs_) end(run.graph);
  runs_.clear();
}

void GraphReplay::end(CUgraphExec_st* graph) noexcept {
  // One that still runs ends when it is done; after a fork it is the parent's.
  if (graph != nullptr && !is_forked()) functions().cuGraphExecDestroy(graph);
}

GraphReplay::Run* GraphReplay::find(std::span<std::byte* const> addresses) {
  const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) {
    return run.rounds == cuda_tf32() && std::equal(addresses.begin(), addresses.end(),
                                                   run.addresses.begin(), run.addresses.end());
  });
  return found == runs_.end() ? nullptr : &*found;
}

void GraphReplay::remember(std::span<std::byte* const> addresses) {
  Run run{.addresses = {addresses.begin(), addresses.end()}, .rounds = cuda_tf32(), .last = count_};
  if (runs_.size() < kMostRuns) {
    runs_.push_back(std::move(run));
    return;
  }
  Run& oldest = *std::min_element(runs_.begin(), runs_.end(),
                                  [](const Run& a, const Run& b) { return a.last < b.last; });
  end(oldest.graph);
  oldest = std::move(run);
}

CUgraphExec_st* GraphReplay::make_graph(const std::function<void()>& work) {
  CUgraph_st* graph = nullptr;
  try {
    Capture capture(gpu_);
    work();
    graph = capture.take();
  } catch (const CannotReplay&) {
  } catch (const DeviceError&) {  // the run without a graph tells
    if (gpu_.is_lost()) throw;
  }
  CUgraphExec made = nullptr;
  if (graph != nullptr) {
    const CUresult result = functions().cuGraphInstantiateWithFlags(&made, graph, 0);
    if (result != CUDA_SUCCESS) made = nullptr;
    functions().cuGraphDestroy(graph);
  }
  return made;
}

void GraphReplay::run(std::span<std::byte* const> addresses, const std::function<void()>& work) {
  gpu_.enter();
  if (Capture::current() != nullptr) return work();  // a part of what is written down
  {
    const std::lock_guard lock(mutex_);
    ++count_;
    Run* const run = is_possible_ ? find(addresses) : nullptr;
    if (run != nullptr) {
      run->last = count_;
      if (run->graph == nullptr) run->graph = make_graph(work);
      if (run->graph != nullptr && gpu_.launch_graph(run->graph)) return;
      give_up();
    } else if (is_possible_) {
      remember(addresses);
    }
  }
  work();
}

}  // namespace tenure::kernels::cuda
