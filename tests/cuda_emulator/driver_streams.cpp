#include <atomic>
#include <utility>

#include "tests/cuda_emulator/driver.h"

// Streams, events, and graphs of what a stream was given.

namespace {

using tenure::test::Command;
using tenure::test::current_gpu;
using tenure::test::EmulatedGpu;
using tenure::test::fault_of;
using tenure::test::queue;
using tenure::test::state;
using tenure::test::state_with_memory;

std::atomic<std::uint64_t> graph_launches = 0;
std::atomic<std::int64_t> graphs = 0;
std::atomic<bool> is_short_for_graphs = false;

}  // namespace

namespace tenure::test {

CUresult queue(CUstream_st& stream, const Command& command, const void* attached) {
  if (stream.written != nullptr) {
    const auto* const bytes = static_cast<const char*>(attached);
    stream.written->pieces.push_back(
        {command, attached == nullptr ? std::string() : std::string(bytes, command.attached)});
    return CUDA_SUCCESS;
  }
  EmulatedGpu& gpu = *stream.gpu;
  if (gpu.queue(command, attached)) return CUDA_SUCCESS;
  gpu.wait_for(gpu.queued() + 1);  // until it has said why
  return fault_of(gpu);
}

}  // namespace tenure::test

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  if (const CUresult now = state_with_memory(); now != CUDA_SUCCESS) return now;
  *stream = new CUstream_st{.gpu = &current_gpu()};
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  if (stream->written != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  EmulatedGpu& gpu = *stream->gpu;
  return gpu.wait_for(gpu.queued()) ? CUDA_SUCCESS : fault_of(gpu);
}
CUresult cuEventCreate(CUevent* event, unsigned flags) {
  if (const CUresult now = state_with_memory(); now != CUDA_SUCCESS) return now;
  std::int64_t* stamp = nullptr;
  if ((flags & CU_EVENT_DISABLE_TIMING) == 0) {
    stamp = current_gpu().stamp();
    if (stamp == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *event = new CUevent_st{&current_gpu(), 0, stamp};
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  // 1 and 2 are the streams that are there without being made.
  event->gpu = reinterpret_cast<std::uintptr_t>(stream) <= 2 ? &current_gpu() : stream->gpu;
  if (event->stamp != nullptr) {
    Command command{};
    command.kind = Command::stamp;
    command.to = reinterpret_cast<std::uint64_t>(event->stamp);
    if (const CUresult result = queue(*stream, command); result != CUDA_SUCCESS) return result;
  }
  event->number = event->gpu->queued();
  return CUDA_SUCCESS;
}
/// A GPU here has one queue: what was queued before comes before.
CUresult cuStreamWaitEvent(CUstream, CUevent event, unsigned) {
  return event->gpu->fault() != 0 ? fault_of(*event->gpu) : CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
  if (event->gpu->is_done(event->number)) return CUDA_SUCCESS;
  return event->gpu->fault() != 0 ? fault_of(*event->gpu) : CUDA_ERROR_NOT_READY;
}
CUresult cuEventSynchronize(CUevent event) {
  return event->gpu->wait_for(event->number) ? CUDA_SUCCESS : fault_of(*event->gpu);
}
// The header may have the name stand for another function, of newer drivers.
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  if (begin->stamp == nullptr || end->stamp == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (const CUevent event : {begin, end}) {
    if (const CUresult result = cuEventQuery(event); result != CUDA_SUCCESS) return result;
  }
  *milliseconds = static_cast<float>(static_cast<double>(*end->stamp - *begin->stamp) * 1e-6);
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  if (stream->written != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  stream->written = new CUgraph_st;
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  if (stream->written == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  *graph = std::exchange(stream->written, nullptr);
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph, unsigned long long) {
  if (const CUresult now = state_with_memory(); now != CUDA_SUCCESS) return now;
  *made = new CUgraphExec_st{*graph};
  ++graphs;
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  delete exec;
  --graphs;
  return CUDA_SUCCESS;
}
// For tests.
std::uint64_t emulated_graph_launches() { return graph_launches; }
std::int64_t emulated_graphs() { return graphs; }
void emulate_no_memory_for_graphs(bool is_short) { is_short_for_graphs = is_short; }
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  if (is_short_for_graphs) return CUDA_ERROR_OUT_OF_MEMORY;
  if (const CUresult now = state_with_memory(); now != CUDA_SUCCESS) return now;
  ++graph_launches;
  for (const CUgraph_st::Piece& piece : exec->graph.pieces) {
    const CUresult result =
        queue(*stream, piece.command, piece.attached.empty() ? nullptr : piece.attached.data());
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}
}
