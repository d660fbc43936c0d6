#pragma once

#include <cstddef>

// What kernels/cuda/device/cluster.cuh has in PTX, for the emulator.

namespace tenure::kernels::cuda {

inline unsigned cluster_size() { return emulated_cluster_size; }
inline unsigned cluster_rank() { return emulated_cluster_rank; }
TENURE_EMULATED void cluster_barrier() { emulated_cluster_barrier(); }
inline float4 load_of_block(const float4* own, unsigned rank) {
  const std::ptrdiff_t place =
      reinterpret_cast<const char*>(own) - static_cast<const char*>(emulated_shared_memory);
  float4 value;
  std::memcpy(&value, static_cast<const char*>(emulated_shared_of_block(rank)) + place,
              sizeof value);
  return value;
}

}  // namespace tenure::kernels::cuda
