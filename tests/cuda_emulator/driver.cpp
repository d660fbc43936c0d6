#include <cuda.h>
#include <elf.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda_emulator/gpu.h"

// The driver's functions for emulated GPUs, those that Tenure uses, with what the driver checks.
// See protocol.h. TENURE_EMULATED_GPUS says how many GPUs there are (1), TENURE_EMULATED_MEMORY how
// much memory each has, in MiB (2048), TENURE_EMULATED_CUDA which version the driver says it is
// (13000), TENURE_EMULATED_CAPABILITY of which generation the GPUs are (9).

namespace {

using tenure::test::Command;
using tenure::test::EmulatedGpu;

constexpr std::size_t kMostGpus = 4;

int number(const char* name, int fallback) {
  const char* const text = std::getenv(name);
  return text == nullptr ? fallback : std::atoi(text);
}

std::size_t memory_of_each() {
  return static_cast<std::size_t>(number("TENURE_EMULATED_MEMORY", 2048)) << 20;
}

}  // namespace

struct CUctx_st {
  EmulatedGpu gpu;
};
/// Work of a stream's, written down.
struct CUgraph_st {
  struct Piece {
    Command command;
    std::string attached;
  };
  std::vector<Piece> pieces{};
};
struct CUgraphExec_st {
  CUgraph_st graph;
};
struct CUstream_st {
  EmulatedGpu* gpu;
  CUgraph_st* written = nullptr;  ///< where its work goes while it is captured
};
struct CUevent_st {
  EmulatedGpu* gpu;
  std::uint64_t number;
};
struct CUmod_st {
  EmulatedGpu* gpu;
  std::uint64_t handle;
};
struct CUfunc_st {
  std::uint64_t address;
  unsigned most_shared_bytes = 48 << 10;
};

