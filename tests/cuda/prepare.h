#pragma once

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tests/cuda/every_kernel.h"

namespace tenure::test {

/// Compiles every kernel for an emulated GPU, a file's together, where one by one, as they are
/// first used, the C++ compiler would take minutes to begin again and again. They are kept in
/// $TENURE_CACHE for all programs that do this.
inline void prepare_every_kernel(Device device) {
  kernels::cuda::LoadedKernels& kernels = kernels::cuda::gpu(device).kernels();
  for (const KernelBatch& batch : every_family()) kernels.prepare(batch.all);
  for (const KernelBatch& batch : every_loop()) kernels.prepare(batch.all);
}

}  // namespace tenure::test
