#include "tenure/kernels/cuda/launch/gpu.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/environment.h"
#include "tenure/kernels/cuda/cuda.h"
#include "tenure/kernels/cuda/driver/driver-inl.h"
#include "tenure/kernels/cuda/launch/staging.h"
#include "tenure/kernels/cuda/memory/device_memory.h"
#include "tenure/kernels/cuda/memory/pinned_memory.h"
#include "tenure/memory/holders/storage.h"
#include "tenure/memory/scope.h"

namespace tenure::kernels::cuda {
namespace {

const DriverFunctions& driver_functions() { return driver().functions; }

CUdeviceptr address_of(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

/// What every kernel may have.
constexpr std::uint32_t kSharedWithoutAsking = 48 << 10;

/// Errors after which a context can do nothing more.
bool is_sticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
      return true;
    default:
      return false;
  }
}

}  // namespace

Grid grid_over(std::int64_t n, std::uint32_t threads) {
  // Enough for the largest GPUs: 8 blocks for each of 512 processors, and the like for their
  // threads.
  constexpr std::int64_t kMostBlocks = 4096;
  const std::int64_t blocks = (n + threads - 1) / threads;
  return {.blocks = static_cast<std::uint32_t>(std::clamp<std::int64_t>(blocks, 1, kMostBlocks)),
          .threads = threads};
}

Grid grid_of_steps(std::int64_t n, std::uint32_t threads, int at_once) {
  constexpr std::int64_t kFewBlocks = 1024;  // what the largest GPUs have at the same time
  const std::int64_t blocks = (n + threads - 1) / threads;
  const std::int64_t least = (blocks + at_once - 1) / at_once;
  const std::int64_t most = std::max<std::int64_t>(std::min(blocks, kFewBlocks), 1);
  return {.blocks = static_cast<std::uint32_t>(std::max(least, most)), .threads = threads};
}

Gpu::Gpu(int index)
    : device_{.kind = Device::Kind::cuda, .index = static_cast<std::uint8_t>(index)} {
  CUdevice device = 0;
  check(driver_functions().cuDeviceGet(&device, index), "find the GPU");
  char name[256] = {};
  check(driver_functions().cuDeviceGetName(name, sizeof name, device), "ask the GPU's name");
  facts_.name = name;
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    check(driver_functions().cuDeviceGetAttribute(&value, which, device),
          "ask what the GPU can do");
    return value;
  };
  facts_.architecture = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                        attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  facts_.processors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  check(driver_functions().cuDeviceTotalMem(&facts_.memory, device), "ask the GPU's memory");
  if (attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) == 0) {
    throw DeviceError::because(
        "cuda", device_,
        fmt::format("{}: {} cannot map memory, which Tenure needs", name_of(device_), name));
  }
  check(driver_functions().cuDevicePrimaryCtxRetain(&context_, device), "make the GPU's context");
  enter();
  check(driver_functions().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING),
        "make the GPU's queue");
  const char* const waits = environment("TENURE_CUDA_WAIT");
  waits_ = waits != nullptr && std::string_view(waits) == "1";
  kernels_ = std::make_unique<LoadedKernels>(*this);
  staging_ = std::make_unique<Staging>(*this);
  memory_ = std::make_unique<DeviceMemory>(*this);
  pinned_ = std::make_unique<PinnedMemory>(*this);
}

Gpu::~Gpu() = default;

void Gpu::enter() {
  if (is_forked()) [[unlikely]] {
    throw DeviceError::because("cuda", device_,
                               fmt::format("{}: CUDA was used before this process was forked; only "
                                           "the parent can go on with it",
                                           name_of(device_)));
  }
  if (is_lost()) [[unlikely]]
    fail(CUDA_SUCCESS, "enter the GPU's context");
  check(driver_functions().cuCtxSetCurrent(context_), "enter the GPU's context");
}

void Gpu::check(int result, const char* what) {
  if (result != CUDA_SUCCESS) [[unlikely]]
    fail(result, what);
}

void Gpu::fail(int result, const char* what) {
  if (Capture::current() != nullptr) throw CannotReplay();
  const auto given = static_cast<CUresult>(result);
  const std::string name = name_of(device_);
  std::string fault;
  const char* last = "cuda";
  {
    const std::lock_guard lock(noted_mutex_);
    if (queued_ > 0) last = noted_[(queued_ - 1) % kNoted];
    if (is_sticky(given) && fault_.empty()) {
      fault_ = fmt::format("{}: {}", queued_ops(), text_of(given));
      lost_.store(true, std::memory_order_relaxed);
    }
    fault = fault_;
  }
  if (fault.empty()) {
    throw DeviceError::because(what, device_,
                               fmt::format("{}: cannot {}: {}", name, what, text_of(given)));
  }
  if (told_.exchange(true)) {
    throw DeviceError::because("cuda", device_,
                               fmt::format("{} was lost before, to a kernel that failed, {}; it "
                                           "can be used again in a new process",
                                           name, fault));
  }
  throw DeviceError::because(
      last, device_,
      fmt::format("{}: a kernel failed, {}. What is on the device is lost, and it can be used "
                  "again in a new process",
                  name, fault));
}

/// Which of the ops that were queued may be meant, for whoever has the lock.
std::string Gpu::queued_ops() const {
  std::string ops;
  for (std::size_t i = queued_ - std::min(queued_, kNoted); i < queued_; ++i) {
    ops += fmt::format("{}{}", ops.empty() ? "" : ", ", noted_[i % kNoted]);
  }
  if (queued_ == 1) return fmt::format("in {}", ops);
  return fmt::format(
      "in one of the last {} ops that were queued (the latest: {}); TENURE_CUDA_WAIT=1 tells which",
      queued_, ops);
}

