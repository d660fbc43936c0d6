#include "tenure/kernels/cuda/launch/replay.h"

#include <algorithm>
#include <utility>

#include "tenure/kernels/cuda/cuda.h"
#include "tenure/kernels/cuda/driver/driver-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/launch/part_order.h"
#include "tenure/tensor/device_error.h"

namespace tenure::kernels::cuda {
namespace {

const DriverFunctions& functions() { return driver().functions; }

/// Gives the capture the parts of some work, each of which comes after those that it has to.
void write_down(Capture& capture, const ops::Work& work) {
  PartOrder order;
  std::vector<Capture::Nodes> ends(work.parts());
  std::vector<ops::Touched> touched;
  for (std::size_t part = 0; part < ends.size(); ++part) {
    touched.clear();
    work.add_touched(part, touched);
    Capture::Nodes before;
    for (const std::size_t earlier : order.add(touched)) {
      before.insert(before.end(), ends[earlier].begin(), ends[earlier].end());
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    capture.go_on_after(before);
    work.give(part);
    ends[part] = capture.last();
  }
}

void give_all(const ops::Work& work) {
  for (std::size_t part = 0; part < work.parts(); ++part) work.give(part);
}

}  // namespace

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

CUgraphExec_st* GraphReplay::make_graph(const ops::Work& work) {
  CUgraph_st* graph = nullptr;
  try {
    Capture capture(gpu_);
    write_down(capture, work);
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

void GraphReplay::run(std::span<std::byte* const> addresses, const ops::Work& work) {
  gpu_.enter();
  if (Capture::current() != nullptr) return give_all(work);  // a part of what is written down
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
  give_all(work);
}

}  // namespace tenure::kernels::cuda
