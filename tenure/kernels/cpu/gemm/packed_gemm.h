#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenure/kernels/cpu/gemm/gemm.h"

namespace tenure::kernels {

// Note: how large products are computed
//
// One of the matrices stays: its lines (rows of a, or columns of b) are packed into the workspace,
// up to kBytes at a time: by the thread that uses them, where each has enough of them, or by all
// threads together. The lines of the other one pass by: a thread takes a panel of them, as many as
// a tile in registers is high or wide, packs it on its stack (rows as they are if their terms are
// neighbours; columns that are neighbours while the tiles before are computed, panels-inl.h), and
// multiplies it with every panel that stays. Panels are kDepth terms deep. So
// every element of the result is the sum, in order, of sums of kDepth products, whatever the
// threads, the tile and the way in which the matrices lie in memory; and the workspace follows from
// sizes and strides alone. Columns of b may have been packed before, all of them: then they are
// read from there, whether they stay or pass by. Terms of bfloat16 come in pairs (packing-inl.h).

inline constexpr std::int64_t kGemmDepth = 256;

/// What of a batch of products is packed at a time. The same on every machine; see residence.cpp.
struct Residence {
  static constexpr std::size_t kBytes = std::size_t{1} << 20;

  Residence(const Gemm& shape, std::int64_t products, std::size_t element);

  bool rows = true;           ///< rows of a stay; otherwise columns of b do
  std::int64_t products = 1;  ///< of the batch, at a time
  std::int64_t lines = 0;     ///< of each product
  std::int64_t depth = 0;     ///< terms of each line; a multiple of kGemmDepth unless all
  std::int64_t elements = 0;  ///< of one product, with what fills up vectors

  std::size_t bytes(std::size_t element) const {
    return static_cast<std::size_t>(products * elements) * element;
  }
};

/// With the terms that are packed together: those of bfloat16 in pairs, on every machine.
Gemm padded_terms(DType dtype, Gemm shape);

struct PackedGemmOptions {
  /// What pack_columns made of b; of batches where all products have one b. Null: it is packed now.
  const std::byte* columns = nullptr;
  /// If not null, follows on each block of the results, whose rows lie one after the other then.
  const ops::FusedNeighbours* after = nullptr;
};

/// Any number of products of floats. Any strides; those of 16 bits have lines or terms that are
/// neighbours, and results of float32.
void packed_gemm(DType dtype, const GemmBatch& batch, const void* a, const void* b, void* c,
                 std::span<std::byte> workspace, const PackedGemmOptions& options = {});
std::size_t packed_gemm_workspace(DType dtype, const GemmBatch& batch);

/// All columns of b as tiles read them, as float32 or float64. Only b's sizes and strides count. In
/// packed_columns.cpp.
void pack_columns(DType dtype, const Gemm& shape, const void* b, std::byte* to);
/// With what fills up the widest vectors: the same on every machine.
std::size_t packed_columns_bytes(DType dtype, const Gemm& shape);

}  // namespace tenure::kernels
