#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"

// Note: products of small matrices by a warp
//
// Tensor cores multiply a 16x16 matrix of 16-bit floats by a 16x8 one and add the products to a
// 16x8 one of float32. The 32 lanes of a warp hold the three together. With row = lane / 4 and
// pair = lane % 4 * 2, a lane has
//
//   of the left matrix    (row, pair) (row + 8, pair) (row, pair + 8) (row + 8, pair + 8), each
//                         with its neighbour to the right in one word;
//   of the right matrix   (pair, row) (pair + 8, row), each with its neighbour below;
//   of the sums           (row, pair) (row, pair + 1) (row + 8, pair) (row + 8, pair + 1).
//
// So sums of two products, side by side, become the left matrix of another product without leaving
// the lanes. 8x8 matrices in shared memory, in rows of 16 bytes, are loaded four at once: a lane
// says where one row is, eight neighbours one matrix, and gets (row, pair) and its neighbour of
// each; transposed, those of the transposed matrix.
//
// GPUs have this from sm_80 on, in PTX alone; the emulator has functions of the same names
// (tests/cuda_emulator/mma.h).

#ifdef __CUDACC__
namespace tenure::kernels::cuda {

inline unsigned shared_address(const void* in_shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(in_shared));
}

/// Loads four matrices. All lanes of the warp take part.
inline void load_matrices(unsigned (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
inline void load_transposed(unsigned (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

/// sums += a times b, whose upper and lower halves are given. All lanes of the warp take part.
template <class T>
inline void multiply_matrices(float (&sums)[4], const unsigned (&a)[4], unsigned b_upper,
                              unsigned b_lower) {
  if constexpr (std::is_same_v<T, Half>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_upper), "r"(b_lower));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_upper), "r"(b_lower));
  }
}

/// Two numbers in one word, the first in its lower half, each rounded to T.
template <class T>
inline unsigned packed(float first, float second) {
  unsigned word;
  if constexpr (std::is_same_v<T, Half>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  }
  return word;
}

/// Two to the power of x, within two units of the last place.
inline float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Begins to copy the first `bytes` of 16 into shared memory, and to fill the others with zeros.
/// Both places are multiples of 16.
inline void begin_copy(void* to, const void* from, unsigned bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes)
               : "memory");
}
/// The same for a word, or a zero unless `is_there`.
inline void begin_copy_of_word(void* to, const void* from, bool is_there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
               :
               : "r"(shared_address(to)), "l"(__cvta_generic_to_global(from)),
                 "r"(is_there ? 4u : 0u)
               : "memory");
}
/// What this thread began since the last call is a group, which may be empty.
inline void end_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }
/// Waits for all groups of this thread but the last `others`.
template <int others>
inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(others) : "memory");
}

}  // namespace tenure::kernels::cuda
#endif