void Gpu::note(const char* op) noexcept {
  const std::lock_guard lock(noted_mutex_);
  noted_[queued_++ % kNoted] = op;
}

void Gpu::launch(const char* op, Function function, const Grid& grid, const void* arguments,
                 std::size_t bytes) {
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<void*>(arguments),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  queue(op, [&] {
    if (grid.shared_bytes > kSharedWithoutAsking) {
      check(driver_functions().cuFuncSetAttribute(function,
                                                  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                  static_cast<int>(grid.shared_bytes)),
            "give a kernel more shared memory");
    }
    CUlaunchAttribute cluster{};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {.x = grid.cluster, .y = 1, .z = 1};
    const CUlaunchConfig config{.gridDimX = grid.blocks,
                                .gridDimY = grid.blocks_y,
                                .gridDimZ = grid.blocks_z,
                                .blockDimX = grid.threads,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = grid.shared_bytes,
                                .hStream = stream(),
                                .attrs = &cluster,
                                .numAttrs = grid.cluster > 1 ? 1u : 0u};
    check(driver_functions().cuLaunchKernelEx(&config, function, nullptr, extra),
          "launch a kernel");
  });
}

CUstream_st* Gpu::writing_stream(std::unique_lock<std::mutex>& lock) {
  enter();
  lock = std::unique_lock(writing_mutex_);
  if (writing_stream_ == nullptr) {
    check(driver_functions().cuStreamCreate(&writing_stream_, CU_STREAM_NON_BLOCKING),
          "make a queue");
  }
  return writing_stream_;
}

bool Gpu::launch_graph(CUgraphExec_st* graph) {
  note("a compiled program");
  const CUresult result = driver_functions().cuGraphLaunch(graph, stream_);
  if (is_sticky(result)) fail(result, "launch a program");
  return result == CUDA_SUCCESS;
}

std::uint64_t* Gpu::room_for_answers(std::size_t n) {
  internal_check(n <= kMostAnswers, "a kernel has few answers");
  if (answers_ == nullptr) {
    answers_ = reinterpret_cast<std::uint64_t*>(pin(kMostAnswers * sizeof *answers_));
  }
  return answers_;
}

std::byte* Gpu::pin(std::size_t bytes) {
  enter();
  mem::ThreadContext& context = mem::this_thread();
  const mem::CategoryGuard category(context, Category::workspace);
  return static_cast<std::byte*>(
      mem::Storage::allocate(context, cuda_pinned(device_), bytes)->data());
}

void Gpu::make_room_to_read() { staging_->make_room_to_read(); }

void Gpu::copy_bytes(const char* op, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  queue(op, [&] {
    check(driver_functions().cuMemcpyDtoDAsync(address_of(to), address_of(from), bytes, stream()),
          "copy within the GPU");
  });
}

void Gpu::set_bytes(const char* op, void* to, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  queue(op, [&] {
    check(driver_functions().cuMemsetD8Async(address_of(to), value, bytes, stream()),
          "fill memory");
  });
}

void Gpu::read(void* host, const void* from, std::size_t bytes) {
  if (bytes == 0) return wait();
  enter_to_wait();
  staging_->read(host, from, bytes);
  const std::lock_guard lock(noted_mutex_);
  queued_ = 0;
}

void Gpu::write(void* to, const void* host, std::size_t bytes) {
  if (bytes == 0) return;
  enter_to_wait();
  staging_->write(to, host, bytes);
}

void Gpu::wait() {
  enter_to_wait();
  check(driver_functions().cuStreamSynchronize(stream_), "wait for the GPU");
  const std::lock_guard lock(noted_mutex_);
  queued_ = 0;
}

void Gpu::let_wait(CUstream_st* stream) {
  CUevent_st* const event = record();
  const CUresult result = driver_functions().cuStreamWaitEvent(stream, event, 0);
  give_back(event);
  check(result, "have a stream wait");
}

void Gpu::wait_for_stream(CUstream_st* stream) {
  CUevent_st* const event = record(stream);
  const CUresult result = driver_functions().cuStreamWaitEvent(stream_, event, 0);
  give_back(event);
  check(result, "wait for a stream");
}

CUevent_st* Gpu::record() { return record(stream_); }

CUevent_st* Gpu::record(CUstream_st* stream) {
  enter();
  CUevent event = nullptr;
  {
    const std::lock_guard lock(events_mutex_);
    if (!events_.empty()) {
      event = events_.back();
      events_.pop_back();
    }
  }
  if (event == nullptr) {
    check(driver_functions().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "make an event");
  }
  if (const CUresult result = driver_functions().cuEventRecord(event, stream);
      result != CUDA_SUCCESS) {
    give_back(event);
    check(result, "record an event");
  }
  return event;
}

bool Gpu::has_passed(CUevent_st* event) noexcept {
  return is_lost() || driver_functions().cuEventQuery(event) != CUDA_ERROR_NOT_READY;
}

void Gpu::wait_for(CUevent_st* event) {
  enter_to_wait();
  check(driver_functions().cuEventSynchronize(event), "wait for the GPU");
}

void Gpu::give_back(CUevent_st* event) noexcept {
  const std::lock_guard lock(events_mutex_);
  try {
    events_.push_back(event);
  } catch (const std::bad_alloc&) {  // the driver keeps it
  }
}

}  // namespace tenure::kernels::cuda
