#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/reduce/softmax_map.cpp"
#include <hwy/foreach_target.h>
// The order of these includes matters: each target compiles the file again from here.
#include <hwy/highway.h>

#include "tenure/kernels/cpu/reduce/fold-inl.h"
#include "tenure/kernels/cpu/reduce/softmax_map.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::reduce::HWY_NAMESPACE {
namespace {

struct ExpMap {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x, V a, V b) {
    return hn::Mul(shifted_exp(d, x, a), b);
  }
};

struct ScaleMap {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x, V, V b) {
    return hn::Mul(x, b);
  }
};

struct SubtractMap {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x, V a, V b) {
    return hn::Sub(hn::Sub(x, a), b);
  }
};

template <class D>
HWY_INLINE void store_first(D d, hn::Vec<D> v, ElementOf<D>* dst, std::int64_t count) {
  using T = ElementOf<D>;
  alignas(64) T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, lanes);
  for (std::int64_t i = 0; i < count; ++i) dst[i] = lanes[i];
}

template <class M, class T, class Parameters>
HWY_INLINE void map_row(T* dst, const T* src, std::int64_t count, const Parameters& load) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto [a, b] = load(i);
    hn::StoreU(M::apply(d, hn::LoadU(d, src + i), a, b), d, dst + i);
  }
  if (i < count) {
    const auto [a, b] = load(i);
    store_first(d, M::apply(d, load_first(d, src + i, count - i), a, b), dst + i, count - i);
  }
}

template <class V>
struct Pair {
  V a;
  V b;
};

template <class M, class T>
void map_plane(void* dst, std::int64_t dst_stride, const void* src, std::int64_t src_stride,
               std::int64_t rows, std::int64_t width, const void* a, const void* b) {
  const hn::ScalableTag<T> d;
  const auto* pa = static_cast<const T*>(a);
  const auto* pb = static_cast<const T*>(b);
  const auto load = [d, pa, pb](std::int64_t i) HWY_ATTR {
    return Pair<hn::Vec<decltype(d)>>{hn::LoadU(d, pa + i), hn::LoadU(d, pb + i)};
  };
  for (std::int64_t r = 0; r < rows; ++r) {
    map_row<M>(static_cast<T*>(dst) + r * dst_stride, static_cast<const T*>(src) + r * src_stride,
               width, load);
  }
}

template <class M, class T>
void map_run(void* dst, const void* src, std::int64_t count, const void* a, const void* b) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const Pair<V> both{hn::Set(d, *static_cast<const T*>(a)), hn::Set(d, *static_cast<const T*>(b))};
  const auto load = [&both](std::int64_t) HWY_ATTR { return both; };
  map_row<M>(static_cast<T*>(dst), static_cast<const T*>(src), count, load);
}

template <class M, class T>
constexpr Map kMap{map_plane<M, T>, map_run<M, T>};

template <class T>
const Map* find_typed(MapKind kind) {
  switch (kind) {
    case MapKind::exp:
      return &kMap<ExpMap, T>;
    case MapKind::scale:
      return &kMap<ScaleMap, T>;
    case MapKind::subtract:
      return &kMap<SubtractMap, T>;
  }
  return nullptr;
}

const Map* find(MapKind kind, DType dtype) {
  return dtype == DType::float32 ? find_typed<float>(kind) : find_typed<double>(kind);
}

}  // namespace
}  // namespace tenure::kernels::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::reduce {

HWY_EXPORT(find);

const Map& find_map(MapKind kind, DType dtype) {
  internal_check(dtype == DType::float32 || dtype == DType::float64, "maps are of floats");
  return *HWY_DYNAMIC_DISPATCH(find)(kind, dtype);
}

}  // namespace tenure::kernels::reduce
#endif
