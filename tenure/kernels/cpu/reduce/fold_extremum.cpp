#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/reduce/fold_extremum.cpp"
#include <hwy/foreach_target.h>
// The order of these includes matters: each target compiles the file again from here.
#include <hwy/highway.h>

#include <limits>
#include <type_traits>
#include <utility>

#include "tenure/kernels/cpu/reduce/fold-inl.h"
#include "tenure/kernels/cpu/reduce/fold_tables.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::reduce::HWY_NAMESPACE {
namespace {

template <bool kMax, bool kMagnitude>
struct Extreme {
  static constexpr bool kParameter = false;
  static constexpr bool kCompensated = false;

  template <class D>
  static HWY_INLINE hn::Vec<D> identity(D d) {
    using Limits = std::numeric_limits<ElementOf<D>>;
    if constexpr (Limits::has_infinity) {
      return hn::Set(d, kMax ? -Limits::infinity() : Limits::infinity());
    } else {
      return hn::Set(d, kMax ? Limits::lowest() : Limits::max());
    }
  }
  template <class D, class V>
  static HWY_INLINE V map(D, V x, V) {
    if constexpr (kMagnitude) return hn::Abs(x);
    return x;
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      // Vector min and max differ between machines in what they make of NaN. Those of x86 give the
      // second operand where they do not find the first one better; on others, compare instead.
#if HWY_ARCH_X86
      return hn::IfThenElse(hn::IsNaN(b), b, kMax ? hn::Max(b, a) : hn::Min(b, a));
#else
      const auto better = kMax ? hn::Gt(b, a) : hn::Lt(b, a);
      return hn::IfThenElse(hn::Or(better, hn::IsNaN(b)), b, a);
#endif
    } else if constexpr (kMax) {
      return hn::Max(a, b);
    } else {
      return hn::Min(a, b);
    }
  }
  template <class V>
  static HWY_INLINE void add(V& high, V&, V x) {
    high = join(high, x);
  }
  template <class D>
  static HWY_INLINE std::pair<ElementOf<D>, ElementOf<D>> collapse(D d, hn::Vec<D> high,
                                                                   hn::Vec<D>) {
    using T = ElementOf<D>;
    alignas(64) T lanes[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(high, d, lanes);
    T best = lanes[0];
    for (std::size_t i = 1; i < hn::Lanes(d); ++i) {
      const T x = lanes[i];
      best = (kMax ? x > best : x < best) || x != x ? x : best;
    }
    return {best, T{0}};
  }
};

template <class R>
const Fold* for_all(DType accumulator) {
  return visit_dtype(accumulator, []<class T>(TypeTag<T>) -> const Fold* {
    if constexpr (NarrowFloat<T>) {
      return nullptr;
    } else if constexpr (std::is_same_v<T, bool>) {
      return &kFold<R, std::uint8_t>;
    } else {
      return &kFold<R, T>;
    }
  });
}

const Fold* find_extremum(Rule rule, DType accumulator) {
  switch (rule) {
    case Rule::max:
      return for_all<Extreme<true, false>>(accumulator);
    case Rule::min:
      return for_all<Extreme<false, false>>(accumulator);
    case Rule::max_abs:
      return for_floats<Extreme<true, true>>(accumulator);
    case Rule::min_abs:
      return for_floats<Extreme<false, true>>(accumulator);
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace tenure::kernels::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::reduce {

HWY_EXPORT(find_extremum);

const Fold* find_extremum_fold(Rule rule, DType accumulator) {
  return HWY_DYNAMIC_DISPATCH(find_extremum)(rule, accumulator);
}

}  // namespace tenure::kernels::reduce
#endif
