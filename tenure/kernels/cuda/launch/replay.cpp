#include "tenure/kernels/cuda/launch/replay.h"

#include <algorithm>
#include <utility>

#include "tenure/kernels/cuda/cuda.h"
#include "tenure/kernels/cuda/driver/driver-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {
namespace {

const DriverFunctions& functions() { return driver().functions; }

/// A graph in the making. Each piece of work is written down behind others.
class Writing {
 public:
  explicit Writing(Gpu& gpu) : gpu_(gpu), stream_(gpu.writing_stream(lock_)) {
    gpu_.check(functions().cuGraphCreate(&graph_, 0), "make a graph");
  }
  ~Writing() { functions().cuGraphDestroy(graph_); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  /// The last nodes of some work, with what CUDA has to say of the ways from them.
  struct Ends {
    std::vector<CUgraphNode> nodes{};
    std::vector<CUgraphEdgeData> edges{};

    void add(const Ends& other) {
      for (std::size_t i = 0; i < other.nodes.size(); ++i) {
        if (std::find(nodes.begin(), nodes.end(), other.nodes[i]) != nodes.end()) continue;
        nodes.push_back(other.nodes[i]);
        edges.push_back(other.edges[i]);
      }
    }
  };
  /// Throws CannotReplay, and what `work` throws.
  template <class Work>
  Ends write(const Ends& behind, const Work& work) {
    // Other threads of this process, and this one, may load code meanwhile.
    require(functions().cuStreamBeginCaptureToGraph(stream_, graph_, behind.nodes.data(),
                                                    behind.edges.data(), behind.nodes.size(),
                                                    CU_STREAM_CAPTURE_MODE_RELAXED));
    Ends ends;
    try {
      const Capture capture(stream_);
      work();
      ends = ends_now();
    } catch (...) {
      CUgraph ended = nullptr;
      functions().cuStreamEndCapture(stream_, &ended);
      throw;
    }
    CUgraph ended = nullptr;
    require(functions().cuStreamEndCapture(stream_, &ended));
    return ends;
  }
  /// nullptr: it cannot be had.
  CUgraphExec finish() const {
    CUgraphExec made = nullptr;
    const CUresult result = functions().cuGraphInstantiateWithFlags(&made, graph_, 0);
    return result == CUDA_SUCCESS ? made : nullptr;
  }

 private:
  static void require(CUresult result) {
    if (result != CUDA_SUCCESS) throw CannotReplay();
  }
  Ends ends_now() const {
    CUstreamCaptureStatus status{};
    const CUgraphNode* nodes = nullptr;
    const CUgraphEdgeData* edges = nullptr;
    std::size_t count = 0;
    require(functions().cuStreamGetCaptureInfo(stream_, &status, nullptr, nullptr, &nodes, &edges,
                                               &count));
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) throw CannotReplay();
    Ends ends{.nodes = {nodes, nodes + count}, .edges = std::vector<CUgraphEdgeData>(count)};
    if (edges != nullptr) std::copy_n(edges, count, ends.edges.data());
    return ends;
  }

  Gpu& gpu_;
  std::unique_lock<std::mutex> lock_;  // of the stream
  CUstream_st* stream_;
  CUgraph graph_ = nullptr;
};

}  // namespace

thread_local constinit const Capture* Capture::current_ = nullptr;

GraphReplay::~GraphReplay() {
  for (const Run& run : runs_) end(run.graph);
}

void GraphReplay::end(CUgraphExec_st* graph) noexcept {
  // One that still runs ends when it is done; after a fork it is the parent's.
  if (graph != nullptr && !is_forked()) functions().cuGraphExecDestroy(graph);
}

GraphReplay::Run* GraphReplay::find(std::span<std::byte* const> addresses) {
  const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) {
    return run.rounds == cuda_tf32() && std::equal(addresses.begin(), addresses.end(), run.addresses.begin(),
                      run.addresses.end());
  });
  return found == runs_.end() ? nullptr : &*found;
}

void GraphReplay::remember(std::span<std::byte* const> addresses) {
  Run run{.addresses = {addresses.begin(), addresses.end()},
          .rounds = cuda_tf32(),
          .last = count_};
  if (runs_.size() < kMostRuns) {
    runs_.push_back(std::move(run));
    return;
  }
  Run& oldest = *std::min_element(runs_.begin(), runs_.end(),
                                  [](const Run& a, const Run& b) { return a.last < b.last; });
  end(oldest.graph);
  oldest = std::move(run);
}

CUgraphExec_st* GraphReplay::make_graph(const ops::RunSteps& steps) {
  CUgraphExec_st* made = nullptr;
  try {
    Writing writing(gpu_);
    std::vector<Writing::Ends> ends(steps.after.size());
    for (std::size_t step = 0; step < ends.size(); ++step) {
      Writing::Ends behind;
      for (const std::int32_t other : steps.after[step]) {
        behind.add(ends[static_cast<std::size_t>(other)]);
      }
      ends[step] = writing.write(behind, [&] { steps.run(step); });
    }
    made = writing.finish();
  } catch (const CannotReplay&) {
  }
  is_possible_ = made != nullptr;
  return made;
}

void GraphReplay::run(std::span<std::byte* const> addresses, const ops::RunSteps& steps) {
  gpu_.enter();
  if (Capture::current() != nullptr) return steps.run_all();  // a part of what is written down
  {
    const std::lock_guard lock(mutex_);
    ++count_;
    Run* const run = is_possible_ ? find(addresses) : nullptr;
    if (run != nullptr) {
      run->last = count_;
      if (run->graph == nullptr) run->graph = make_graph(steps);
      if (run->graph != nullptr) return gpu_.launch_graph(run->graph);
    } else if (is_possible_) {
      remember(addresses);
    }
  }
  steps.run_all();
}

}  // namespace tenure::kernels::cuda
