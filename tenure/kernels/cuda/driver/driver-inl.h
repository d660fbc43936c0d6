#pragma once

#include <cuda.h>

#include "tenure/kernels/cuda/driver/symbols-inl.h"

// The driver, which comes with the GPU: libcuda.so.1.

namespace tenure::kernels::cuda {

#define TENURE_DRIVER_FUNCTIONS(X) \
  X(cuInit)                        \
  X(cuDriverGetVersion)            \
  X(cuGetErrorName)                \
  X(cuGetErrorString)              \
  X(cuDeviceGetCount)              \
  X(cuDeviceGet)                   \
  X(cuDeviceGetName)               \
  X(cuDeviceGetAttribute)          \
  X(cuDeviceTotalMem)              \
  X(cuDevicePrimaryCtxRetain)      \
  X(cuCtxSetCurrent)               \
  X(cuStreamCreate)                \
  X(cuStreamSynchronize)           \
  X(cuEventCreate)                 \
  X(cuEventRecord)                 \
  X(cuEventQuery)                  \
  X(cuEventSynchronize)            \
  X(cuStreamWaitEvent)             \
  X(cuStreamBeginCapture)          \
  X(cuStreamEndCapture)            \
  X(cuGraphInstantiateWithFlags)   \
  X(cuGraphLaunch)                 \
  X(cuGraphDestroy)                \
  X(cuGraphExecDestroy)            \
  X(cuModuleLoadData)              \
  X(cuModuleGetFunction)           \
  X(cuFuncSetAttribute)            \
  X(cuLaunchKernelEx)              \
  X(cuMemGetInfo)                  \
  X(cuMemGetAllocationGranularity) \
  X(cuMemAddressReserve)           \
  X(cuMemCreate)                   \
  X(cuMemMap)                      \
  X(cuMemSetAccess)                \
  X(cuMemUnmap)                    \
  X(cuMemRelease)                  \
  X(cuMemHostAlloc)                \
  X(cuMemFreeHost)                 \
  X(cuMemcpyHtoDAsync)             \
  X(cuMemcpyDtoHAsync)             \
  X(cuMemcpyDtoDAsync)             \
  X(cuMemsetD8Async)

struct DriverFunctions {
  TENURE_DRIVER_FUNCTIONS(TENURE_MEMBER)
  /// cuEventElapsedTime as all drivers have it: headers may mean one of newer drivers.
  CUresult (*elapsed_time)(float* milliseconds, CUevent begin, CUevent end) = nullptr;
};

/// The driver as it was found.
struct Driver {
  Library library{};
  DriverFunctions functions{};
  int version = 0;  ///< 13000: the newest CUDA that it can serve
  int devices = 0;
};
/// Looked for by the first call, once.
const Driver& driver();
/// The oldest that has all that is used here.
inline constexpr int kOldestDriver = 12000;

/// "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
std::string text_of(CUresult result);

}  // namespace tenure::kernels::cuda
