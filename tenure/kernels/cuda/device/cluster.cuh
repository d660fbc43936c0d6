#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"

// Note: blocks that see each other's shared memory
//
// From sm_90 on, neighbours in a grid may be a cluster (Grid::cluster): they run at the same time,
// wait for each other, and read what the others have in shared memory, at the place where they have
// it themselves. Elsewhere each block is alone. The emulator has functions of the same names
// (tests/cuda_emulator/cluster.h).

#ifdef __CUDACC__
namespace tenure::kernels::cuda {

/// Blocks of this one's cluster, and its number among them.
inline unsigned cluster_size() {
  unsigned size = 1;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
#endif
  return size;
}
inline unsigned cluster_rank() {
  unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}
/// Waits for all threads of the cluster; what they wrote is seen behind it.
inline void cluster_barrier() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" : : : "memory");
#else
  __syncthreads();
#endif
}
/// Four floats of another block's, where this one has `own`.
inline float4 load_of_block(const float4* own, [[maybe_unused]] unsigned rank) {
#if __CUDA_ARCH__ >= 900
  float4 value;
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(own));
  asm volatile(
      "{\n.reg .u32 there;\nmapa.shared::cluster.u32 there, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n}"
      : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
      : "r"(address), "r"(rank)
      : "memory");
  return value;
#else
  return *own;
#endif
}

}  // namespace tenure::kernels::cuda
#endif
