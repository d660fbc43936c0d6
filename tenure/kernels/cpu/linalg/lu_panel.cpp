#include "tenure/kernels/cpu/linalg/lu_panel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/linalg/lu_panel.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

// A panel is worked on in a copy that has its columns behind each other, so that vectors go along
// them. Behind each column are zeros, which a last vector may reach into: what becomes of them is
// never larger than a number of the column.

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::linalg {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
class LuPanel {
 public:
  LuPanel(T* columns, std::int64_t step, std::int64_t rows, std::int64_t count)
      : columns_(columns), step_(step), rows_(rows), count_(count) {}

  std::int64_t factor(std::int64_t* pivots) const {
    std::int64_t zero = -1;
    for (std::int64_t j = 0; j < count_; ++j) {
      pivots[j] = pivot(j);
      swap_rows(j, pivots[j]);
      if (column(j)[j] != 0) {
        eliminate(j);
      } else if (zero < 0) {
        zero = j;
      }
    }
    return zero;
  }

 private:
  using D = hn::ScalableTag<T>;

  T* column(std::int64_t j) const { return columns_ + j * step_; }
  static std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

  /// The first row from `j` on with the number of largest size in column j. A number that is none
  /// is not larger than others.
  std::int64_t pivot(std::int64_t j) const {
    const D d;
    const T* const numbers = column(j);
    auto most = hn::Zero(d);
    for (std::int64_t i = j; i < rows_; i += lanes()) {
      const auto size = hn::Abs(hn::LoadU(d, numbers + i));
      most = hn::IfThenElse(hn::Gt(size, most), size, most);
    }
    const T largest = hn::GetLane(hn::MaxOfLanes(d, most));
    if (largest == 0) return j;
    const auto sizes = hn::Set(d, largest);
    for (std::int64_t i = j;; i += lanes()) {
      const auto is_largest = hn::Eq(hn::Abs(hn::LoadU(d, numbers + i)), sizes);
      const std::intptr_t first = hn::FindFirstTrue(d, is_largest);
      if (first >= 0) return i + first;
    }
  }

  void swap_rows(std::int64_t i, std::int64_t other) const {
    if (i == other) return;
    for (std::int64_t k = 0; k < count_; ++k) std::swap(column(k)[i], column(k)[other]);
  }

  /// Divides what is below pivot j by it, and subtracts that from the columns behind.
  void eliminate(std::int64_t j) const {
    const D d;
    const auto pivot = hn::Set(d, column(j)[j]);
    const std::int64_t behind = count_ - j - 1;
    T* to[kPanel];
    hn::Vec<D> top[kPanel];
    for (std::int64_t k = 0; k < behind; ++k) {
      to[k] = column(j + 1 + k);
      top[k] = hn::Set(d, to[k][j]);
    }
    T* const factors = column(j);
    for (std::int64_t i = j + 1; i < rows_; i += lanes()) {
      const auto factor = hn::Div(hn::LoadU(d, factors + i), pivot);
      hn::StoreU(factor, d, factors + i);
      for (std::int64_t k = 0; k < behind; ++k) {
        hn::StoreU(hn::NegMulAdd(factor, top[k], hn::LoadU(d, to[k] + i)), d, to[k] + i);
      }
    }
  }

  T* columns_;
  std::int64_t step_;
  std::int64_t rows_;
  std::int64_t count_;
};

std::int64_t factor_floats(float* columns, std::int64_t step, std::int64_t rows, std::int64_t count,
                           std::int64_t* pivots) {
  return LuPanel<float>(columns, step, rows, count).factor(pivots);
}
std::int64_t factor_doubles(double* columns, std::int64_t step, std::int64_t rows,
                            std::int64_t count, std::int64_t* pivots) {
  return LuPanel<double>(columns, step, rows, count).factor(pivots);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::linalg
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::linalg {

HWY_EXPORT(factor_floats);
HWY_EXPORT(factor_doubles);

namespace {

/// From column to column: a vector of any CPU fits behind the last row.
template <class T>
std::int64_t step_of(std::int64_t rows) {
  constexpr std::int64_t kLongest = 64;  // bytes
  return spread(rows + kLongest / static_cast<std::int64_t>(sizeof(T)));
}

}  // namespace

template <class T>
std::int64_t lu_panel_room(std::int64_t rows) {
  return kPanel * step_of<T>(rows);
}

template <class T>
std::int64_t lu_panel(const Matrix<T>& a, std::int64_t* pivots, T* room) {
  const std::int64_t step = step_of<T>(a.rows);
  const Matrix<T> columns{room, a.rows, a.columns, 1, step};
  copy_matrix(a, columns);
  for (std::int64_t j = 0; j < a.columns; ++j) {
    std::fill(&columns(a.rows - 1, j) + 1, room + (j + 1) * step, T(0));
  }
  std::int64_t zero = -1;
  if constexpr (std::is_same_v<T, float>) {
    zero = HWY_DYNAMIC_DISPATCH(factor_floats)(room, step, a.rows, a.columns, pivots);
  } else {
    zero = HWY_DYNAMIC_DISPATCH(factor_doubles)(room, step, a.rows, a.columns, pivots);
  }
  copy_matrix(columns, a);
  return zero;
}

template std::int64_t lu_panel_room<float>(std::int64_t);
template std::int64_t lu_panel_room<double>(std::int64_t);
template std::int64_t lu_panel(const Matrix<float>&, std::int64_t*, float*);
template std::int64_t lu_panel(const Matrix<double>&, std::int64_t*, double*);

}  // namespace tenure::kernels::linalg
#endif