namespace {

std::mutex mutex;
std::atomic<std::uint64_t> graph_launches = 0;
std::atomic<std::int64_t> graphs = 0;
std::atomic<bool> is_short_for_graphs = false;
std::array<CUctx_st*, kMostGpus> contexts{};
std::atomic<bool> is_initialized = false;
thread_local CUctx_st* current = nullptr;

/// Memory as cuMemCreate gives it, and what is mapped of it.
struct Memory {
  EmulatedGpu* gpu;
  std::int64_t place;
  std::size_t bytes;
  bool is_released = false;
  bool is_mapped = false;
};
std::map<CUmemGenericAllocationHandle, Memory> memories;
std::map<CUdeviceptr, CUmemGenericAllocationHandle> mappings;
CUmemGenericAllocationHandle last_memory = 0;

CUresult fault_of(EmulatedGpu& gpu) {
  const int signal = gpu.fault();
  if (signal == SIGSEGV || signal == SIGBUS) return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (signal == SIGILL) return CUDA_ERROR_MISALIGNED_ADDRESS;  // CMakeLists.txt has it so
  return CUDA_ERROR_LAUNCH_FAILED;
}

/// What every call with a context finds first.
CUresult state() {
  if (!is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return current->gpu.fault() != 0 ? fault_of(current->gpu) : CUDA_SUCCESS;
}

CUresult queue(CUstream_st& stream, const Command& command, const void* attached = nullptr) {
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

/// Gives memory back that is neither held nor mapped. With the lock.
void end_if_unused(CUmemGenericAllocationHandle handle) {
  const auto found = memories.find(handle);
  const Memory& memory = found->second;
  if (!memory.is_released || memory.is_mapped) return;
  memory.gpu->give_back(memory.place, memory.bytes);
  memories.erase(found);
}

std::size_t bytes_of_object(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  return header.e_shoff + std::size_t{header.e_shentsize} * header.e_shnum;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) {
  is_initialized = true;
  return number("TENURE_EMULATED_GPUS", 1) == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = number("TENURE_EMULATED_CUDA", 13000);
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** text) {
  switch (error) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      *text = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      *text = "CUDA_ERROR_ILLEGAL_ADDRESS";
      break;
    case CUDA_ERROR_MISALIGNED_ADDRESS:
      *text = "CUDA_ERROR_MISALIGNED_ADDRESS";
      break;
    case CUDA_ERROR_LAUNCH_FAILED:
      *text = "CUDA_ERROR_LAUNCH_FAILED";
      break;
    case CUDA_ERROR_INVALID_VALUE:
      *text = "CUDA_ERROR_INVALID_VALUE";
      break;
    default:
      *text = "CUDA_ERROR_UNKNOWN";
  }
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_NO_DEVICE         ? "no CUDA-capable device is detected"
          : error == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
                                                : "as the emulated driver has it";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = number("TENURE_EMULATED_GPUS", 1);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int index) {
  if (index < 0 || index >= number("TENURE_EMULATED_GPUS", 1)) return CUDA_ERROR_INVALID_DEVICE;
  *device = index;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, "emulated GPU", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = number("TENURE_EMULATED_CAPABILITY", 9);
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 2;
      break;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      *value = 1;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = memory_of_each();
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const std::lock_guard lock(mutex);
  CUctx_st*& place = contexts[static_cast<std::size_t>(device)];
  if (place == nullptr) {
    auto* const made = new CUctx_st{.gpu = EmulatedGpu(device, memory_of_each())};
    if (!made->gpu.is_usable()) {
      delete made;
      return CUDA_ERROR_DEVICE_UNAVAILABLE;
    }
    place = made;
  }
  *context = place;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  *stream = new CUstream_st{.gpu = &current->gpu};
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  if (stream->written != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  EmulatedGpu& gpu = *stream->gpu;
  return gpu.wait_for(gpu.queued()) ? CUDA_SUCCESS : fault_of(gpu);
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  *event = new CUevent_st{&current->gpu, 0};
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  // 1 and 2 are the streams that are there without being made.
  event->gpu = reinterpret_cast<std::uintptr_t>(stream) <= 2 ? &current->gpu : stream->gpu;
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
  ++graph_launches;
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  for (const CUgraph_st::Piece& piece : exec->graph.pieces) {
    const CUresult result =
        queue(*stream, piece.command, piece.attached.empty() ? nullptr : piece.attached.data());
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  Command command{};
  command.kind = Command::load;
  command.attached = bytes_of_object(image);
  if (command.attached == 0) return CUDA_ERROR_INVALID_IMAGE;
  const std::uint64_t handle = current->gpu.ask(command, image);
  if (handle == 0) return CUDA_ERROR_INVALID_IMAGE;
  *module = new CUmod_st{&current->gpu, handle};
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  Command command{};
  command.kind = Command::find;
  command.to = module->handle;
  command.attached = std::strlen(name) + 1;
  const std::uint64_t address = module->gpu->ask(command, name);
  if (address == 0) return CUDA_ERROR_NOT_FOUND;
  *function = new CUfunc_st{address};
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value > 227 * 1024) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  function->most_shared_bytes = static_cast<unsigned>(value);
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                        unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                        CUstream stream, void** parameters, void** extra) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  if (parameters != nullptr || extra == nullptr || extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER ||
      extra[2] != CU_LAUNCH_PARAM_BUFFER_SIZE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::uint64_t threads = std::uint64_t{threads_x} * threads_y * threads_z;
  if (x == 0 || y == 0 || z == 0 || x > 0x7fffffff || y > 65535 || z > 65535 || threads == 0 ||
      threads > 1024 || threads_z > 64 || shared_bytes > function->most_shared_bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Command command{};
  command.kind = Command::launch;
  command.to = function->address;
  command.attached = *static_cast<const std::size_t*>(extra[3]);
  if (command.attached > 4096) return CUDA_ERROR_INVALID_VALUE;  // of CUDA 12.0, and of all GPUs
  command.blocks[0] = x;
  command.blocks[1] = y;
  command.blocks[2] = z;
  command.threads[0] = threads_x;
  command.threads[1] = threads_y;
  command.threads[2] = threads_z;
  command.shared_bytes = shared_bytes;
  return queue(*stream, command, extra[1]);
}

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  *free = current->gpu.free_memory();
  *total = current->gpu.memory();
  return CUDA_SUCCESS;
}
CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *bytes = EmulatedGpu::kGranule;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* begin, std::size_t bytes, std::size_t, CUdeviceptr,
                             unsigned long long) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  if (bytes > tenure::test::kAddressesOfOne) return CUDA_ERROR_OUT_OF_MEMORY;
  *begin = current->gpu.addresses();
  return CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  if (bytes == 0 || bytes % EmulatedGpu::kGranule != 0) return CUDA_ERROR_INVALID_VALUE;
  EmulatedGpu& gpu = contexts[static_cast<std::size_t>(properties->location.id)]->gpu;
  const std::int64_t place = gpu.take(bytes);
  if (place < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(mutex);
  *handle = ++last_memory;
  memories.emplace(*handle, Memory{.gpu = &gpu, .place = place, .bytes = bytes});
  return CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr at, std::size_t bytes, std::size_t,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  const std::lock_guard lock(mutex);
  Memory& memory = memories.at(handle);
  const auto next = mappings.lower_bound(at);
  const bool is_free = (next == mappings.end() || next->first >= at + bytes) &&
                       (next == mappings.begin() ||
                        std::prev(next)->first + memories.at(std::prev(next)->second).bytes <= at);
  if (!is_free || memory.is_mapped || bytes != memory.bytes || at % EmulatedGpu::kGranule != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Command command{};
  command.kind = Command::map;
  command.to = at;
  command.from = static_cast<std::uint64_t>(memory.place);
  command.bytes = bytes;
  if (memory.gpu->ask(command) == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  memory.is_mapped = true;
  mappings.emplace(at, handle);
  return CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) {
  return state();
}
CUresult cuMemUnmap(CUdeviceptr at, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  const auto found = mappings.find(at);
  if (found == mappings.end()) return CUDA_ERROR_INVALID_VALUE;
  Memory& memory = memories.at(found->second);
  if (memory.bytes != bytes) return CUDA_ERROR_INVALID_VALUE;
  Command command{};
  command.kind = Command::unmap;
  command.to = at;
  command.bytes = bytes;
  memory.gpu->ask(command);
  memory.is_mapped = false;
  const CUmemGenericAllocationHandle handle = found->second;
  mappings.erase(found);
  end_if_unused(handle);
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex);
  memories.at(handle).is_released = true;
  end_if_unused(handle);
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** begin, std::size_t bytes, unsigned) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  *begin = current->gpu.pin(bytes);
  return *begin == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* begin) {
  return current->gpu.is_pinned(begin) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  Command command{};
  command.kind = Command::copy;
  command.to = to;
  command.from = from;
  command.bytes = bytes;
  return queue(*stream, command);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  if (stream->gpu->is_pinned(from)) {
    return cuMemcpyDtoDAsync(to, reinterpret_cast<CUdeviceptr>(from), bytes, stream);
  }
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  Command command{};
  command.kind = Command::write;
  command.to = to;
  command.bytes = bytes;
  command.attached = bytes;
  return queue(*stream, command, from);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  // Of other memory the driver's own staging would do; Tenure has its own.
  if (!stream->gpu->is_pinned(to)) return CUDA_ERROR_INVALID_VALUE;
  return cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(to), from, bytes, stream);
}
static CUresult fill(CUdeviceptr to, std::uint64_t value, std::uint32_t width, std::size_t count,
                     CUstream stream) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  Command command{};
  command.kind = Command::fill;
  command.to = to;
  command.from = value;
  command.width = width;
  command.bytes = count * width;
  return queue(*stream, command);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return fill(to, value, 1, count, stream);
}
}
