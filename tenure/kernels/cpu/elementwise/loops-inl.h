// Turns the body of an op into a Body: the loop over contiguous elements.
#if defined(TENURE_KERNELS_CPU_ELEMENTWISE_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_ELEMENTWISE_LOOPS_INL_H_
#undef TENURE_KERNELS_CPU_ELEMENTWISE_LOOPS_INL_H_
#else
#define TENURE_KERNELS_CPU_ELEMENTWISE_LOOPS_INL_H_
#endif

#include <cstring>
#include <utility>

#include "tenure/kernels/cpu/elementwise/body.h"
#include "tenure/kernels/cpu/elementwise/value-inl.h"
#include "tenure/ops/elementwise/scalar-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

/// Floats, a vector at a time. The last, partial vector goes through padded copies, so that every
/// element takes the same path and its result does not depend on where it stands.
template <class Op, class T, bool stream, std::size_t... I>
HWY_INLINE void vector_loop(const void* const* in, void* out, std::size_t n,
                            std::index_sequence<I...>) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  // In registers: for all that the compiler knows, what is written might be the pointers.
  const T* const from[] = {static_cast<const T*>(in[I])...};
  T* const to = static_cast<T*>(out);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto result = Op::apply(Vec<T>(hn::LoadU(d, from[I] + i))...).raw;
    if constexpr (stream) {
      hn::Stream(result, d, to + i);
    } else {
      hn::StoreU(result, d, to + i);
    }
  }
  if (i == n) return;
  HWY_ALIGN T padded[sizeof...(I)][HWY_MAX_BYTES / sizeof(T)] = {};
  HWY_ALIGN T result[HWY_MAX_BYTES / sizeof(T)];
  (std::memcpy(padded[I], from[I] + i, (n - i) * sizeof(T)), ...);
  hn::Store(Op::apply(Vec<T>(hn::Load(d, padded[I]))...).raw, d, result);
  std::memcpy(to + i, result, (n - i) * sizeof(T));
}

/// Numbers one by one, in a form that the compiler vectorizes.
template <class Op, class T, class To, std::size_t... I>
HWY_INLINE void scalar_loop(const void* const* in, void* out, std::size_t n,
                            std::index_sequence<I...>) {
  using Value = ops::HWY_NAMESPACE::ScalarOf<T>;
  To* const to = static_cast<To*>(out);
  for (std::size_t i = 0; i < n; ++i) {
    to[i] = ops::HWY_NAMESPACE::stored(Op::apply(Value(static_cast<const T*>(in[I])[i])...));
  }
}

template <class Op, class T>
void map_loop(const void* const* in, void* out, std::size_t n) {
  constexpr std::make_index_sequence<Op::arity> inputs;
  if constexpr (std::is_floating_point_v<T>) {
    vector_loop<Op, T, false>(in, out, n, inputs);
  } else {
    scalar_loop<Op, T, T>(in, out, n, inputs);
  }
}
template <class Op, class T>
void streamed_map_loop(const void* const* in, void* out, std::size_t n) {
  vector_loop<Op, T, true>(in, out, n, std::make_index_sequence<Op::arity>());
}

template <class Op, class T>
constexpr Body map_body() {
  constexpr double kWaitsForMemory = 8;  // up to this cost
  if constexpr (std::is_floating_point_v<T> && Op::cost <= kWaitsForMemory) {
    return {map_loop<Op, T>, streamed_map_loop<Op, T>};
  } else {
    return map_loop<Op, T>;
  }
}

/// T... -> bool.
template <class Op, class T>
void test_loop(const void* const* in, void* out, std::size_t n) {
  scalar_loop<Op, T, bool>(in, out, n, std::make_index_sequence<Op::arity>());
}

/// bool, T, T -> T. float32 a vector at a time: compilers make a jump of each element.
template <class Op, class T>
void select_loop(const void* const* in, void* out, std::size_t n) {
  using Value = ops::HWY_NAMESPACE::ScalarOf<T>;
  const auto* const condition = static_cast<const bool*>(in[0]);
  const auto* const a = static_cast<const T*>(in[1]);
  const auto* const b = static_cast<const T*>(in[2]);
  T* const to = static_cast<T*>(out);
  std::size_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    const hn::ScalableTag<T> d;
    const hn::RebindToSigned<decltype(d)> d32;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const std::size_t lanes = hn::Lanes(d);
    for (; i + lanes <= n; i += lanes) {
      const auto bytes = hn::LoadU(d8, reinterpret_cast<const std::uint8_t*>(condition) + i);
      const auto holds = hn::Ne(hn::PromoteTo(d32, bytes), hn::Zero(d32));
      const Mask<T> mask{hn::RebindMask(d, holds)};
      const Vec<T> x = hn::LoadU(d, a + i);
      const Vec<T> y = hn::LoadU(d, b + i);
      hn::StoreU(Op::apply(mask, x, y).raw, d, to + i);
    }
  }
  for (; i < n; ++i) {
    to[i] = ops::HWY_NAMESPACE::stored(Op::apply(condition[i], Value(a[i]), Value(b[i])));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#endif  // include guard
