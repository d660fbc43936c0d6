#pragma once

#include <math.h>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tenure/ops/elementwise/words.h"
#include "tenure/tensor/half.h"

// What CUDA sources use beyond C++, for the C++ compiler: threads of a block are fibers of one
// thread (block.h), which switch where they wait for each other.

#define __host__
#define __device__ __attribute__((section(".data.device")))  // of variables alone; see block.cpp
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(n) alignas(n)

#define TENURE_KERNEL(name, threads, Arguments, ...)                                   \
  extern "C" __attribute__((visibility("default"))) void name(const void* arguments) { \
    __VA_ARGS__(*static_cast<const Arguments*>(arguments));                            \
  }
#define TENURE_SHARED(T, name) T* const name = static_cast<T*>(emulated_shared_memory)

struct uint3 {
  unsigned x, y, z;
};
using dim3 = uint3;

extern "C" {
extern uint3 emulated_thread_index;
extern uint3 emulated_block_index;
extern uint3 emulated_block_size;
extern uint3 emulated_grid_size;
extern void* emulated_shared_memory;
extern unsigned emulated_cluster_size;
extern unsigned emulated_cluster_rank;
/// Waits for all threads of the block, which come to the same place of the code.
void emulated_block_barrier();
void emulated_cluster_barrier();
void* emulated_shared_of_block(unsigned rank);
/// Waits for the lanes of `mask` in this thread's warp, all of which call it from the same place
/// with the same mask; then `values` has what each brought, in 8 bytes.
const std::uint64_t* emulated_warp_exchange(unsigned mask, std::uint64_t value);
/// Copies that a thread begins are done as late as can be, when it waits for their group: `bytes`
/// of `room`, and zeros behind them. Until then there are no numbers.
void emulated_begin_copy(void* to, const void* from, unsigned bytes, unsigned room);
void emulated_end_copies();
void emulated_wait_for_copies(unsigned others);
/// Products that a thread begins are made as late as can be, too, when it waits for their group;
/// all lanes of the warp wait for the same.
struct EmulatedProducts {
  void (*make)(const EmulatedProducts&);
  float* sums;
  bool is_sum;
  unsigned own_left[4];
  std::uint64_t left;
  std::uint64_t right;
};
void emulated_begin_products(const EmulatedProducts& products);
void emulated_end_products();
void emulated_wait_for_products(unsigned others);
/// Ends the process.
[[noreturn]] void emulated_fault(const char* what);
}
#define threadIdx emulated_thread_index
#define blockIdx emulated_block_index
#define blockDim emulated_block_size
#define gridDim emulated_grid_size
inline constexpr int warpSize = 32;

// What waits is inlined: each use is a place of its own.
#define TENURE_EMULATED __attribute__((always_inline)) inline

TENURE_EMULATED void __syncthreads() { emulated_block_barrier(); }
TENURE_EMULATED void __syncwarp(unsigned mask = 0xffffffffu) { emulated_warp_exchange(mask, 0); }
inline void __threadfence() {}
inline void __threadfence_block() {}

inline unsigned emulated_lane() {
  return (emulated_thread_index.x +
          emulated_block_size.x *
              (emulated_thread_index.y + emulated_block_size.y * emulated_thread_index.z)) %
         32;
}
template <class T>
TENURE_EMULATED T emulated_shuffle(unsigned mask, T value, unsigned lane) {
  static_assert(sizeof(T) <= 8);
  if ((mask >> lane % 32 & 1) == 0)
    emulated_fault("a lane takes what is of a lane outside the mask");
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, &value, sizeof(T));
  const std::uint64_t* const all = emulated_warp_exchange(mask, bytes);
  std::memcpy(&value, &all[lane % 32], sizeof(T));
  return value;
}
template <class T>
TENURE_EMULATED T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  const unsigned first = emulated_lane() / width * width;
  return emulated_shuffle(mask, value, first + static_cast<unsigned>(lane) % width);
}
template <class T>
TENURE_EMULATED T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  const unsigned own = emulated_lane();
  const unsigned other = own ^ static_cast<unsigned>(lanes);
  return emulated_shuffle(mask, value, other / width > own / width ? own : other);
}
template <class T>
TENURE_EMULATED T __shfl_down_sync(unsigned mask, T value, unsigned lanes, int width = 32) {
  const unsigned own = emulated_lane();
  return emulated_shuffle(mask, value, own % width + lanes < unsigned(width) ? own + lanes : own);
}
template <class T>
TENURE_EMULATED T __shfl_up_sync(unsigned mask, T value, unsigned lanes, int width = 32) {
  const unsigned own = emulated_lane();
  return emulated_shuffle(mask, value, own % width >= lanes ? own - lanes : own);
}
TENURE_EMULATED unsigned __ballot_sync(unsigned mask, int predicate) {
  const std::uint64_t* const all = emulated_warp_exchange(mask, predicate != 0);
  unsigned set = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if ((mask >> i & 1) != 0 && all[i] != 0) set |= 1u << i;
  }
  return set;
}
TENURE_EMULATED int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
TENURE_EMULATED int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) == mask;
}

// One thread does all the work: what is atomic on a GPU is so by itself.
template <class T>
inline T atomicAdd(T* at, std::type_identity_t<T> value) {
  const T old = *at;
  *at = static_cast<T>(old + value);
  return old;
}
template <class T>
inline T atomicMax(T* at, std::type_identity_t<T> value) {
  const T old = *at;
  if (value > old) *at = value;
  return old;
}
template <class T>
inline T atomicMin(T* at, std::type_identity_t<T> value) {
  const T old = *at;
  if (value < old) *at = value;
  return old;
}
template <class T>
inline T atomicOr(T* at, std::type_identity_t<T> value) {
  const T old = *at;
  *at = old | value;
  return old;
}
template <class T>
inline T atomicExch(T* at, std::type_identity_t<T> value) {
  const T old = *at;
  *at = value;
  return old;
}
template <class T>
inline T atomicCAS(T* at, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  const T old = *at;
  if (old == compare) *at = value;
  return old;
}

template <class T>
inline T __ldg(const T* at) {
  return *at;
}
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : 1 + std::countr_zero(static_cast<unsigned>(x)); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}
inline std::uint64_t __umul64hi(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float rsqrt(float x) { return 1 / std::sqrt(x); }
template <class T>
inline T min(T a, std::type_identity_t<T> b) {
  return b < a ? b : a;
}
template <class T>
inline T max(T a, std::type_identity_t<T> b) {
  return a < b ? b : a;
}

struct float4 {
  float x, y, z, w;
};

#include "tests/cuda_emulator/cluster.h"
#include "tests/cuda_emulator/mma.h"
#include "tests/cuda_emulator/wgmma.h"
