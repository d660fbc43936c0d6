#include "tenure/kernels/cpu/norm/norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/norm/rows.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tenure/kernels/cpu/norm/parts.h"
#include "tenure/kernels/cpu/norm/sum-inl.h"
#include "tenure/kernels/cpu/reduce/chains-inl.h"
#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::norm {
namespace HWY_NAMESPACE {
namespace {

template <class T>
struct Statistics {
  T mean;
  T scale;  // 1 / the deviation
};

template <class T>
HWY_INLINE Statistics<T> statistics_of(const Normalization& n, const T* x) {
  const auto count = static_cast<T>(n.columns);
  T mean = 0;
  if (!n.rms) {
    mean = sum_over(
               n.columns, [x](auto d, std::int64_t i) HWY_ATTR { return load(d, x + i); },
               TypeOf<T>()) /
           count;
  }
  const T squares = sum_over(
      n.columns,
      [x, mean](auto d, std::int64_t i) HWY_ATTR {
        const auto deviation = hn::Sub(load(d, x + i), hn::Set(d, mean));
        return hn::Mul(deviation, deviation);
      },
      TypeOf<T>());
  return {mean, T{1} / std::sqrt(squares / count + static_cast<T>(n.epsilon))};
}

template <class T>
void rows(const Normalization& n, const void* px, const void* pw, const void* pb, void* py,
          std::int64_t begin, std::int64_t end) {
  const auto* const w = static_cast<const T*>(pw);
  const auto* const b = static_cast<const T*>(pb);
  for (std::int64_t r = begin; r < end; ++r) {
    const T* const x = static_cast<const T*>(px) + r * n.columns;
    T* const y = static_cast<T*>(py) + r * n.columns;
    const Statistics<T> s = statistics_of(n, x);
    for_vectors<T>(n.columns, [&](auto d, std::int64_t i) HWY_ATTR {
      auto v = hn::Mul(hn::Sub(load(d, x + i), hn::Set(d, s.mean)), hn::Set(d, s.scale));
      if (w != nullptr) v = hn::Mul(v, load(d, w + i));
      if (b != nullptr) v = hn::Add(v, load(d, b + i));
      store(v, d, y + i);
    });
  }
}

/// The gradients of kRows rows from `first` on: what is known of one is computed while others wait,
/// and sums over rows are read and written once for all of them. Each has the bits that it has
/// alone.
template <class T, int kRows>
HWY_INLINE void some_rows_gradient(const Normalization& n, const T* px, const T* pdy, const T* w,
                                   T* pdx, T* dw, T* db, std::int64_t first) {
  const auto count = static_cast<T>(n.columns);
  const T* x[kRows];
  const T* dy[kRows];
  T* dx[kRows];
  T mean[kRows] = {};
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    x[r] = px + (first + r) * n.columns;
    dy[r] = pdy + (first + r) * n.columns;
    dx[r] = pdx + (first + r) * n.columns;
    if (n.rms) continue;
    mean[r] =
        sum_over(
            n.columns, [from = x[r]](auto d, std::int64_t i) HWY_ATTR { return load(d, from + i); },
            TypeOf<T>()) /
        count;
  }
  const auto weighted = [&](auto d, int r, std::int64_t i) HWY_ATTR {
    return w == nullptr ? load(d, dy[r] + i) : hn::Mul(load(d, dy[r] + i), load(d, w + i));
  };
  T scale[kRows];
  T along[kRows];
  T level[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    Sum<T> squares;
    Sum<T> products;
    Sum<T> sums;
    for_sums<T>(n.columns, [&](auto d, std::int64_t i, int turn) HWY_ATTR {
      const auto deviation = hn::Sub(load(d, x[r] + i), hn::Set(d, mean[r]));
      const auto g = weighted(d, r, i);
      squares.add(turn, d, hn::Mul(deviation, deviation));
      products.add(turn, d, hn::Mul(g, deviation));
      sums.add(turn, d, g);
    });
    scale[r] = T{1} / std::sqrt(squares.total() / count + static_cast<T>(n.epsilon));
    along[r] = products.total() * scale[r] / count;
    level[r] = n.rms ? T{0} : sums.total() / count;
  }
  for_vectors<T>(n.columns, [&](auto d, std::int64_t i) HWY_ATTR {
    auto sum_w = dw == nullptr ? hn::Zero(d) : load(d, dw + i);
    auto sum_b = db == nullptr ? hn::Zero(d) : load(d, db + i);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const auto x_hat =
          hn::Mul(hn::Sub(load(d, x[r] + i), hn::Set(d, mean[r])), hn::Set(d, scale[r]));
      const auto g = load(d, dy[r] + i);
      // The next rows come while these are written: systems fetch ahead within pages alone.
      hwy::Prefetch(x[r] + kRows * n.columns + i);
      hwy::Prefetch(dy[r] + kRows * n.columns + i);
      sum_w = hn::MulAdd(g, x_hat, sum_w);
      sum_b = hn::Add(g, sum_b);
      auto v = hn::Sub(weighted(d, r, i), hn::Set(d, level[r]));
      v = hn::NegMulAdd(x_hat, hn::Set(d, along[r]), v);
      store(hn::Mul(v, hn::Set(d, scale[r])), d, dx[r] + i);
    }
    if (dw != nullptr) store(sum_w, d, dw + i);
    if (db != nullptr) store(sum_b, d, db + i);
  });
}

