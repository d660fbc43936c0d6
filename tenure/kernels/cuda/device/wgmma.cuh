#pragma once

#include "tenure/kernels/cuda/device/mma.cuh"

// Note: products of matrices by four warps
//
// GPUs of sm_90a, and no others, have products by four neighbouring warps, which go on with
// something else meanwhile: of a matrix of 64 rows and 16 columns by one of 16 rows and 64 columns.
// Each warp has 16 rows of the sums in its lanes, as if they were of products of its own (mma.cuh),
// those of 8 columns behind each other; the left matrix may be there, too. What is in shared memory
// is in rows of 128 bytes from a multiple of 1024 on: pack p of row r, 16 bytes, lies in place
// p ^ r % 8. All four warps begin the same products in the same order:
//
//     order_registers(sums);           // after what was done with them otherwise
//     begin_products<T>(sums, left, right, is_sum);
//     end_products();                  // what was begun since the last one is a group
//     ...
//     wait_for_products<others>();     // for all groups but the last `others`
//     settle(sums);                    // now it may be read
//
// What threads wrote into shared memory is there for tensor cores after show_to_tensor_cores() by
// each of them and a barrier. The emulator has tests/cuda_emulator/wgmma.h.

#ifdef __CUDACC__
namespace tenure::kernels::cuda {

#define TENURE_SUMS(j) "+f"(sums[j][0]), "+f"(sums[j][1]), "+f"(sums[j][2]), "+f"(sums[j][3])
#define TENURE_SUMS_4(j) TENURE_SUMS(j), TENURE_SUMS(j + 1), TENURE_SUMS(j + 2), TENURE_SUMS(j + 3)

/// Nothing that reads or writes them is moved across this.
template <int n>
inline void settle(float (&sums)[n][4]) {
#pragma unroll
  for (int j = 0; j < n; j += 4) asm volatile("" : TENURE_SUMS_4(j) : : "memory");
}
template <int n>
inline void order_registers(float (&sums)[n][4]) {
  settle(sums);
  asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}
/// The same with left matrices in lanes.
template <int n, int steps>
inline void order_registers(float (&sums)[n][4], unsigned (&left)[steps][4]) {
#pragma unroll
  for (int i = 0; i < steps; ++i) {
    asm volatile("" : "+r"(left[i][0]), "+r"(left[i][1]), "+r"(left[i][2]), "+r"(left[i][3]));
  }
  order_registers(sums);
}

/// A matrix in shared memory, as instructions are told of it: the half of that which says where.
struct SharedMatrix {
  unsigned place;

  explicit SharedMatrix(const void* at) : place((shared_address(at) & 0x3ffffu) >> 4 | 64 << 16) {}
  /// One that is so many bytes behind this.
  SharedMatrix behind(unsigned bytes) const {
    SharedMatrix other = *this;
    other.place += bytes >> 4;
    return other;
  }
};

// Both halves say that groups of eight rows are 64 packs behind each other, the other one also that
// packs are where the note says.
#define TENURE_BEGIN_PRODUCTS(type, matrices)                                                     \
  "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type                                     \
  " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "  \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, " matrices ";\n"
#define TENURE_MATRIX(name, place) \
  ".reg .b64 " name ";\nmov.b64 " name ", {" place ", 0x40000040};\n"

/// sums = or += left times right, whose columns are rows in shared memory.
#define TENURE_PRODUCTS(type)                                                           \
  asm volatile("{\n.reg .pred is_sum;\nsetp.ne.b32 is_sum, %34, 0;\n" TENURE_MATRIX(    \
                   "left", "%32") TENURE_MATRIX("right", "%33")                         \
                   TENURE_BEGIN_PRODUCTS(type, "left, right, is_sum, 1, 1, 0, 0") "}"   \
               : TENURE_SUMS_4(0), TENURE_SUMS_4(4)                                     \
               : "r"(left.place), "r"(right.place), "r"(is_sum ? 1 : 0)                 \
               : "memory")
template <class T>
inline void begin_products(float (&sums)[8][4], SharedMatrix left, SharedMatrix right,
                           bool is_sum) {
  if constexpr (std::is_same_v<T, Half>) {
    TENURE_PRODUCTS("f16");
  } else {
    TENURE_PRODUCTS("bf16");
  }
}

/// sums += left, which is in lanes, times right, whose rows are rows in shared memory.
#define TENURE_ADDED_PRODUCTS(type)                                                              \
  asm volatile("{\n.reg .pred is_sum;\nsetp.eq.b32 is_sum, 0, 0;\n" TENURE_MATRIX(               \
                   "right", "%36")                                                               \
                   TENURE_BEGIN_PRODUCTS(type, "{%32, %33, %34, %35}, right, is_sum, 1, 1, 1") "}" \
               : TENURE_SUMS_4(0), TENURE_SUMS_4(4)                                              \
               : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right.place)        \
               : "memory")
template <class T>
inline void begin_added_products(float (&sums)[8][4], const unsigned (&left)[4],
                                 SharedMatrix right) {
  if constexpr (std::is_same_v<T, Half>) {
    TENURE_ADDED_PRODUCTS("f16");
  } else {
    TENURE_ADDED_PRODUCTS("bf16");
  }
}

inline void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory"); }
template <int others>
inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(others) : "memory");
}
inline void show_to_tensor_cores() {
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

}  // namespace tenure::kernels::cuda
#endif
