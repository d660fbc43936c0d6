#include "tenure/kernels/cpu/loss/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/loss/rows.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "tenure/kernels/cpu/elementwise/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE T row_max(const T* x, std::int64_t n, T start) {
  const hn::ScalableTag<T> d;
  Vec<T> largest(start);
  for_each_vector<T>(
      n, [&](std::int64_t i) HWY_ATTR { largest = hn::Max(largest.raw, load(x + i).raw); },
      [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
        const Mask<T> counts{hn::FirstN(d, static_cast<std::size_t>(rest))};
        const Vec<T> values = select(counts, load_some(x + i, rest), Vec<T>(start));
        largest = hn::Max(largest.raw, values.raw);
      });
  return hn::GetLane(hn::MaxOfLanes(d, largest.raw));
}

/// Vectors of sums, few enough terms long that they lose no bits to speak of. `kTargets`: there are
/// probabilities.
template <class T, bool kTargets>
struct VectorSums {
  Vec<T> exponentials;
  Vec<T> logits;
  Vec<T> products;
  Vec<T> probabilities;

  HWY_INLINE VectorSums() : exponentials(0), logits(0), products(0), probabilities(0) {}
  HWY_INLINE void add(Vec<T> x, Vec<T> exponential, Vec<T> q) {
    exponentials = exponentials + exponential;
    logits = logits + x;
    if constexpr (kTargets) {
      products = products + select(q == Vec<T>(0), Vec<T>(0), q * x);
      probabilities = probabilities + q;
    }
  }
  HWY_INLINE void add_to(RowSums& sums, bool wants_logits) const {
    sums.exponentials += total(exponentials);
    if (wants_logits) sums.logits += total(logits);
    if constexpr (kTargets) {
      sums.products += total(products);
      sums.probabilities += total(probabilities);
    }
  }
  static HWY_INLINE double total(Vec<T> v) {
    return static_cast<double>(hn::GetLane(hn::SumOfLanes(hn::ScalableTag<T>(), v.raw)));
  }
};

template <class T, bool kTargets>
HWY_INLINE void add_row(const T* x, const T* q, std::int64_t n, T shift, bool wants_logits,
                        RowSums& sums, T* out) {
  const hn::ScalableTag<T> d;
  const auto chunk_length = static_cast<std::int64_t>(kTerms * hn::Lanes(d));
  const Vec<T> shifts(shift);
  for (std::int64_t begin = 0; begin < n; begin += chunk_length) {
    VectorSums<T, kTargets> chunk;
    for_each_vector<T>(
        std::min(chunk_length, n - begin),
        [&](std::int64_t i) HWY_ATTR {
          const Vec<T> values = load(x + begin + i);
          const Vec<T> exponential = exp(values - shifts);
          chunk.add(values, exponential, kTargets ? load(q + begin + i) : Vec<T>(0));
          if (out != nullptr) store(exponential, out + begin + i);
        },
        [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
          const Vec<T> values = load_some(x + begin + i, rest);
          const Mask<T> counts{hn::FirstN(d, static_cast<std::size_t>(rest))};
          const Vec<T> exponential = select(counts, exp(values - shifts), Vec<T>(0));
          chunk.add(values, exponential, kTargets ? load_some(q + begin + i, rest) : Vec<T>(0));
          if (out != nullptr) store_some(exponential, out + begin + i, rest);
        });
    chunk.add_to(sums, wants_logits);
  }
}

template <class T>
void row_add(const T* x, const T* q, std::int64_t n, T shift, bool wants_logits, RowSums& sums,
             T* out) {
  if (q == nullptr) return add_row<T, false>(x, q, n, shift, wants_logits, sums, out);
  add_row<T, true>(x, q, n, shift, wants_logits, sums, out);
}

/// Sums of some rows come while others are added up, and constants of exponentials once.
template <class T>
void rows_softmax(const T* x, std::int64_t rows, std::int64_t n, bool wants_logits,
                  RowSoftmax<T>* results, T* out) {
  for (std::int64_t r = 0; r < rows; ++r) {
    results[r].shift = row_max(x + r * n, n, results[r].shift);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    add_row<T, false>(x + r * n, nullptr, n, results[r].shift, wants_logits, results[r].sums,
                      out + r * n);
  }
}

template <class T>
void row_finish(T* x, std::int64_t n, T factor, T constant) {
  const Vec<T> factors(factor);
  const Vec<T> constants(constant);
  for_each_vector<T>(
      n, [&](std::int64_t i) HWY_ATTR { store(load(x + i) * factors - constants, x + i); },
      [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
        const Vec<T> value = load_some(x + i, rest) * factors - constants;
        store_some(value, x + i, rest);
      });
}

template <class T>
void row_gradient(const T* x, const T* q, std::int64_t n, T shift, T factor, T weight, T constant,
                  T* out) {
  const Vec<T> shifts(shift);
  const Vec<T> factors(factor);
  const Vec<T> weights(weight);
  const Vec<T> constants(constant);
  for_each_vector<T>(
      n,
      [&](std::int64_t i) HWY_ATTR {
        Vec<T> value = exp(load(x + i) - shifts) * factors - constants;
        if (q != nullptr) value = value - weights * load(q + i);
        store(value, out + i);
      },
      [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
        Vec<T> value = exp(load_some(x + i, rest) - shifts) * factors - constants;
        if (q != nullptr) value = value - weights * load_some(q + i, rest);
        store_some(value, out + i, rest);
      });
}

template <class T>
constexpr RowLoops<T> kRowLoops{row_max<T>, row_add<T>, rows_softmax<T>, row_gradient<T>,
                                row_finish<T>};

const RowLoops<float>* find_float_rows() { return &kRowLoops<float>; }
const RowLoops<double>* find_double_rows() { return &kRowLoops<double>; }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(find_float_rows);
HWY_EXPORT(find_double_rows);

const RowLoops<float>& find_row_loops(float) { return *HWY_DYNAMIC_DISPATCH(find_float_rows)(); }
const RowLoops<double>& find_row_loops(double) { return *HWY_DYNAMIC_DISPATCH(find_double_rows)(); }

}  // namespace tenure::kernels
#endif
