#include "tenure/kernels/cuda/cuda.h"

#include <fmt/format.h>

#include <atomic>
#include <string_view>

#include "tenure/base/environment.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/memory/threads/call.h"
#include "tenure/tensor/device_error.h"

#if TENURE_HAS_CUDA
#include "tenure/kernels/cuda/compile/cache.h"
#include "tenure/kernels/cuda/driver/cublaslt-inl.h"
#include "tenure/kernels/cuda/driver/cudnn-inl.h"
#include "tenure/kernels/cuda/driver/driver-inl.h"
#include "tenure/kernels/cuda/driver/nvrtc-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/memory/device_memory.h"
#include "tenure/kernels/cuda/table.h"
#endif

namespace tenure {
namespace {

Device device_of(int index) {
  return {.kind = Device::Kind::cuda, .index = static_cast<std::uint8_t>(index)};
}

#if TENURE_HAS_CUDA

using namespace kernels::cuda;

/// A library as it was found. Its version is a number: major and minor in parts of `major` and
/// `minor`.
CudaLibrary told(const char* name, const Library& found, std::size_t version, std::size_t major,
                 std::size_t minor, const std::string& advice) {
  CudaLibrary library{.name = name, .path = found.path, .problem = found.problem};
  if (version > 0) library.version = fmt::format("{}.{}", version / major, version % major / minor);
  if (!library.problem.empty()) library.advice = advice;
  return library;
}

CudaLibrary driver_found() {
  const Driver& found = driver();
  CudaLibrary library =
      told("driver", found.library, static_cast<std::size_t>(found.version), 1000, 10,
           fmt::format("install NVIDIA's driver, of CUDA {} or newer, which brings libcuda.so.1",
                       kOldestDriver / 1000));
  if (library.problem.empty() && found.devices == 0) {
    library.problem = "the driver sees no GPU";
    library.advice = "is there one in this machine, and is it given to this container?";
  }
  return library;
}

CudaLibrary nvrtc_found() {
  return told("NVRTC", nvrtc().library, static_cast<std::size_t>(nvrtc().version), 1000, 10,
              "install NVRTC of CUDA 12 or 13: it is in the CUDA toolkit, in Debian's and "
              "Ubuntu's package cuda-nvrtc-13-0 of NVIDIA's, in pip's nvidia-cuda-nvrtc");
}

CudaLibrary cublaslt_found() {
  return told("cuBLASLt", cublaslt().library, cublaslt().version, 10000, 100,
              "products of matrices need it: install cuBLAS of CUDA 12 or 13");
}

CudaLibrary cudnn_found() {
  return told("cuDNN", cudnn().library, cudnn().version, 10000, 100,
              "convolutions need it: install cuDNN 9");
}

/// Why no GPU of this index can be used; empty: it can.
std::string missing(int index) {
  for (const CudaLibrary& library : {driver_found(), nvrtc_found()}) {
    if (library.problem.empty()) continue;
    return fmt::format("CUDA's {} cannot be used: {}; {}", library.name, library.problem,
                       library.advice);
  }
  const int devices = driver().devices;
  if (index < devices) return {};
  return devices == 1
             ? "there is one GPU, cuda:0"
             : fmt::format("there are {} GPUs, from cuda:0 to cuda:{}", devices, devices - 1);
}

#endif

}  // namespace

Device cuda(int index, Site site) {
  return mem::in_call("cuda", site, [&] {
    if (index < 0 || static_cast<std::size_t>(index) >= mem::kDevicesOfAKind) {
      throw ValueError(fmt::format("cuda: there is no GPU {}; indices are from 0 to {}", index,
                                   mem::kDevicesOfAKind - 1));
    }
    const Device device = device_of(index);
    if (mem::is_present(device)) return device;
#if TENURE_HAS_CUDA
    if (const std::string problem = missing(index); !problem.empty()) {
      throw DeviceError::because("cuda", device, fmt::format("cuda({}): {}", index, problem));
    }
    kernels::cuda::add_gpu(index);
    return device;
#else
    throw DeviceError::because(
        "cuda", device,
        fmt::format("cuda({}): this build of Tenure has no CUDA ({}); configure it with "
                    "-DTENURE_CUDA=ON where CUDA's headers are, in the CUDA toolkit",
                    index, TENURE_CUDA_BUILD));
#endif
  });
}

Device device_named(std::string_view name, Site site) {
  for (std::size_t place = 0; place < mem::kDevices; ++place) {
    const Device device = mem::device_at(place);
    const std::string known = name_of(device);
    if (known != name && (device.index != 0 || known != fmt::format("{}:0", name))) continue;
    // The first to name a GPU has it made ready.
    return device.kind == Device::Kind::cuda ? cuda(device.index, site) : device;
  }
  return mem::in_call("device_named", site, [&]() -> Device {
    throw ValueError(fmt::format(
        "\"{}\" names no device; \"cpu\" and \"cuda:0\" do, and \"cuda\" is the latter", name));
  });
}

CudaReport cuda_report() {
  CudaReport report{.build = TENURE_CUDA_BUILD};
#if TENURE_HAS_CUDA
  report.is_built = true;
  report.libraries = {driver_found(), nvrtc_found(), cublaslt_found(), cudnn_found()};
  report.cache = CodeCache().folder();
  const DriverFunctions& functions = driver().functions;
  const int devices = driver().library.is_usable() ? driver().devices : 0;
  for (int i = 0; i < devices; ++i) {
    CudaGpu gpu{.index = i};
    CUdevice device = 0;
    char name[256] = {};
    int major = 0;
    int minor = 0;
    if (functions.cuDeviceGet(&device, i) != CUDA_SUCCESS ||
        functions.cuDeviceGetName(name, sizeof name, device) != CUDA_SUCCESS ||
        functions.cuDeviceTotalMem(&gpu.memory, device) != CUDA_SUCCESS ||
        functions.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                       device) != CUDA_SUCCESS ||
        functions.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                       device) != CUDA_SUCCESS) {
      continue;
    }
    gpu.name = name;
    gpu.architecture = 10 * major + minor;
    report.gpus.push_back(std::move(gpu));
  }
