#pragma once

#include <cstddef>
#include <span>

#include "tenure/kernels/cuda/products/plan.h"
#include "tenure/tensor/dtype.h"

// Products by cuBLASLt, where it is there and takes them. Sums are of float32, or of float64 for
// elements of it; no operand is rounded to fewer bits than it has, unless cuda_tf32() allows it.

namespace tenure::kernels::cuda {

class Gpu;

/// Whether the library is there and takes a product: elements that it knows, rows or columns that
/// lie behind each other.
bool library_multiplies(DType type, const ProductPlan& plan);
/// Bytes that it may use for these. They depend on shapes alone.
std::size_t library_workspace(const ProductPlan& plan);
/// One of the library's.
struct LibraryProduct {
  const char* op = "matmul";
  DType type;
  DType out;  ///< of the results: `type`, or float32 for 16-bit floats
  ProductPlan plan;
  bool adds = false;  ///< to what the results are before
};
/// Queues it. False: the library knows no way for it. Throws DeviceError.
bool library_multiply(Gpu& gpu, const LibraryProduct& product, const void* a, const void* b,
                      void* c, std::span<std::byte> workspace);

}  // namespace tenure::kernels::cuda
