#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/reduce/fold_sum.cpp"
#include <hwy/foreach_target.h>
// The order of these includes matters: each target compiles the file again from here.
#include <hwy/highway.h>

#include <cmath>
#include <type_traits>
#include <utility>

#include "tenure/kernels/cpu/reduce/fold-inl.h"
#include "tenure/kernels/cpu/reduce/fold_tables.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::reduce::HWY_NAMESPACE {
namespace {

struct Identity {
  static constexpr bool kParameter = false;
  template <class D, class V>
  static HWY_INLINE V map(D, V x, V) {
    return x;
  }
};

struct Magnitude {
  static constexpr bool kParameter = false;
  template <class D, class V>
  static HWY_INLINE V map(D, V x, V) {
    return hn::Abs(x);
  }
};

struct ScaledSquare {
  static constexpr bool kParameter = true;
  template <class D, class V>
  static HWY_INLINE V map(D, V x, V scale) {
    const V scaled = hn::Mul(x, scale);
    return hn::Mul(scaled, scaled);
  }
};

struct SquaredDeviation {
  static constexpr bool kParameter = true;
  template <class D, class V>
  static HWY_INLINE V map(D, V x, V center) {
    const V deviation = hn::Sub(x, center);
    return hn::Mul(deviation, deviation);
  }
};

struct ShiftedExp {
  static constexpr bool kParameter = true;
  template <class D, class V>
  static HWY_INLINE V map(D d, V x, V shift) {
    return shifted_exp(d, x, shift);
  }
};

struct Power {
  static constexpr bool kParameter = true;
  template <class D, class V>
  static HWY_INLINE V map(D d, V x, V exponent) {
    using T = ElementOf<D>;
    alignas(64) T lanes[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(hn::Abs(x), d, lanes);
    const T e = hn::GetLane(exponent);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      lanes[i] = lanes[i] == 0 && e == 0 ? T{0} : std::pow(lanes[i], e);
    }
    return hn::Load(d, lanes);
  }
};

template <class Map>
struct Addition : Map {
  template <class D>
  static HWY_INLINE hn::Vec<D> identity(D d) {
    return hn::Zero(d);
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Add(a, b);
  }
};

/// A compensated sum of mapped floats.
template <class Map>
struct SumOf : Addition<Map> {
  static constexpr bool kCompensated = true;

  /// Knuth's TwoSum: high + low grows by exactly x, up to the rounding of low itself.
  template <class V>
  static HWY_INLINE void add(V& high, V& low, V x) {
    const V sum = hn::Add(high, x);
    const V part = hn::Sub(sum, high);
    low = hn::Add(low, hn::Add(hn::Sub(high, hn::Sub(sum, part)), hn::Sub(x, part)));
    high = sum;
  }
  template <class D>
  static HWY_INLINE std::pair<ElementOf<D>, ElementOf<D>> collapse(D d, hn::Vec<D> high,
                                                                   hn::Vec<D> low) {
    using T = ElementOf<D>;
    const double h = sum_lanes(d, high);
    const double value = total(h, sum_lanes(d, low));
    return {static_cast<T>(value), static_cast<T>(value - static_cast<T>(value))};
  }

 private:
  template <class D>
  static HWY_INLINE double sum_lanes(D d, hn::Vec<D> v) {
    if constexpr (sizeof(ElementOf<D>) == 8) {
      return hn::GetLane(hn::SumOfLanes(d, v));
    } else {
      const hn::Repartition<double, D> wide;
      const hn::Half<D> half;
      return hn::GetLane(
          hn::SumOfLanes(wide, hn::Add(hn::PromoteTo(wide, hn::LowerHalf(half, v)),
                                       hn::PromoteTo(wide, hn::UpperHalf(half, v)))));
    }
  }
};

/// Integer sums wrap around, as unsigned arithmetic does.
struct IntegerSum : Addition<Identity> {
  static constexpr bool kCompensated = false;

  template <class V>
  static HWY_INLINE void add(V& high, V&, V x) {
    high = hn::Add(high, x);
  }
  template <class D>
  static HWY_INLINE std::pair<ElementOf<D>, ElementOf<D>> collapse(D d, hn::Vec<D> high,
                                                                   hn::Vec<D>) {
    // Not SumOfLanes: compilers may implement it with signed scalars, which must not overflow.
    using T = ElementOf<D>;
    alignas(64) T lanes[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(high, d, lanes);
    std::make_unsigned_t<T> sum = 0;
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      sum += static_cast<std::make_unsigned_t<T>>(lanes[i]);
    }
    return {static_cast<T>(sum), 0};
  }
};

struct Product : Identity {
  static constexpr bool kCompensated = false;

  template <class D>
  static HWY_INLINE hn::Vec<D> identity(D d) {
    return hn::Set(d, 1);
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      return hn::Mul(a, b);
    } else {
      return multiply_integers(hn::DFromV<V>(), a, b);
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
    const hn::CappedTag<T, 1> one;
    auto product = hn::Set(one, lanes[0]);
    for (std::size_t i = 1; i < hn::Lanes(d); ++i) product = join(product, hn::Set(one, lanes[i]));
    return {hn::GetLane(product), 0};
  }

 private:
  /// The low 64 bits of products of 64-bit integers, from 32-bit halves: few machines have it.
  template <class D, class V>
  static HWY_INLINE V multiply_integers(D d, V a, V b) {
    const hn::Repartition<std::uint32_t, D> half;
    const hn::RebindToUnsigned<D> whole;
    const auto au = hn::BitCast(whole, a);
    const auto bu = hn::BitCast(whole, b);
    const auto cross =
        hn::Add(hn::MulEven(hn::BitCast(half, hn::ShiftRight<32>(au)), hn::BitCast(half, bu)),
                hn::MulEven(hn::BitCast(half, au), hn::BitCast(half, hn::ShiftRight<32>(bu))));
    const auto low = hn::MulEven(hn::BitCast(half, au), hn::BitCast(half, bu));
    return hn::BitCast(d, hn::Add(low, hn::ShiftLeft<32>(cross)));
  }
};

const Fold* find_sum(Rule rule, DType accumulator) {
  switch (rule) {
    case Rule::sum:
      if (accumulator == DType::int64) return &kFold<IntegerSum, std::int64_t>;
      return for_floats<SumOf<Identity>>(accumulator);
    case Rule::sum_abs:
      return for_floats<SumOf<Magnitude>>(accumulator);
    case Rule::sum_squares:
      return for_floats<SumOf<ScaledSquare>>(accumulator);
    case Rule::sum_powers:
      return for_floats<SumOf<Power>>(accumulator);
    case Rule::sum_deviations:
      return for_floats<SumOf<SquaredDeviation>>(accumulator);
    case Rule::sum_exp:
      return for_floats<SumOf<ShiftedExp>>(accumulator);
    case Rule::prod:
      if (accumulator == DType::int64) return &kFold<Product, std::int64_t>;
      if (accumulator == DType::float64) return &kFold<Product, double>;
      return nullptr;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace tenure::kernels::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::reduce {

HWY_EXPORT(find_sum);

const Fold* find_sum_fold(Rule rule, DType accumulator) {
  return HWY_DYNAMIC_DISPATCH(find_sum)(rule, accumulator);
}

}  // namespace tenure::kernels::reduce
#endif
