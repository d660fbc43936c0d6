#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tenure/kernels/cuda/products/library_product.h"
#include "tenure/kernels/cuda/products/plan.h"
#include "tenure/tensor/dtype.h"

// Note: sizes that are no multiples of 16 bytes
//
// The library looks at sizes, too, when it chooses a way to multiply 16-bit floats: where the axis
// along which a matrix lies has 50,257 elements, it takes the slow way even if all rows begin at
// multiples of 16 bytes. So a large product is cut there: 50,256 of that axis, and one. Along what
// is summed over, the rest comes first, and the others are added to it: they are rounded once.

namespace tenure::kernels::cuda {

class Gpu;

/// A product that is a part of another: where it begins in its matrices, in elements.
struct ProductPart {
  ProductPlan plan;
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t c = 0;
  bool adds = false;  ///< to what parts before it have left there
};

/// What a product consists of, in order. One part: it is not cut.
std::vector<ProductPart> even_parts(DType type, const ProductPlan& plan);
/// Bytes that the library may use for these.
std::size_t even_workspace(DType type, const ProductPlan& plan);
/// Queues them. False: the library knows no way for one, and c is to be computed anew.
bool multiply_evenly(Gpu& gpu, const LibraryProduct& product, const void* a, const void* b, void* c,
                     std::span<std::byte> workspace);

}  // namespace tenure::kernels::cuda