#endif
  return report;
}

namespace {

std::atomic<bool>& tf32() {
  static std::atomic<bool> is_allowed = [] {
    const char* const text = environment("TENURE_CUDA_TF32");
    return text != nullptr && std::string_view(text) == "1";
  }();
  return is_allowed;
}

}  // namespace

void set_cuda_tf32(bool is_allowed) { tf32().store(is_allowed, std::memory_order_relaxed); }
bool cuda_tf32() { return tf32().load(std::memory_order_relaxed); }

namespace {

/// What `ask()` says of a GPU. Throws DeviceError in the name of `user` if the device is none: as
/// all are in a build without CUDA.
template <class Ask>
auto of_gpu(const char* user, Device device, Site site, const Ask& ask) {
  return mem::in_call(user, site, [&] {
    mem::require_device(device, user, site);
    if (device.kind != Device::Kind::cuda) {
      throw DeviceError::because(user, device,
                                 fmt::format("{}: {} is no GPU", user, name_of(device)));
    }
    return ask();
  });
}

}  // namespace

std::int64_t cuda_memory_outside(Device device, Site site) {
  return of_gpu("cuda_memory_outside", device, site, [&]() -> std::int64_t {
#if TENURE_HAS_CUDA
    gpu(device).enter();  // or says why it cannot be used
    return memory_outside(device).bytes;
#else
    return 0;
#endif
  });
}

std::uintptr_t cuda_stream(Device device, Site site) {
  return of_gpu("cuda_stream", device, site, [&]() -> std::uintptr_t {
#if TENURE_HAS_CUDA
    return reinterpret_cast<std::uintptr_t>(gpu(device).stream());
#else
    return 0;
#endif
  });
}

void cuda_let_wait([[maybe_unused]] std::uintptr_t stream, Device device, Site site) {
  of_gpu("cuda_let_wait", device, site, [&] {
#if TENURE_HAS_CUDA
    gpu(device).let_wait(reinterpret_cast<CUstream_st*>(stream));
#endif
  });
}

void cuda_wait_for([[maybe_unused]] std::uintptr_t stream, Device device, Site site) {
  of_gpu("cuda_wait_for", device, site, [&] {
#if TENURE_HAS_CUDA
    gpu(device).wait_for_stream(reinterpret_cast<CUstream_st*>(stream));
#endif
  });
}

}  // namespace tenure
