#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenure/kernels/view.h"
#include "tenure/ops/core/loop.h"

namespace tenure::kernels {

/// out = a b for matrices over leading batch dimensions that broadcast. All three have rank 2 or
/// more and one element type, but for those that byte_gemm.h tells of; `out` is contiguous. Any
/// strides. `after`, if not null, has a loop that follows the result; `packed`, if not null, b as
/// matmul_pack made it. In matmul.cpp.
void matmul(const View& a, const View& b, const View& out, std::span<std::byte> workspace,
            const ops::FusedNeighbours* after = nullptr, const std::byte* packed = nullptr);
/// What a product does with what is there before.
enum class Into { write, add, subtract };
/// out += a b, or out -= a b, for two matrices of float32 or float64; only numbers of a row of
/// `out` are neighbours. Takes the workspace that matmul takes.
void add_product(const View& a, const View& b, const View& out, std::span<std::byte> workspace,
                 Into into);
/// Whether such a loop saves something.
bool matmul_leads_loop(const View& a, const View& b, const View& out);
/// Bytes that matmul needs for these operands.
std::size_t matmul_workspace(const View& a, const View& b, const View& out);

/// Bytes of b packed; 0: matmul would not read it, or not be faster for it.
std::size_t matmul_packed_bytes(const View& a, const View& b, const View& out);
/// Packs one matrix b.
void matmul_pack(const View& b, std::byte* to);

/// One product of matrices; strides in elements.
struct Gemm {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t a_row = 0, a_column = 0;
  std::int64_t b_row = 0, b_column = 0;
  std::int64_t c_row = 0;   ///< c's columns are contiguous
  Into into = Into::write;  ///< c; gemv writes always
};

/// Products of one shape over a batch.
struct GemmBatch {
  Gemm gemm;
  Shape batch;
  Strides a, b, c;        ///< of the batch's dimensions
  std::int64_t size = 1;  ///< how many products

  /// Where product `index` begins in a matrix that moves by these strides.
  std::int64_t at(std::int64_t index, const Strides& strides) const {
    std::int64_t place = 0;
    for (int axis = batch.size() - 1; axis >= 0; --axis) {
      place += index % batch[axis] * strides[axis];
      index /= batch[axis];
    }
    return place;
  }
};

/// Whether plain_gemm is the way for this product: a native type, little work, not empty.
bool plain_gemm_takes(DType dtype, const Gemm& shape);
/// One product of float32 or float64 that needs no workspace: gemv or small_gemm.
void plain_gemm(DType dtype, const Gemm& shape, const void* a, const void* b, void* c);

/// With what a part of a product is multiplied that joins c, 1 or -1; 0: it takes c's place.
/// `first`: nothing has been written yet.
inline int sign_of(Into into, bool first) {
  if (into == Into::subtract) return -1;
  return into == Into::write && first ? 0 : 1;
}

/// float32 or float64 from where the matrices lie, for products that end before packing pays. In
/// small_gemm.cpp.
void small_gemm(DType dtype, const Gemm& shape, const void* a, const void* b, void* c);

/// A matrix and a vector, on either side; float32, float64, or bfloat16 with a result of float32.
/// The matrix is read once, at the speed of the memory. In gemv.cpp.
void gemv(DType dtype, const Gemm& shape, const void* a, const void* b, void* c);
/// Whether it is one, in a layout that `gemv` takes.
inline bool gemv_takes(const Gemm& g) {
  if (g.m == 1) return g.b_row == 1 || g.b_column == 1;
  return g.n == 1 && g.c_row == 1 && (g.a_row == 1 || g.a_column == 1);
}

}  // namespace tenure::kernels
