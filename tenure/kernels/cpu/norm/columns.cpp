#include "tenure/kernels/cpu/norm/norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/norm/columns.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "tenure/kernels/cpu/norm/parts.h"
#include "tenure/kernels/cpu/norm/sum-inl.h"
#include "tenure/kernels/cpu/reduce/chains-inl.h"
#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::norm {
namespace HWY_NAMESPACE {
namespace {

template <class T>
class ColumnNorm {
 public:
  ColumnNorm(const Normalization& n, const void* x, std::byte* room)
      : n_(n),
        x_(static_cast<const T*>(x)),
        totals_(reinterpret_cast<double*>(room)),
        chains_(reinterpret_cast<T*>(totals_ + parts_of(n.rows) * n.columns)),
        scale_(chains_ + parts_of(n.rows) * n.columns),
        first_(scale_ + n.columns),
        second_(first_ + n.columns) {}

  void statistics(T* mean, T* variance) const {
    if (n_.rows == 0) return;
    // Differences from the first row are small if the deviation is small against the mean.
    sum_rows(mean, [&](std::int64_t r, T* to) { add_difference(row(x_, r), x_, to); });
    const T count = static_cast<T>(n_.rows);
    for (std::int64_t i = 0; i < n_.columns; ++i) mean[i] = x_[i] + mean[i] / count;
    sum_rows(variance, [&](std::int64_t r, T* to) { add_squares(row(x_, r), mean, to); });
    for (std::int64_t i = 0; i < n_.columns; ++i) {
      variance[i] /= count;
      scale_[i] = T{1} / std::sqrt(variance[i] + static_cast<T>(n_.epsilon));
    }
  }

  void forward(const T* w, const T* b, T* y, T* mean, T* variance) const {
    statistics(mean, variance);
    // y = x factor + shift
    for (std::int64_t i = 0; i < n_.columns; ++i) {
      first_[i] = scale_[i] * (w == nullptr ? T{1} : w[i]);
      second_[i] = b == nullptr ? T{0} : b[i];
    }
    parallel_for(n_.rows, grain_of(n_.columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) scale_row(row(x_, r), mean, y + r * n_.columns);
    });
  }

  void backward(const T* dy, const T* w, T* dx, T* dw, T* db) const {
    statistics(first_, second_);
    const T* const mean = first_;
    sum_rows(db, [&](std::int64_t r, T* to) { add(row(dy, r), to); });
    sum_rows(dw, [&](std::int64_t r, T* to) { add_products(row(dy, r), row(x_, r), mean, to); });
    const T count = static_cast<T>(n_.rows);
    parallel_for(n_.rows, grain_of(n_.columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        gradient_row(row(dy, r), row(x_, r), w, mean, dw, db, T{1} / count, dx + r * n_.columns);
      }
    });
  }

 private:
  const T* row(const T* x, std::int64_t r) const { return x + r * n_.columns; }

