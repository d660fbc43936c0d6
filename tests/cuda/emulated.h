#pragma once

#include <dlfcn.h>

#include <cstdlib>

#include "tenure/tenure.h"
#include "tests/cuda/prepare.h"

namespace tenure::test {

/// Has CUDA's libraries be the emulator's (tests/cuda_emulator/protocol.h) for this process, unless
/// the environment says otherwise, and compiled kernels be kept in the build folder.
inline void use_emulated_cuda() {
#ifdef TENURE_EMULATED_CUDA
  setenv("TENURE_CUDA_LIBRARIES", TENURE_EMULATED_CUDA, 0);
  setenv("TENURE_CACHE", TENURE_EMULATED_CUDA "/cache", 0);
  setenv("TENURE_EMULATED_GPUS", "2", 0);
  setenv("TENURE_EMULATED_MEMORY", "512", 0);
#endif
}

/// The first has all kernels compiled.
inline Device emulated_gpu(int index = 0) {
  use_emulated_cuda();
  [[maybe_unused]] static const bool is_prepared = (prepare_every_kernel(cuda()), true);
  return cuda(index);
}

#ifdef TENURE_EMULATED_CUDA
/// A function of the emulator's driver.
template <class F>
F* emulators(const char* name) {
  return reinterpret_cast<F*>(
      dlsym(dlopen(TENURE_EMULATED_CUDA "/libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), name));
}
#endif

}  // namespace tenure::test
