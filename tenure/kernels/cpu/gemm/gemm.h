#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenure/kernels/view.h"

namespace tenure::kernels {

/// out = a b for matrices over leading batch dimensions that broadcast. All three have rank 2 or
/// more and one element type; `out` is contiguous. Any strides.
void matmul(const View& a, const View& b, const View& out, std::span<std::byte> workspace);
/// Bytes that matmul needs for these operands.
std::size_t matmul_workspace(const View& a, const View& b, const View& out);

/// One product of matrices; strides in elements.
struct Gemm {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t a_row = 0, a_column = 0;
  std::int64_t b_row = 0, b_column = 0;
  std::int64_t c_row = 0;  ///< c's columns are contiguous
};

/// Whether plain_gemm is the way for this product: a native type, little work, not empty.
bool plain_gemm_takes(DType dtype, const Gemm& shape);
/// One product of float32 or float64 without a library: gemv or small_gemm.
void plain_gemm(DType dtype, const Gemm& shape, const void* a, const void* b, void* c);

/// float32 or float64 without a library, for products that end before a library has begun, and for
/// types that it lacks. Needs no workspace.
void small_gemm(DType dtype, const Gemm& shape, const void* a, const void* b, void* c);

/// A matrix and a vector, on either side; float32 or float64. Libraries treat it as a product of
/// matrices, and read the matrix at a fraction of the speed of the memory.
void gemv(DType dtype, const Gemm& shape, const void* a, const void* b, void* c);
/// Whether it is one, in a layout that `gemv` takes.
inline bool gemv_takes(const Gemm& g) {
  if (g.m == 1) return g.b_row == 1 || g.b_column == 1;
  return g.n == 1 && g.c_row == 1 && (g.a_row == 1 || g.a_column == 1);
}

/// float32 by oneDNN. One of the strides of a, and of b, is 1.
void library_gemm(const Gemm& shape, const float* a, const float* b, float* c,
                  std::span<std::byte> workspace);
std::size_t library_gemm_workspace(const Gemm& shape);

}  // namespace tenure::kernels
