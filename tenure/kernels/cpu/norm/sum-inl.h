// Loops over contiguous elements in vectors, with what is left over one by one.
#if defined(TENURE_KERNELS_CPU_NORM_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_NORM_SUM_INL_H_
#undef TENURE_KERNELS_CPU_NORM_SUM_INL_H_
#else
#define TENURE_KERNELS_CPU_NORM_SUM_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::norm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct TypeOf {};

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE void store(hn::Vec<D> v, D d, hn::TFromD<D>* to) {
  hn::StoreU(v, d, to);
}

/// Calls `f(d, i)` for vectors from element i on, the last ones with one lane each.
template <class T, class F>
HWY_INLINE void for_vectors(std::int64_t n, F f) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(d, i);
  for (; i < n; ++i) f(hn::CappedTag<T, 1>(), i);
}

/// Adds to sums what comes in vectors: into four of them in turn, so that additions need not wait
/// for each other, and what is left over one by one.
template <class T>
class Sum {
 public:
  static constexpr int kTurns = 4;

  // Written out: what the compiler makes by itself is not of this target.
  HWY_INLINE Sum() : a_(hn::Zero(Tag())), b_(a_), c_(a_), e_(a_) {}

  template <class D>
  HWY_INLINE void add(int turn, D, hn::Vec<D> v) {
    if constexpr (std::is_same_v<D, hn::ScalableTag<T>>) {
      if (turn == 0) a_ = hn::Add(a_, v);
      if (turn == 1) b_ = hn::Add(b_, v);
      if (turn == 2) c_ = hn::Add(c_, v);
      if (turn == 3) e_ = hn::Add(e_, v);
    } else {
      rest_ += hn::GetLane(v);
    }
  }
  HWY_INLINE T total() const {
    const hn::ScalableTag<T> d;
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a_, b_), hn::Add(c_, e_)))) + rest_;
  }

 private:
  using Tag = hn::ScalableTag<T>;

  hn::Vec<Tag> a_, b_, c_, e_;
  T rest_ = 0;
};

/// Calls `f(d, i, turn)` as for_vectors(), for sums to add to.
template <class T, class F>
HWY_INLINE void for_sums(std::int64_t n, F f) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + Sum<T>::kTurns * lanes <= n; i += Sum<T>::kTurns * lanes) {
    f(d, i, 0);
    f(d, i + lanes, 1);
    f(d, i + 2 * lanes, 2);
    f(d, i + 3 * lanes, 3);
  }
  for (; i + lanes <= n; i += lanes) f(d, i, 0);
  for (; i < n; ++i) f(hn::CappedTag<T, 1>(), i, 0);
}

/// The sum of `f(d, i)`.
template <class T, class F>
HWY_INLINE T sum_over(std::int64_t n, F f, TypeOf<T>) {
  Sum<T> sum;
  for_sums<T>(n, [&](auto d, std::int64_t i, int turn) HWY_ATTR { sum.add(turn, d, f(d, i)); });
  return sum.total();
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::norm
HWY_AFTER_NAMESPACE();
#endif
