#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/reduce/convert.cpp"
#include <hwy/foreach_target.h>
// The order of these includes matters: each target compiles the file again from here.
#include <hwy/highway.h>

#include <cstdlib>
#include <string>

#include "tenure/kernels/cpu/reduce/convert.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::reduce::HWY_NAMESPACE {
namespace {

void widen_half(const Half* src, float* dst, std::int64_t count) {
  std::int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2  // Older machines have no instruction for it.
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    const auto* at = reinterpret_cast<const hwy::float16_t*>(src + i);
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(narrow, at)), d, dst + i);
  }
#endif
  for (; i < count; ++i) dst[i] = src[i];
}

void narrow_half(const float* src, Half* dst, std::int64_t count) {
  std::int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    auto* at = reinterpret_cast<hwy::float16_t*>(dst + i);
    hn::StoreU(hn::DemoteTo(narrow, hn::LoadU(d, src + i)), narrow, at);
  }
#endif
  for (; i < count; ++i) dst[i] = Half(src[i]);
}

}  // namespace
}  // namespace tenure::kernels::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::reduce {

HWY_EXPORT(widen_half);
HWY_EXPORT(narrow_half);

namespace {

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (NarrowFloat<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (NarrowFloat<To>) {
    return round_to<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void convert_run(const From* src, To* dst, std::int64_t count) {
  if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>) {
    HWY_DYNAMIC_DISPATCH(widen_half)(src, dst, count);
  } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>) {
    HWY_DYNAMIC_DISPATCH(narrow_half)(src, dst, count);
  } else {
    for (std::int64_t i = 0; i < count; ++i) dst[i] = convert<To>(src[i]);
  }
}

template <class From, class To>
void convert_plane(const void* src, Pitch from, void* dst, Pitch to, std::int64_t rows,
                   std::int64_t columns) {
  if (std::abs(from.column) > std::abs(from.row) && from.row != 0) {  // Read along memory.
    from = {from.column, from.row};
    to = {to.column, to.row};
    std::swap(rows, columns);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const From* s = static_cast<const From*>(src) + r * from.row;
    To* t = static_cast<To*>(dst) + r * to.row;
    if (from.column == 1 && to.column == 1) {
      convert_run(s, t, columns);
    } else {
      for (std::int64_t c = 0; c < columns; ++c) {
        t[c * to.column] = convert<To>(s[c * from.column]);
      }
    }
  }
}

template <class From, class To>
constexpr bool has_conversion() {
  constexpr DType from = dtype_of<From>();
  constexpr DType to = dtype_of<To>();
  if (from == to || to == DType::boolean) return true;
  if (is_floating(from) != is_floating(to)) return to == DType::float64;  // means of integers
  if (is_floating(from)) return from >= DType::float32 || to >= DType::float32;
  return to == DType::int64 || from == DType::int64;
}

}  // namespace

ConvertPlane find_convert(DType from, DType to) {
  const ConvertPlane found = visit_dtype(from, [to]<class From>(TypeTag<From>) {
    return visit_dtype(to, []<class To>(TypeTag<To>) -> ConvertPlane {
      if constexpr (has_conversion<From, To>()) return convert_plane<From, To>;
      return nullptr;
    });
  });
  if (found == nullptr) [[unlikely]] {
    throw DTypeError("reduce", "no conversion from " + std::string(name_of(from)) + " to " +
                                   std::string(name_of(to)));
  }
  return found;
}

}  // namespace tenure::kernels::reduce
#endif
