#include "tenure/kernels/cuda/memory/pinned_memory.h"

#include "tenure/kernels/cuda/driver/driver-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {

void* PinnedMemory::map(std::size_t bytes) noexcept try {
  gpu_.enter();
  void* made = nullptr;
  const CUresult result = driver().functions.cuMemHostAlloc(
      &made, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  return result == CUDA_SUCCESS ? made : nullptr;
} catch (const Error&) {  // the GPU was lost
  return nullptr;
}

void PinnedMemory::unmap(void* begin, std::size_t /*bytes*/) noexcept try {
  gpu_.wait();  // for copies that are queued
  driver().functions.cuMemFreeHost(begin);
} catch (const Error&) {  // NOLINT(bugprone-empty-catch): a GPU that was lost has nothing left
}

}  // namespace tenure::kernels::cuda
