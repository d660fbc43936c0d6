#include "tenure/kernels/cuda/cuda.h"

#include <fmt/format.h>

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

std::string version_text(std::size_t major, std::size_t minor) {
  return fmt::format("{}.{}", major, minor);
}

CudaLibrary driver_found() {
  const Driver& found = driver();
  CudaLibrary library{
      .name = "driver", .path = found.library.path, .problem = found.library.problem};
  if (found.version > 0) {
    library.version = version_text(static_cast<std::size_t>(found.version / 1000),
                                   static_cast<std::size_t>(found.version % 1000 / 10));
  }
  if (library.problem.empty() && found.devices == 0) {
    library.problem = "the driver sees no GPU";
    library.advice = "is there one in this machine, and is it given to this container?";
  } else if (!library.problem.empty()) {
    library.advice = fmt::format(
        "install NVIDIA's driver, of CUDA {} or newer, which brings "
        "libcuda.so.1",
        kOldestDriver / 1000);
  }
  return library;
}

CudaLibrary nvrtc_found() {
  const Nvrtc& found = nvrtc();
  CudaLibrary library{
      .name = "NVRTC", .path = found.library.path, .problem = found.library.problem};
  if (found.version > 0) {
    library.version = version_text(static_cast<std::size_t>(found.version / 1000),
                                   static_cast<std::size_t>(found.version % 1000 / 10));
  }
  if (!library.problem.empty()) {
    library.advice =
        "install NVRTC of CUDA 12 or 13: it is in the CUDA toolkit, in Debian's and "
        "Ubuntu's package cuda-nvrtc-13-0 of NVIDIA's, in pip's nvidia-cuda-nvrtc";
  }
  return library;
}

CudaLibrary cublaslt_found() {
  const CublasLt& found = cublaslt();
  CudaLibrary library{
      .name = "cuBLASLt", .path = found.library.path, .problem = found.library.problem};
  if (found.version > 0) {
    library.version = version_text(found.version / 10000, found.version % 10000 / 100);
  }
  if (!library.problem.empty()) {
    library.advice = "products of matrices need it: install cuBLAS of CUDA 12 or 13";
  }
  return library;
}

CudaLibrary cudnn_found() {
  const Cudnn& found = cudnn();
  CudaLibrary library{
      .name = "cuDNN", .path = found.library.path, .problem = found.library.problem};
  if (found.version > 0) {
    library.version = version_text(found.version / 10000, found.version % 10000 / 100);
  }
  if (!library.problem.empty()) {
    library.advice = "convolutions need it: install cuDNN 9";
  }
  return library;
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

std::int64_t cuda_memory_outside(Device device, Site site) {
  return mem::in_call("cuda_memory_outside", site, [&]() -> std::int64_t {
    mem::require_device(device, "cuda_memory_outside", site);
#if TENURE_HAS_CUDA
    if (device.kind == Device::Kind::cuda) {
      return static_cast<std::int64_t>(gpu(device).memory().outside());
    }
#endif
    throw DeviceError::because("cuda_memory_outside", device,
                               fmt::format("cuda_memory_outside: {} is no GPU", name_of(device)));
  });
}

}  // namespace tenure
