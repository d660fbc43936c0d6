#include <algorithm>

#include "tenure/base/units.h"
#include "tenure/kernels/cpu/gemm/packed_gemm.h"

namespace tenure::kernels {
namespace {

/// Of the columns of a tile: two of the widest vectors.
constexpr std::size_t kTileBytes = 128;

std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

}  // namespace

Residence::Residence(const Gemm& shape, std::int64_t batch, std::size_t element) {
  const auto most = static_cast<std::int64_t>(kBytes / element);
  // Columns fill up the widest vectors, two at a time; on every machine, that plans are the same.
  const auto fill = static_cast<std::int64_t>(kTileBytes / element);
  // Panels of b are wider than those of a, and so fewer pass by; unless b is small. Rows whose
  // terms are neighbours pass by as they are, and do so where there are many: even as many as
  // columns that would have to be turned, which others are not, as they are packed beside tiles.
  const std::int64_t wide = shape.b_row == 1 ? shape.n : 2 * shape.n;
  const bool as_they_are = shape.a_column == 1 && shape.m >= wide;
  rows = !as_they_are && (shape.n > 4 * fill || shape.m <= shape.n);
  const std::int64_t all = rows ? shape.m : shape.n;
  const auto padded = [&](std::int64_t n) { return rows ? n : divide_up(n, fill) * fill; };
  const std::int64_t most_lines = most / kGemmDepth;
  lines = all <= most_lines
              ? all
              : std::min(all, divide_up(divide_up(all, divide_up(all, most_lines)), fill) * fill);
  const std::int64_t deep = most / padded(lines) / kGemmDepth * kGemmDepth;
  depth = std::min(shape.k, std::max(deep, kGemmDepth));
  elements = padded(lines) * depth;
  if (lines == all && depth == shape.k) {
    products = std::clamp<std::int64_t>(most / elements, 1, batch);
  }
}

Gemm padded_terms(DType dtype, Gemm shape) {
  if (dtype == DType::bfloat16) shape.k += shape.k % 2;
  return shape;
}

std::size_t packed_gemm_workspace(DType dtype, const GemmBatch& batch) {
  const std::size_t element = std::max(size_of(dtype), sizeof(float));
  const Gemm shape = padded_terms(dtype, batch.gemm);
  return round_up(Residence(shape, batch.size, element).bytes(element), 64);
}

std::size_t packed_columns_bytes(DType dtype, const Gemm& shape) {
  const std::size_t element = std::max(size_of(dtype), sizeof(float));
  const std::size_t line = round_up(static_cast<std::size_t>(shape.n) * element, kTileBytes);
  return line * static_cast<std::size_t>(padded_terms(dtype, shape).k);
}

}  // namespace tenure::kernels
