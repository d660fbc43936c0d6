#pragma once

#include "tenure/kernels/cuda/device/mma.cuh"

// Note: products of matrices by four warps
//
// From sm_90 on four neighbouring warps multiply a 64x16 matrix by one of 16 rows and 32 or 64
// columns, and go on with something else meanwhile. Each warp has 16 rows of the left matrix and of
// the sums, in its lanes, as if they were of products of its own (mma.cuh); the sums of 8 columns
// are behind each other. The right matrix is in shared memory, in rows of 128 bytes at a multiple
// of 1024: pack p of row r, 16 bytes, lies in place p ^ r % 8. It is read by columns, each of which
// is a row there, from 16 of its elements on; or by rows.
//
// All four warps begin the same products in the same order:
//
//     order_registers(sums, left);             // after what was done with them otherwise
//     begin_products_by_rows<T>(sums, left, tile, is_sum);
//     end_products();                          // what was begun since the last one is a group
//     ...
//     wait_for_products<others>();             // for all groups but the last `others`
//     settle(sums);                            // now it may be read
//
// GPUs of sm_90a have this, and no others, not newer ones either. What threads wrote into shared
// memory is there for tensor cores after show_to_tensor_cores() by each of them and a barrier.

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

  explicit SharedMatrix(const void* at)
      : place((shared_address(at) & 0x3ffffu) >> 4 | kGroups << 16) {}
  /// One that is so many bytes behind this.
  SharedMatrix behind(unsigned bytes) const {
    SharedMatrix other = *this;
    other.place += bytes >> 4;
    return other;
  }
  /// Eight rows, of 1024 bytes, are behind each other.
  static constexpr unsigned kGroups = 1024 >> 4;
};
/// The other half: the same of groups of eight rows, and that packs are where the note says.
#define TENURE_SHARED_MATRIX(name, place) \
  ".reg .b64 " name ";\nmov.b64 " name ", {" place ", 0x40000040};\n"

#define TENURE_SUMS_16 TENURE_SUMS_4(0)
#define TENURE_SUMS_32 TENURE_SUMS_4(0), TENURE_SUMS_4(4)
#define TENURE_PLACES_16 \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
#define TENURE_PLACES_32                                                                           \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "    \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
/// `matrices` has the left one and how both are read; `flag` is the place of `is_sum`; then come the
/// sums and the left matrix.
#define TENURE_PRODUCTS(columns, type, places, before, matrices, flag, ...)                        \
  asm volatile("{\n.reg .pred is_sum;\nsetp.ne.b32 is_sum, " flag ", 0;\n" before                  \
               "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type " " places     \
               matrices ";\n}"                                                                     \
               : __VA_ARGS__, "r"(right.place), "r"(is_sum ? 1 : 0), "n"(by_rows ? 1 : 0)          \
               : "memory")
/// Of n * 8 columns.
#define TENURE_PRODUCTS_OF(type)     \
  if constexpr (n == 4) {            \
    TENURE_PRODUCTS_OF_32(type);     \
  } else {                           \
    TENURE_PRODUCTS_OF_64(type);     \
  }

/// sums = left times a matrix in shared memory, or sums += that.
template <class T, bool by_rows, int n>
inline void begin_products(float (&sums)[n][4], const unsigned (&left)[4], SharedMatrix right,
                           bool is_sum) {
  static_assert(n == 4 || n == 8);
#define TENURE_LEFT "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3])
#define TENURE_PRODUCTS_OF_32(type)                                                          \
  TENURE_PRODUCTS("32", type, TENURE_PLACES_16, TENURE_SHARED_MATRIX("right", "%20"),        \
                  "{%16, %17, %18, %19}, right, is_sum, 1, 1, %22", "%21",                   \
                  TENURE_SUMS_16 : TENURE_LEFT)
#define TENURE_PRODUCTS_OF_64(type)                                                          \
  TENURE_PRODUCTS("64", type, TENURE_PLACES_32, TENURE_SHARED_MATRIX("right", "%36"),        \
                  "{%32, %33, %34, %35}, right, is_sum, 1, 1, %38", "%37",                   \
                  TENURE_SUMS_32 : TENURE_LEFT)
  if constexpr (std::is_same_v<T, Half>) {
    TENURE_PRODUCTS_OF("f16")
  } else {
    TENURE_PRODUCTS_OF("bf16")
  }
#undef TENURE_LEFT
#undef TENURE_PRODUCTS_OF_32
#undef TENURE_PRODUCTS_OF_64
}

/// The same with a left matrix in shared memory, 64 rows of 128 bytes as those of the right one.
template <class T, bool by_rows, int n>
inline void begin_products(float (&sums)[n][4], SharedMatrix left, SharedMatrix right,
                           bool is_sum) {
  static_assert(n == 4 || n == 8);
#define TENURE_PRODUCTS_OF_32(type)                                                               \
  TENURE_PRODUCTS(                                                                                \
      "32", type, TENURE_PLACES_16,                                                               \
      TENURE_SHARED_MATRIX("left", "%16") TENURE_SHARED_MATRIX("right", "%17"),                   \
      "left, right, is_sum, 1, 1, 0, %19", "%18", TENURE_SUMS_16 : "r"(left.place))
#define TENURE_PRODUCTS_OF_64(type)                                                               \
  TENURE_PRODUCTS(                                                                                \
      "64", type, TENURE_PLACES_32,                                                               \
      TENURE_SHARED_MATRIX("left", "%32") TENURE_SHARED_MATRIX("right", "%33"),                   \
      "left, right, is_sum, 1, 1, 0, %35", "%34", TENURE_SUMS_32 : "r"(left.place))
  if constexpr (std::is_same_v<T, Half>) {
    TENURE_PRODUCTS_OF("f16")
  } else {
    TENURE_PRODUCTS_OF("bf16")
  }
#undef TENURE_PRODUCTS_OF_32
#undef TENURE_PRODUCTS_OF_64
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