template <class T>
void rows_gradient(const Normalization& n, const void* pdy, const void* px, const void* pw,
                   void* pdx, T* dw, T* db, std::int64_t begin, std::int64_t end) {
  constexpr int kTogether = 4;
  const auto run = [&](auto rows_at_once, std::int64_t first) HWY_ATTR {
    some_rows_gradient<T, rows_at_once()>(n, static_cast<const T*>(px), static_cast<const T*>(pdy),
                                          static_cast<const T*>(pw), static_cast<T*>(pdx), dw, db,
                                          first);
  };
  std::int64_t r = begin;
  for (; r + kTogether <= end; r += kTogether) run(std::integral_constant<int, kTogether>(), r);
  for (; r < end; ++r) run(std::integral_constant<int, 1>(), r);
}

template <class T>
void all_rows_gradient(const Normalization& n, const void* dy, const void* x, const void* w,
                       void* dx, T* dw, T* db, std::byte* room) {
  using reduce::HWY_NAMESPACE::add_chains;
  using reduce::HWY_NAMESPACE::kChain;
  const std::int64_t part = rows_per_part(n.rows);
  const std::int64_t parts = parts_of(n.rows);
  const bool sums = dw != nullptr || db != nullptr;
  auto* const totals = reinterpret_cast<double*>(room);  // of each part: those of dw, those of db
  auto* const chains = reinterpret_cast<T*>(totals + 2 * parts * n.columns);
  parallel_for(parts, grain_of(part * n.columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      T* const own = chains + 2 * p * n.columns;
      double* const total = totals + 2 * p * n.columns;
      // By the thread that adds to it: what another has written would have to come from its cache.
      if (sums) std::fill_n(own, 2 * n.columns, T{0});
      if (sums) std::fill_n(total, 2 * n.columns, 0.0);
      const std::int64_t last = std::min(n.rows, (p + 1) * part);
      for (std::int64_t r = p * part; r < last; r += kChain) {
        rows_gradient<T>(n, dy, x, w, dx, dw == nullptr ? nullptr : own,
                         db == nullptr ? nullptr : own + n.columns, r, std::min(last, r + kChain));
        if (sums) add_chains(own, total, 2 * n.columns);
      }
    }
  });
  for (T* const to : {dw, db}) {
    if (to == nullptr) continue;
    double* const sum = totals + (to == db ? n.columns : 0);
    reduce::HWY_NAMESPACE::add_parts(sum, n.columns, parts, 2 * n.columns);
    for (std::int64_t i = 0; i < n.columns; ++i) to[i] = parts == 0 ? T{0} : static_cast<T>(sum[i]);
  }
}

void run_rows(const Normalization& n, DType dtype, const void* x, const void* w, const void* b,
              void* y, std::int64_t begin, std::int64_t end) {
  if (dtype == DType::float32) return rows<float>(n, x, w, b, y, begin, end);
  rows<double>(n, x, w, b, y, begin, end);
}

void run_rows_gradient(const Normalization& n, DType dtype, const void* dy, const void* x,
                       const void* w, void* dx, void* dw, void* db, std::byte* room) {
  if (dtype == DType::float32) {
    return all_rows_gradient(n, dy, x, w, dx, static_cast<float*>(dw), static_cast<float*>(db),
                             room);
  }
  all_rows_gradient(n, dy, x, w, dx, static_cast<double*>(dw), static_cast<double*>(db), room);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::norm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {
namespace norm {
namespace {
HWY_EXPORT(run_rows);
HWY_EXPORT(run_rows_gradient);
}  // namespace
}  // namespace norm

void normalize_rows(const Normalization& n, DType dtype, const void* x, const void* weight,
                    const void* bias, void* y) {
  using namespace norm;
  const auto part = HWY_DYNAMIC_DISPATCH(run_rows);
  parallel_for(n.rows, grain_of(n.columns), [&](std::int64_t begin, std::int64_t end) {
    part(n, dtype, x, weight, bias, y, begin, end);
  });
}

void normalize_rows_gradient(const Normalization& n, DType dtype, const void* dy, const void* x,
                             const void* weight, void* dx, void* dweight, void* dbias,
                             std::span<std::byte> workspace) {
  using namespace norm;
  HWY_DYNAMIC_DISPATCH(run_rows_gradient)
  (n, dtype, dy, x, weight, dx, dweight, dbias, workspace.data());
}

std::size_t normalize_rows_gradient_workspace(const Normalization& n, DType dtype) {
  return static_cast<std::size_t>(2 * norm::parts_of(n.rows) * n.columns) *
         (sizeof(double) + size_of(dtype));
}

}  // namespace tenure::kernels
#endif
