#pragma once

#include <nvrtc.h>

#include "tenure/kernels/cuda/driver/symbols-inl.h"

// NVRTC, the compiler: libnvrtc.so. It needs no GPU.

namespace tenure::kernels::cuda {

#define TENURE_NVRTC_FUNCTIONS(X) \
  X(nvrtcVersion)                 \
  X(nvrtcGetErrorString)          \
  X(nvrtcGetNumSupportedArchs)    \
  X(nvrtcGetSupportedArchs)       \
  X(nvrtcCreateProgram)           \
  X(nvrtcDestroyProgram)          \
  X(nvrtcCompileProgram)          \
  X(nvrtcGetProgramLogSize)       \
  X(nvrtcGetProgramLog)           \
  X(nvrtcGetPTXSize)              \
  X(nvrtcGetPTX)                  \
  X(nvrtcGetCUBINSize)            \
  X(nvrtcGetCUBIN)

struct NvrtcFunctions {
  TENURE_NVRTC_FUNCTIONS(TENURE_MEMBER)
};

/// The compiler as it was found.
struct Nvrtc {
  Library library{};
  NvrtcFunctions functions{};
  int version = 0;  ///< 13000
};
/// Looked for by the first call, once: the newest that the driver can serve, if there is a driver.
const Nvrtc& nvrtc();

}  // namespace tenure::kernels::cuda
