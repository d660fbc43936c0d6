#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tenure/kernels/cuda/compile/kernels.h"
#include "tenure/kernels/cuda/products/plan.h"
#include "tenure/tensor/dtype.h"

// Note: matrices whose rows begin anywhere
//
// The fast ways to multiply 16-bit floats read 16 bytes at once, which a matrix of 50,257 columns
// does not allow: none of its rows but every eighth begins where it should. The library then takes
// a way that is ten times as slow. So a large product of such matrices is cut along the axis that
// is in the way, and goes on copies of its pieces whose rows begin where they should, in the
// workspace. Where that axis is summed over, sums are float32 in the workspace, too, until all are
// there. Compiled programs leave gaps behind the rows of what lies between their kernels
// (graph/passes/kernel_layout.h), so that this is for calls, and for what users bring.

namespace tenure::kernels::cuda {

class Gpu;

/// How a product is cut.
struct PieceCut {
  enum class Axis : std::uint8_t { m, n, k };
  Axis axis = Axis::n;
  std::int64_t size = 0;  ///< of a piece, but for the last
  bool copies_a = false;  ///< pieces of a are copied
  bool copies_b = false;
  bool copies_result = false;

  std::size_t a_bytes(const ProductPlan& plan) const;
  std::size_t b_bytes(const ProductPlan& plan) const;
  std::size_t result_bytes(const ProductPlan& plan) const;
};

/// How a product of the library's is to be cut; nothing: it is as fast whole.
std::optional<PieceCut> cut_for(DType type, const ProductPlan& plan);
/// Bytes that it takes, the library's own included.
std::size_t pieces_workspace(DType type, const PieceCut& cut, const ProductPlan& plan);
/// Queues it. False: the library knows no way for a piece, and c is to be computed anew.
bool multiply_pieces(Gpu& gpu, DType type, const ProductPlan& plan, const PieceCut& cut,
                     const void* a, const void* b, void* c, std::span<std::byte> workspace);

/// The kernel that copies pieces, for the list of the family.
const TypedKernel& piece_kernel();

}  // namespace tenure::kernels::cuda
