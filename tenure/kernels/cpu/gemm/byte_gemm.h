#pragma once

#include "tenure/kernels/cpu/gemm/gemm.h"

namespace tenure::kernels::byte_gemm {

/// Matrices of int8 or uint8, each of either; their results are int32, or bytes that keep its last
/// eight bits. Sums wrap.
struct Products {
  const GemmBatch& batch;
  const View& a;
  const View& b;
  const View& out;
};

inline bool takes(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

/// Any number of products, without a workspace. Any strides. In byte_gemm.cpp.
void multiply(const Products& products);

}  // namespace tenure::kernels::byte_gemm
