#include "tenure/kernels/cpu/linalg/triangle.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/linalg/triangle.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::linalg {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
class SmallTriangle {
 public:
  SmallTriangle(const Matrix<T>& a, Triangle triangle)
      : a_(a),
        is_upper_(triangle == Triangle::upper || triangle == Triangle::upper_unit),
        is_unit_(triangle == Triangle::lower_unit || triangle == Triangle::upper_unit) {}

  void solve(const Matrix<T>& b) const {
    constexpr int kVectors = 4;
    std::int64_t j = 0;
    for (; j + kVectors * lanes() <= b.columns; j += kVectors * lanes()) {
      solve_strip<kVectors>(b.data + j, b.row_step);
    }
    for (; j + lanes() <= b.columns; j += lanes()) solve_strip<1>(b.data + j, b.row_step);
    if (j < b.columns) solve_rest(b.part(0, j, b.rows, b.columns - j));
  }

 private:
  using D = hn::ScalableTag<T>;

  static std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

  /// Columns in so many vectors, whose rows are `step` apart.
  template <int vectors>
  HWY_INLINE void solve_strip(T* b, std::int64_t step) const {
    const D d;
    const std::int64_t n = a_.rows;
    for (std::int64_t done = 0; done < n; ++done) {
      const std::int64_t i = is_upper_ ? n - 1 - done : done;
      T* const row = b + i * step;
      hn::Vec<D> rest[vectors];
      for (int v = 0; v < vectors; ++v) rest[v] = hn::LoadU(d, row + v * lanes());
      const std::int64_t end = is_upper_ ? n : i;
      for (std::int64_t k = is_upper_ ? i + 1 : 0; k < end; ++k) {
        const auto factor = hn::Set(d, a_(i, k));
        for (int v = 0; v < vectors; ++v) {
          rest[v] = hn::NegMulAdd(factor, hn::LoadU(d, b + k * step + v * lanes()), rest[v]);
        }
      }
      const auto pivot = hn::Set(d, is_unit_ ? T(1) : a_(i, i));
      for (int v = 0; v < vectors; ++v) {
        hn::StoreU(is_unit_ ? rest[v] : hn::Div(rest[v], pivot), d, row + v * lanes());
      }
    }
  }

  /// Columns that do not fill a vector.
  void solve_rest(const Matrix<T>& b) const {
    HWY_ALIGN T numbers[kSmallTriangle * HWY_MAX_BYTES / sizeof(T)] = {};
    const Matrix<T> some{numbers, b.rows, b.columns, lanes(), 1};
    copy_matrix(b, some);
    solve_strip<1>(numbers, lanes());
    copy_matrix(some, b);
  }

  Matrix<T> a_;
  bool is_upper_;
  bool is_unit_;
};

void solve_floats(const Matrix<float>& a, Triangle triangle, const Matrix<float>& b) {
  SmallTriangle<float>(a, triangle).solve(b);
}
void solve_doubles(const Matrix<double>& a, Triangle triangle, const Matrix<double>& b) {
  SmallTriangle<double>(a, triangle).solve(b);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::linalg
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::linalg {

HWY_EXPORT(solve_floats);
HWY_EXPORT(solve_doubles);

template <class T>
void solve_small_triangle(const Matrix<T>& a, Triangle triangle, const Matrix<T>& b) {
  if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(solve_floats)(a, triangle, b);
  } else {
    HWY_DYNAMIC_DISPATCH(solve_doubles)(a, triangle, b);
  }
}

template void solve_small_triangle(const Matrix<float>&, Triangle, const Matrix<float>&);
template void solve_small_triangle(const Matrix<double>&, Triangle, const Matrix<double>&);

}  // namespace tenure::kernels::linalg
#endif