  /// `add_row(r, sums)` for all rows.
  template <class F>
  void sum_rows(T* to, const F& add_row) const {
    const std::int64_t part = rows_per_part(n_.rows);
    const std::int64_t parts = parts_of(n_.rows);
    std::fill_n(totals_, parts * n_.columns, 0.0);
    std::fill_n(chains_, parts * n_.columns, T{0});
    using reduce::HWY_NAMESPACE::add_chains;
    using reduce::HWY_NAMESPACE::kChain;
    parallel_for(parts, grain_of(part * n_.columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        T* const chains = chains_ + p * n_.columns;
        const std::int64_t last = std::min(n_.rows, (p + 1) * part);
        for (std::int64_t r = p * part; r < last; r += kChain) {
          for (std::int64_t i = r; i < std::min(last, r + kChain); ++i) add_row(i, chains);
          add_chains(chains, totals_ + p * n_.columns, n_.columns);
        }
      }
    });
    reduce::HWY_NAMESPACE::add_parts(totals_, n_.columns, parts, n_.columns);
    for (std::int64_t i = 0; i < n_.columns; ++i) {
      to[i] = parts == 0 ? T{0} : static_cast<T>(totals_[i]);
    }
  }

  void add(const T* x, T* to) const {
    for_vectors<T>(n_.columns, [=](auto d, std::int64_t i) HWY_ATTR {
      store(hn::Add(load(d, to + i), load(d, x + i)), d, to + i);
    });
  }
  void add_difference(const T* x, const T* from, T* to) const {
    for_vectors<T>(n_.columns, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto difference = hn::Sub(load(d, x + i), load(d, from + i));
      store(hn::Add(load(d, to + i), difference), d, to + i);
    });
  }
  void add_squares(const T* x, const T* mean, T* to) const {
    for_vectors<T>(n_.columns, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto deviation = hn::Sub(load(d, x + i), load(d, mean + i));
      store(hn::MulAdd(deviation, deviation, load(d, to + i)), d, to + i);
    });
  }
  void add_products(const T* dy, const T* x, const T* mean, T* to) const {
    const T* const scale = scale_;
    for_vectors<T>(n_.columns, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto x_hat = hn::Mul(hn::Sub(load(d, x + i), load(d, mean + i)), load(d, scale + i));
      store(hn::MulAdd(load(d, dy + i), x_hat, load(d, to + i)), d, to + i);
    });
  }
  void scale_row(const T* x, const T* mean, T* y) const {
    const T* const factor = first_;
    const T* const shift = second_;
    for_vectors<T>(n_.columns, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto deviation = hn::Sub(load(d, x + i), load(d, mean + i));
      store(hn::MulAdd(deviation, load(d, factor + i), load(d, shift + i)), d, y + i);
    });
  }
  void gradient_row(const T* dy, const T* x, const T* w, const T* mean, const T* dw, const T* db,
                    T per_row, T* dx) const {
    const T* const scale = scale_;
    for_vectors<T>(n_.columns, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto s = load(d, scale + i);
      const auto x_hat = hn::Mul(hn::Sub(load(d, x + i), load(d, mean + i)), s);
      const auto along = hn::MulAdd(x_hat, load(d, dw + i), load(d, db + i));
      auto v = hn::Mul(hn::NegMulAdd(along, hn::Set(d, per_row), load(d, dy + i)), s);
      if (w != nullptr) v = hn::Mul(v, load(d, w + i));
      store(v, d, dx + i);
    });
  }

  const Normalization& n_;
  const T* x_;
  double* totals_;  // of each part
  T* chains_;
  T* scale_;
  T* first_;
  T* second_;
};

template <class T>
void forward(const Normalization& n, const void* x, const void* w, const void* b, void* y,
             void* mean, void* variance, std::byte* room) {
  ColumnNorm<T>(n, x, room)
      .forward(static_cast<const T*>(w), static_cast<const T*>(b), static_cast<T*>(y),
               static_cast<T*>(mean), static_cast<T*>(variance));
}
template <class T>
void backward(const Normalization& n, const void* dy, const void* x, const void* w, void* dx,
              void* dw, void* db, std::byte* room) {
  ColumnNorm<T>(n, x, room)
      .backward(static_cast<const T*>(dy), static_cast<const T*>(w), static_cast<T*>(dx),
                static_cast<T*>(dw), static_cast<T*>(db));
}

void run_columns(const Normalization& n, DType dtype, const void* x, const void* w, const void* b,
                 void* y, void* mean, void* variance, std::byte* room) {
  if (dtype == DType::float32) return forward<float>(n, x, w, b, y, mean, variance, room);
  forward<double>(n, x, w, b, y, mean, variance, room);
}
void run_columns_gradient(const Normalization& n, DType dtype, const void* dy, const void* x,
                          const void* w, void* dx, void* dw, void* db, std::byte* room) {
  if (dtype == DType::float32) return backward<float>(n, dy, x, w, dx, dw, db, room);
  backward<double>(n, dy, x, w, dx, dw, db, room);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::norm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {
namespace norm {
namespace {
HWY_EXPORT(run_columns);
HWY_EXPORT(run_columns_gradient);
}  // namespace
}  // namespace norm

void normalize_columns(const Normalization& n, DType dtype, const void* x, const void* weight,
                       const void* bias, void* y, void* mean, void* variance,
                       std::span<std::byte> workspace) {
  using namespace norm;
  HWY_DYNAMIC_DISPATCH(run_columns)
  (n, dtype, x, weight, bias, y, mean, variance, workspace.data());
}

void normalize_columns_gradient(const Normalization& n, DType dtype, const void* dy, const void* x,
                                const void* weight, void* dx, void* dweight, void* dbias,
                                std::span<std::byte> workspace) {
  using namespace norm;
  HWY_DYNAMIC_DISPATCH(run_columns_gradient)
  (n, dtype, dy, x, weight, dx, dweight, dbias, workspace.data());
}

std::size_t normalize_columns_workspace(const Normalization& n, DType dtype) {
  const auto sums = static_cast<std::size_t>(norm::parts_of(n.rows) * n.columns);
  return sums * (sizeof(double) + size_of(dtype)) +
         static_cast<std::size_t>(3 * n.columns) * size_of(dtype);
}

}  // namespace tenure::kernels
#endif
