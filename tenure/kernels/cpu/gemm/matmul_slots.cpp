#include "tenure/kernels/cpu/gemm/gemm.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/linalg/matrices.h"

namespace tenure::kernels {
namespace {

using ops::FusedNeighbours;
using ops::Kernel;
using ops::LayoutRef;

struct MatmulSlot {
  static std::size_t workspace(const Kernel& k) {
    if (!has_vector(k)) return matmul_workspace(k.in[0], k.in[1], k.out[0]);
    const View a = ops::as_matrix(k.in[0], 0);
    const View b = ops::as_matrix(k.in[1], 1);
    return matmul_workspace(a, b, output_of(a, b, k.out[0]));
  }
  static void run(const Kernel& k) { multiply(k, nullptr); }
  static void run_fused(const Kernel& k, const FusedNeighbours& neighbours) {
    multiply(k, neighbours.after == nullptr ? nullptr : &neighbours);
  }
  static void multiply(const Kernel& k, const FusedNeighbours* after,
                       const std::byte* packed = nullptr) {
    if (!has_vector(k)) return matmul(k.in[0], k.in[1], k.out[0], k.workspace, after, packed);
    const View a = ops::as_matrix(k.in[0], 0);
    const View b = ops::as_matrix(k.in[1], 1);
    matmul(a, b, output_of(a, b, k.out[0]), k.workspace, after);
  }
  /// Of matrices alone: there a row of the result is one of the product.
  static bool leads_loop(const Kernel& k) {
    return !has_vector(k) &&
           matmul_leads_loop(k.in[0], k.in[1],
                             output_of(k.in[0], k.in[1], {.dtype = k.in[0].dtype}));
  }
  static constexpr ops::FusingKernel fusing{.leads_loop = leads_loop, .run = run_fused};

  /// Of matrices alone: a vector passes by every element of a matrix once.
  static std::size_t packed_bytes(const Kernel& k) {
    return has_vector(k) ? 0 : matmul_packed_bytes(k.in[0], k.in[1], k.out[0]);
  }
  static void run_packed(const Kernel& k, const std::byte* packed,
                         const FusedNeighbours& neighbours) {
    multiply(k, neighbours.after == nullptr ? nullptr : &neighbours, packed);
  }
  static constexpr ops::PackingKernel packing{
      .input = 1, .bytes = packed_bytes, .pack = matmul_pack, .run = run_packed};

  static bool has_vector(const Kernel& k) {
    return k.in[0].shape.size() == 1 || k.in[1].shape.size() == 1;
  }
  static View output_of(const View& a, const View& b, View out) {
    out.shape = ops::matrix_shape(a.shape, b.shape);
    out.strides = contiguous_strides(out.shape);
    return out;
  }

  /// Two small matrices. What it does not take, or is wrong, goes the general way.
  static bool infer_direct(const LayoutRef& a, const LayoutRef& b, Shape& shape) {
    if (a.shape.size() != 2 || b.shape.size() != 2 || a.dtype != b.dtype) return false;
    const Gemm gemm = gemm_of(a, b);
    if (gemm.k != b.shape[0] || !plain_gemm_takes(a.dtype, gemm)) return false;
    shape.push_back(gemm.m);
    shape.push_back(gemm.n);
    return true;
  }
  static void run_direct(const LayoutRef& a, const void* a_data, const LayoutRef& b,
                         const void* b_data, void* out) {
    plain_gemm(a.dtype, gemm_of(a, b), a_data, b_data, out);
  }
  static Gemm gemm_of(const LayoutRef& a, const LayoutRef& b) {
    return {.m = a.shape[0],
            .n = b.shape[1],
            .k = a.shape[1],
            .a_row = a.strides[0],
            .a_column = a.strides[1],
            .b_row = b.strides[0],
            .b_column = b.strides[1],
            .c_row = b.shape[1]};
  }
  static constexpr ops::DirectKernel direct{.infer = infer_direct, .run = run_direct};
};

struct IntegerMatmulSlot {
  static void run(const Kernel& k) { MatmulSlot::run(k); }
};

}  // namespace

std::vector<KernelRow> matmul_kernels() {
  return {kernel_row<MatmulSlot>("matmul"), kernel_row<IntegerMatmulSlot>("integer_matmul")};
}

}  // namespace tenure::kernels
