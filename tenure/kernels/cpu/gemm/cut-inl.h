// Lines of matrices, and how they are cut into panels, per instruction set.
#if defined(TENURE_KERNELS_CPU_GEMM_CUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_GEMM_CUT_INL_H_
#undef TENURE_KERNELS_CPU_GEMM_CUT_INL_H_
#else
#define TENURE_KERNELS_CPU_GEMM_CUT_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tenure/kernels/cpu/gemm/pack-inl.h"
#include "tenure/kernels/cpu/gemm/panels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::cut {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using pack::HWY_NAMESPACE::Lines;
using panels::HWY_NAMESPACE::kTileRows;
using panels::HWY_NAMESPACE::kTileWidth;

/// Lines cut into panels: rows into such of nearly the same height, the higher ones first; columns
/// into full ones and the rest. Asked about every tile, it does not divide.
struct Cut {
  bool rows = true;
  std::int64_t lines = 0;
  std::int64_t lanes = 1;
  std::int64_t panels = 0;
  std::int64_t high = 0;    ///< lines of most panels, but for...
  std::int64_t higher = 0;  ///< so many first ones, which have one more

  Cut(bool of_rows, std::int64_t size, std::int64_t vector)
      : rows(of_rows), lines(size), lanes(vector) {
    const std::int64_t most = rows ? kTileRows : kTileWidth * lanes;
    panels = (lines + most - 1) / most;
    high = rows ? lines / panels : most;
    higher = rows ? lines % panels : 0;
  }
  std::int64_t first(std::int64_t panel) const {
    return std::min(lines, panel * high + std::min(panel, higher));
  }
  std::int64_t count(std::int64_t panel) const { return first(panel + 1) - first(panel); }
  /// Elements of a packed term.
  std::int64_t width(std::int64_t panel) const {
    const std::int64_t n = count(panel);
    if (rows) return n;
    return n <= lanes ? lanes : kTileWidth * lanes;
  }
};

/// Lines of one of the matrices, as they lie in memory: of elements that may be narrower than T.
struct Source {
  DType dtype;
  const std::byte* data;
  std::int64_t line, term;  ///< in elements

  Source at(std::int64_t first, std::int64_t k) const {
    const std::int64_t place = first * line + k * term;
    return {dtype, data + place * static_cast<std::int64_t>(size_of(dtype)), line, term};
  }
  template <class T>
  Lines<T> lines() const {
    return {reinterpret_cast<const T*>(data), line, term};
  }
};

/// Columns of b, all of them packed: panel by panel, each with all its elements.
template <class E>
struct PackedColumns {
  const E* data = nullptr;    ///< null: they were not
  std::int64_t elements = 0;  ///< of a column

  /// From element k on; `first` is the panel's first column.
  const E* panel(std::int64_t first, std::int64_t width, std::int64_t k) const {
    return data + first * elements + k * width;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::cut
HWY_AFTER_NAMESPACE();
#endif
