// The loops of reduce::Fold, generic in a rule; compiled once per Highway target.

#if defined(TENURE_KERNELS_CPU_REDUCE_FOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_REDUCE_FOLD_INL_H_
#undef TENURE_KERNELS_CPU_REDUCE_FOLD_INL_H_
#else
#define TENURE_KERNELS_CPU_REDUCE_FOLD_INL_H_
#endif

#include <hwy/highway.h>

#include "tenure/kernels/cpu/elementwise/math-inl.h"
#include "tenure/kernels/cpu/reduce/fold.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::reduce::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using ElementOf = hn::TFromD<D>;

/// The first `count` elements, fewer than a vector; what lies behind them is not read.
template <class D>
HWY_INLINE hn::Vec<D> load_first(D d, const ElementOf<D>* src, std::int64_t count) {
  using T = ElementOf<D>;
  if constexpr (HWY_TARGET <= HWY_AVX2 && sizeof(T) >= 4) {
    return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, src);
  } else {
    alignas(64) T padded[HWY_MAX_BYTES / sizeof(T)] = {};
    for (std::int64_t i = 0; i < count; ++i) padded[i] = src[i];
    return hn::Load(d, padded);
  }
}

/// exp(x - shift) for x that are at most `shift`.
template <class D, class V>
HWY_INLINE V shifted_exp(D, V x, V shift) {
  return kernels::HWY_NAMESPACE::exp_below_one(
             kernels::HWY_NAMESPACE::Vec<ElementOf<D>>(hn::Sub(x, shift)))
      .raw;
}

// A rule R for elements of type T gives, for vectors of any length:
//   identity(d)             what changes nothing
//   map(d, x, p)            applied to each element; kParameter says whether it reads p
//   join(a, b)              of two mapped elements
//   add(high, low, x)       joins a mapped element to a partial result; kCompensated: it uses low
//   collapse(d, high, low)  a pair of scalars: the partial results of all lanes joined

// Eight elements are joined before they reach the accumulator: that hides the latency of `add`,
// lets one accumulator do, and rounds a sum three times at most before the compensation sets in.
inline constexpr std::int64_t kGroup = kFoldedRows;

template <class R, class D, class Load>
HWY_INLINE hn::Vec<D> join_group(D d, hn::Vec<D> p, std::int64_t step, const Load& load) {
  const auto a = R::join(R::map(d, load(0), p), R::map(d, load(step), p));
  const auto b = R::join(R::map(d, load(2 * step), p), R::map(d, load(3 * step), p));
  const auto ab = R::join(a, b);
  const auto e = R::join(R::map(d, load(4 * step), p), R::map(d, load(5 * step), p));
  const auto f = R::join(R::map(d, load(6 * step), p), R::map(d, load(7 * step), p));
  return R::join(ab, R::join(e, f));
}

/// Joins one partial result to another.
template <class R, class T>
HWY_INLINE void join_partial(T& high, T& low, T from_high, T from_low) {
  if (R::kCompensated && high == 0 && low == 0) {  // Spares short runs the latency.
    high = from_high;
    low = from_low;
    return;
  }
  const hn::CappedTag<T, 1> one;
  auto h = hn::Set(one, high);
  auto l = hn::Set(one, low);
  R::add(h, l, hn::Set(one, from_high));
  high = hn::GetLane(h);
  if constexpr (R::kCompensated) low = hn::GetLane(l) + from_low;
}

template <class R, class T>
void init(void* high, void* low, std::int64_t count) {
  const T identity = hn::GetLane(R::identity(hn::CappedTag<T, 1>()));
  for (std::int64_t i = 0; i < count; ++i) {
    static_cast<T*>(high)[i] = identity;
    static_cast<T*>(low)[i] = T{0};
  }
}

/// Joins one vector's width of `kRows` rows, 1 or kGroup, to partial results.
template <class R, std::int64_t kRows, class D, class Load>
HWY_INLINE void fold_column(D d, hn::Vec<D>& high, hn::Vec<D>& low, hn::Vec<D> p,
                            std::int64_t stride, const Load& load) {
  if constexpr (kRows == kGroup) {
    R::add(high, low, join_group<R>(d, p, stride, load));
  } else {
    R::add(high, low, R::map(d, load(0), p));
  }
}

/// Short pieces of many rows are too little for the machine to see a pattern: ask for the next
/// group early. Into the second cache, as rows a power of two apart collide in the first.
template <class T>
HWY_INLINE void prefetch_group(const T* src, std::int64_t stride) {
  for (std::int64_t r = 0; r < kGroup; ++r) __builtin_prefetch(src + r * stride, 0, 2);
}

