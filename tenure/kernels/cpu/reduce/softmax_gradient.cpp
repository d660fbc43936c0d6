#include "tenure/kernels/cpu/reduce/reduce.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/reduce/softmax_gradient.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "tenure/kernels/cpu/elementwise/lanes-inl.h"
#include "tenure/kernels/parallel.h"

// Each column along the axis is read twice, the second time out of the cache: for its sum, and for
// the result.

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace {

/// y (dy - sum(dy y))
struct OfSoftmax {
  template <class T>
  static HWY_INLINE Vec<T> term(Vec<T> dy, Vec<T> y) {
    return dy * y;
  }
  template <class T>
  static HWY_INLINE Vec<T> result(Vec<T> dy, Vec<T> y, Vec<T> sum) {
    return y * (dy - sum);
  }
};

/// dy - exp(y) sum(dy)
struct OfLogSoftmax {
  template <class T>
  static HWY_INLINE Vec<T> term(Vec<T> dy, Vec<T>) {
    return dy;
  }
  template <class T>
  static HWY_INLINE Vec<T> result(Vec<T> dy, Vec<T> y, Vec<T> sum) {
    return dy - exp(y) * sum;
  }
};

template <class F, class T>
T row_sum(const T* dy, const T* y, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto chunk = static_cast<std::int64_t>(kTerms * hn::Lanes(d));
  double sum = 0;
  for (std::int64_t begin = 0; begin < n; begin += chunk) {
    Vec<T> terms(0);
    for_each_vector<T>(
        std::min(chunk, n - begin),
        [&](std::int64_t i)
            HWY_ATTR { terms = terms + F::term(load(dy + begin + i), load(y + begin + i)); },
        [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
          terms = terms + F::term(load_some(dy + begin + i, rest), load_some(y + begin + i, rest));
        });
    sum += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, terms.raw)));
  }
  return static_cast<T>(sum);
}

/// Writes the result for `n` elements that lie side by side; `sum_of(i)` are the sums of those from
/// element i on.
template <class F, class T, class Sums>
HWY_INLINE void write(const T* dy, const T* y, std::int64_t n, T* dx, const Sums& sum_of) {
  for_each_vector<T>(
      n,
      [&](std::int64_t i)
          HWY_ATTR { store(F::result(load(dy + i), load(y + i), sum_of(i)), dx + i); },
      [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
        const Vec<T> result = F::result(load_some(dy + i, rest), load_some(y + i, rest), sum_of(i));
        store_some(result, dx + i, rest);
      });
}

constexpr std::int64_t kColumns = 1024;   ///< that are worked on together at most
constexpr std::int64_t kColumnStep = 64;  ///< whole vectors
constexpr std::int64_t kGrain = 1 << 14;

/// `length` rows of `width` columns, `stride` apart.
template <class F, class T>
void apply_to_columns(const T* dy, const T* y, std::int64_t length, std::int64_t stride,
                      std::int64_t width, T* dx) {
  double sums[kColumns] = {};
  T few[kColumns + HWY_MAX_BYTES / sizeof(T)];  // of few rows; padded by a vector
  for (std::int64_t begin = 0; begin < length; begin += kTerms) {
    const std::int64_t end = std::min<std::int64_t>(begin + kTerms, length);
    std::fill(std::begin(few), std::end(few), T{0});
    for (std::int64_t r = begin; r < end; ++r) {
      const T* const a = dy + r * stride;
      const T* const b = y + r * stride;
      for_each_vector<T>(
          width,
          [&](std::int64_t i)
              HWY_ATTR { store(load(few + i) + F::term(load(a + i), load(b + i)), few + i); },
          [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
            store(load(few + i) + F::term(load_some(a + i, rest), load_some(b + i, rest)), few + i);
          });
    }
    for (std::int64_t i = 0; i < width; ++i) sums[i] += static_cast<double>(few[i]);
  }
  std::copy_n(sums, width, few);
  for (std::int64_t r = 0; r < length; ++r) {
    write<F>(dy + r * stride, y + r * stride, width, dx + r * stride,
             [&](std::int64_t i) HWY_ATTR { return load(few + i); });
  }
}

/// `outer` times `length` rows of `inner` columns.
template <class F, class T>
void apply(const T* dy, const T* y, std::int64_t outer, std::int64_t length, std::int64_t inner,
           T* dx) {
  if (inner == 1) {
    parallel_for(outer, (kGrain - 1) / length + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t at = r * length;
        const Vec<T> sum(row_sum<F>(dy + at, y + at, length));
        write<F>(dy + at, y + at, length, dx + at, [&](std::int64_t) HWY_ATTR { return sum; });
      }
    });
    return;
  }
  // Wide blocks, that rows are read in one go; but one for each thread. Whatever their width, the
  // columns that do not fill a vector are the last ones.
  const std::int64_t parts = outer > 1 ? 1 : num_threads();
  const std::int64_t share = ((inner - 1) / (parts * kColumnStep) + 1) * kColumnStep;
  const std::int64_t width = std::min({inner, share, kColumns});
  const std::int64_t blocks = (inner - 1) / width + 1;
  parallel_for(outer * blocks, (kGrain - 1) / (length * width) + 1,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t column = i % blocks * width;
                   const std::int64_t at = i / blocks * length * inner + column;
                   apply_to_columns<F>(dy + at, y + at, length, inner,
                                       std::min(width, inner - column), dx + at);
                 }
               });
}

template <class F>
void apply_typed(const View& dy, const View& y, int axis, const View& dx) {
  if (dy.count() == 0) return;
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  const std::int64_t length = dy.shape.empty() ? 1 : dy.shape[axis];
  for (int i = 0; i < dy.shape.size(); ++i) {
    if (i != axis) (i < axis ? outer : inner) *= dy.shape[i];
  }
  if (dy.dtype == DType::float64) {
    apply<F>(dy.as<const double>(), y.as<const double>(), outer, length, inner, dx.as<double>());
  } else {
    apply<F>(dy.as<const float>(), y.as<const float>(), outer, length, inner, dx.as<float>());
  }
}

void gradient_of_softmax(const View& dy, const View& y, int axis, const View& dx) {
  apply_typed<OfSoftmax>(dy, y, axis, dx);
}
void gradient_of_log_softmax(const View& dy, const View& y, int axis, const View& dx) {
  apply_typed<OfLogSoftmax>(dy, y, axis, dx);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(gradient_of_softmax);
HWY_EXPORT(gradient_of_log_softmax);

void softmax_gradient(const View& dy, const View& y, int axis, const View& dx) {
  HWY_DYNAMIC_DISPATCH(gradient_of_softmax)(dy, y, axis, dx);
}
void log_softmax_gradient(const View& dy, const View& y, int axis, const View& dx) {
  HWY_DYNAMIC_DISPATCH(gradient_of_log_softmax)(dy, y, axis, dx);
}

}  // namespace tenure::kernels
#endif
