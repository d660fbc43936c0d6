#include "tenure/kernels/cuda/launch/capture.h"

#include <utility>

#include "tenure/kernels/cuda/driver/driver-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {
namespace {

const DriverFunctions& driver_of_captures() { return driver().functions; }

}  // namespace

thread_local constinit Capture* Capture::current_ = nullptr;

Capture::Capture(Gpu& gpu) : gpu_(gpu), stream_(gpu.writing_stream(lock_)) {
  // Other threads of this process, and this one, may load code meanwhile.
  gpu.check(driver_of_captures().cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED),
            "write work down");
  current_ = this;
}

Capture::~Capture() {
  if (CUgraph_st* const unused = take()) driver_of_captures().cuGraphDestroy(unused);
}

CUgraph_st* Capture::take() noexcept {
  if (std::exchange(current_, nullptr) == nullptr) return nullptr;
  CUgraph graph = nullptr;
  return driver_of_captures().cuStreamEndCapture(stream_, &graph) == CUDA_SUCCESS ? graph : nullptr;
}

Capture::Nodes Capture::last() const {
  CUstreamCaptureStatus status{};
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  gpu_.check(driver_of_captures().capture_info(stream_, &status, nullptr, nullptr, &nodes, &count),
             "ask what was written down");
  return {nodes, nodes + count};
}

void Capture::go_on_after(std::span<CUgraphNode_st* const> nodes) {
  set_dependencies(nodes, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

void Capture::also_after(std::span<CUgraphNode_st* const> nodes) {
  set_dependencies(nodes, CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
}

void Capture::set_dependencies(std::span<CUgraphNode_st* const> nodes, unsigned how) {
  Nodes given(nodes.begin(), nodes.end());  // which the driver may write to, by its types
  gpu_.check(driver_of_captures().capture_after(stream_, given.data(), given.size(), how),
             "say what work comes after");
}

bool Capture::follows_kernel() const {
  const Nodes nodes = last();
  CUgraphNodeType type{};
  return nodes.size() == 1 &&
         driver_of_captures().cuGraphNodeGetType(nodes.front(), &type) == CUDA_SUCCESS &&
         type == CU_GRAPH_NODE_TYPE_KERNEL;
}

}  // namespace tenure::kernels::cuda