template <class R, std::int64_t kRows, class T>
HWY_INLINE void fold_columns(T* high, T* low, const T* p, const T* src, std::int64_t stride,
                             std::int64_t width, bool prefetch) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto pv = hn::Zero(d);
  auto l = hn::Zero(d);
  std::int64_t j = 0;
  for (; j + lanes <= width; j += lanes) {
    if constexpr (R::kParameter) pv = hn::LoadU(d, p + j);
    if constexpr (R::kCompensated) l = hn::LoadU(d, low + j);
    auto h = hn::LoadU(d, high + j);
    const auto load = [d, src, j](std::int64_t i) HWY_ATTR { return hn::LoadU(d, src + j + i); };
    if (prefetch) prefetch_group(src + j + kGroup * stride, stride);
    fold_column<R, kRows>(d, h, l, pv, stride, load);
    hn::StoreU(h, d, high + j);
    if constexpr (R::kCompensated) hn::StoreU(l, d, low + j);
  }
  if (j < width) {  // Other partial results may lie behind these: they keep their values.
    const auto valid = hn::FirstN(d, static_cast<std::size_t>(width - j));
    if constexpr (R::kParameter) pv = hn::LoadU(d, p + j);
    const auto old_h = hn::LoadU(d, high + j);
    const auto old_l = hn::LoadU(d, low + j);
    auto h = old_h;
    l = old_l;
    const auto load = [d, src, j, width](std::int64_t i)
                          HWY_ATTR { return load_first(d, src + j + i, width - j); };
    fold_column<R, kRows>(d, h, l, pv, stride, load);
    hn::StoreU(hn::IfThenElse(valid, h, old_h), d, high + j);
    if constexpr (R::kCompensated) hn::StoreU(hn::IfThenElse(valid, l, old_l), d, low + j);
  }
}

template <class R, class T>
void fold_rows(void* high_out, void* low_out, const void* p, const void* src, std::int64_t stride,
               std::int64_t rows, std::int64_t width) {
  auto* high = static_cast<T*>(high_out);
  auto* low = static_cast<T*>(low_out);
  const auto* parameter = static_cast<const T*>(p);
  const auto* row = static_cast<const T*>(src);
  constexpr std::int64_t kCached = (std::int64_t{1} << 19) / static_cast<std::int64_t>(sizeof(T));
  const bool large = rows * width > kCached;
  std::int64_t r = 0;
  for (; r + kGroup <= rows; r += kGroup) {
    const bool prefetch = large && r + 2 * kGroup <= rows;
    fold_columns<R, kGroup>(high, low, parameter, row + r * stride, stride, width, prefetch);
  }
  for (; r < rows; ++r) {
    fold_columns<R, 1>(high, low, parameter, row + r * stride, stride, width, false);
  }
}

template <class R, class T>
void fold_run(void* high_out, void* low_out, const void* p, const void* src, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto* at = static_cast<const T*>(src);
  auto pv = hn::Zero(d);
  if constexpr (R::kParameter) pv = hn::Set(d, *static_cast<const T*>(p));

  // The first vector needs no joining: that matters to short runs.
  auto high = R::identity(d);
  auto low = hn::Zero(d);
  std::int64_t i = 0;
  if (count >= lanes) {
    high = R::map(d, hn::LoadU(d, at), pv);
    i = lanes;
  }
  for (; i + kGroup * lanes <= count; i += kGroup * lanes) {
    const auto load = [d, at, i](std::int64_t j) HWY_ATTR { return hn::LoadU(d, at + i + j); };
    R::add(high, low, join_group<R>(d, pv, lanes, load));
  }
  for (; i + lanes <= count; i += lanes) {
    R::add(high, low, R::map(d, hn::LoadU(d, at + i), pv));
  }
  if (i < count) {
    const auto x = R::map(d, load_first(d, at + i, count - i), pv);
    const auto valid = hn::FirstN(d, static_cast<std::size_t>(count - i));
    R::add(high, low, hn::IfThenElse(valid, x, R::identity(d)));
  }

  const auto [run_high, run_low] = R::collapse(d, high, low);
  join_partial<R>(*static_cast<T*>(high_out), *static_cast<T*>(low_out), run_high, run_low);
}

template <class R, class T>
void merge(void* high, void* low, const void* from_high, const void* from_low, std::int64_t width) {
  for (std::int64_t j = 0; j < width; ++j) {
    join_partial<R>(static_cast<T*>(high)[j], static_cast<T*>(low)[j],
                    static_cast<const T*>(from_high)[j], static_cast<const T*>(from_low)[j]);
  }
}

template <class R, class T>
constexpr Fold kFold{init<R, T>, fold_rows<R, T>, fold_run<R, T>, merge<R, T>};

/// nullptr: it is no type of floats that has an instance.
template <class R>
const Fold* for_floats(DType accumulator) {
  if (accumulator == DType::float32) return &kFold<R, float>;
  if (accumulator == DType::float64) return &kFold<R, double>;
  return nullptr;
}

}  // namespace
}  // namespace tenure::kernels::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
