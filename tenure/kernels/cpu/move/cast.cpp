#include "tenure/kernels/cpu/move/cast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/move/cast.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tenure/kernels/cpu/move/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using widen::HWY_NAMESPACE::for_vectors;
using widen::HWY_NAMESPACE::kHalfInHardware;
using widen::HWY_NAMESPACE::widen_to_float;

template <class To, class From>
HWY_INLINE To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Both bounds are exact in floating point: the lower is a power of two, the upper one past it,
    // which rounding it gives.
    constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From past = static_cast<From>(std::numeric_limits<To>::max()) + 1;
    if (!(value >= low)) return value == value ? std::numeric_limits<To>::min() : To(0);
    return value < past ? static_cast<To>(value) : std::numeric_limits<To>::max();
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void cast_row(const void* in, void* out, std::size_t n) {
  const auto* const from = static_cast<const From*>(in);
  auto* const to = static_cast<To*>(out);
  for (std::size_t i = 0; i < n; ++i) to[i] = convert<To>(from[i]);
}

/// BFloat16::encode of a vector. Highway's own conversion truncates instead of rounding.
template <class D>
HWY_INLINE auto round_to_bfloat16(D df, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> bits;
  const hn::RebindToSigned<D> integers;
  const hn::Rebind<std::uint16_t, D> narrow;
  const auto f = hn::BitCast(bits, x);
  const auto cut = hn::ShiftRight<16>(f);
  const auto half = hn::Add(hn::And(cut, hn::Set(bits, 1)), hn::Set(bits, 0x7fff));
  const auto rounded = hn::ShiftRight<16>(hn::Add(f, half));
  const auto is_nan = hn::MaskFromVec(hn::BitCast(bits, hn::VecFromMask(df, hn::IsNaN(x))));
  const auto kept = hn::IfThenElse(is_nan, hn::Or(cut, hn::Set(bits, 0x40)), rounded);
  return hn::DemoteTo(narrow, hn::BitCast(integers, kept));
}

template <NarrowFloat T>
void narrow(const float* in, void* out, std::size_t n) {
  const hn::ScalableTag<float> df;
  if constexpr (std::is_same_v<T, Half> && kHalfInHardware) {
    const hn::Rebind<hwy::float16_t, decltype(df)> dn;
    for_vectors(in, static_cast<hwy::float16_t*>(out), n, hn::Lanes(df),
                [&](const float* from, hwy::float16_t* to)
                    HWY_ATTR { hn::StoreU(hn::DemoteTo(dn, hn::LoadU(df, from)), dn, to); });
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const hn::Rebind<std::uint16_t, decltype(df)> dn;
    for_vectors(in, static_cast<std::uint16_t*>(out), n, hn::Lanes(df),
                [&](const float* from, std::uint16_t* to)
                    HWY_ATTR { hn::StoreU(round_to_bfloat16(df, hn::LoadU(df, from)), dn, to); });
  } else {
    std::transform(in, in + n, static_cast<T*>(out), [](float x) { return T(x); });
  }
}

using Row = void (*)(const void*, void*, std::size_t);

/// Between types that are no 16-bit floats.
Row row_between(DType from, DType to) {
  return visit_dtype(from, [to]<class From>(TypeTag<From>) {
    return visit_dtype(to, []<class To>(TypeTag<To>) -> Row {
      if constexpr (NarrowFloat<From> || NarrowFloat<To>) {
        return nullptr;
      } else {
        return cast_row<From, To>;
      }
    });
  });
}

void narrow_from_float(DType to, const float* in, void* out, std::size_t n) {
  visit_dtype(to, [&]<class To>(TypeTag<To>) {
    if constexpr (NarrowFloat<To>) narrow<To>(in, out, n);
  });
}

constexpr std::size_t kPiece = 256;

/// round_to_odd of a piece, in vectors: cut where a float ends, with the last bit set if anything
/// was cut off. Only numbers that are subnormal as floats lose more.
void to_odd_floats(const double* in, float* out, std::size_t n) {
  constexpr std::uint64_t cut = (std::uint64_t{1} << 29) - 1;
  std::uint64_t tiny = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(in[i]);
    const std::uint64_t carry = ((bits & cut) + cut) & (cut + 1);
    out[i] = static_cast<float>(std::bit_cast<double>((bits & ~cut) | carry));
    const double magnitude = std::bit_cast<double>(bits & ~(std::uint64_t{1} << 63));
    tiny |= static_cast<std::uint64_t>(magnitude < 0x1p-126) &
            static_cast<std::uint64_t>(magnitude > 0);
  }
  if (tiny == 0) return;
  for (std::size_t i = 0; i < n; ++i) out[i] = round_to_odd(in[i]);
}

void to_odd_floats(const std::int32_t* in, float* out, std::size_t n) {
  double wide[kPiece];
  std::copy_n(in, n, wide);
  to_odd_floats(wide, out, n);
}

void to_odd_floats(const std::int64_t* in, float* out, std::size_t n) {
  double wide[kPiece];
  std::uint64_t high = 0;
  for (std::size_t i = 0; i < n; ++i) {
    high |= static_cast<std::uint64_t>(in[i] ^ (in[i] >> 63));
    wide[i] = static_cast<double>(in[i]);
  }
  if (high >> 53 == 0) return to_odd_floats(wide, out, n);
  for (std::size_t i = 0; i < n; ++i) out[i] = round_to_odd(in[i]);
}

/// A piece as floats; towards 16 bits as floats that round there as the elements themselves would.
void to_floats(DType from, const void* in, bool to_narrow, float* out, std::size_t n) {
  if (to_narrow && from == DType::float64) {
    return to_odd_floats(static_cast<const double*>(in), out, n);
  }
  if (to_narrow && from == DType::int64) {
    return to_odd_floats(static_cast<const std::int64_t*>(in), out, n);
  }
  if (to_narrow && from == DType::int32) {
    return to_odd_floats(static_cast<const std::int32_t*>(in), out, n);
  }
  row_between(from, DType::float32)(in, out, n);
}

// 16-bit floats go through float, a tile at a time unless they become floats or were.
void cast_elements(DType from, const void* in, DType to, void* out, std::size_t n) {
  if (!is_narrow_float(from) && !is_narrow_float(to)) return row_between(from, to)(in, out, n);
  if (to == DType::float32) return widen_to_float(from, in, static_cast<float*>(out), n);
  if (from == DType::float32) return narrow_from_float(to, static_cast<const float*>(in), out, n);
  float wide[kPiece];
  const auto* source = static_cast<const std::byte*>(in);
  auto* target = static_cast<std::byte*>(out);
  for (; n > 0;) {
    const std::size_t m = std::min(n, kPiece);
    if (is_narrow_float(from)) {
      widen_to_float(from, source, wide, m);
    } else {
      to_floats(from, source, is_narrow_float(to), wide, m);
    }
    if (is_narrow_float(to)) {
      narrow_from_float(to, wide, target, m);
    } else {
      row_between(DType::float32, to)(wide, target, m);
    }
    source += m * size_of(from);
    target += m * size_of(to);
    n -= m;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(cast_elements);

void cast_elements(DType from, const void* in, DType to, void* out, std::size_t n) {
  if (from == to) {
    std::memmove(out, in, n * size_of(from));
    return;
  }
  HWY_DYNAMIC_DISPATCH(cast_elements)(from, in, to, out, n);
}

}  // namespace tenure::kernels
#endif
