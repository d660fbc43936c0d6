#pragma once

#include "tenure/kernels/cuda/device/elements.cuh"
#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/pool/pool_arguments.h"

// A thread for each result, or for neighbouring channels of one that fill 16 bytes. Gradients look
// for the windows that have a position, in their order, so that nothing is added from two sides.

namespace tenure::kernels::cuda {

// Indices are of type I: std::int32_t where all elements can be counted in it, which is several
// times as fast.

/// Of numbers that are not negative. By 1, which most axes have, there is nothing to do.
template <class I>
inline I quotient(I a, I b) {
  if (b == 1) return a;
  if constexpr (sizeof(I) > 4) {
    if ((a | b) >> 32 != 0) return a / b;
  }
  return static_cast<I>(static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b));
}

/// An axis of which indices are of type I.
template <class I>
struct AxisOf {
  I in, out, kernel, stride, padding, dilation;

  explicit AxisOf(const PoolAxis& axis)
      : in(static_cast<I>(axis.in)),
        out(static_cast<I>(axis.out)),
        kernel(static_cast<I>(axis.kernel)),
        stride(static_cast<I>(axis.stride)),
        padding(static_cast<I>(axis.padding)),
        dilation(static_cast<I>(axis.dilation)) {}

  I first(I o) const { return kernel == 0 ? quotient(o * in, out) : o * stride - padding; }
  I places(I o) const {
    if (kernel != 0) return kernel;
    return quotient((o + 1) * in + out - 1, out) - quotient(o * in, out);
  }
  I most_places() const { return kernel == 0 ? quotient(in + out - 1, out) + 1 : kernel; }
  /// The places of window o that lie inside: [begin, end).
  I begin(I o) const {
    const I at = first(o);
    return at >= 0 ? 0 : quotient(-at + dilation - 1, dilation);
  }
  I end(I o) const {
    const I room = in - first(o);
    const I fit = room <= 0 ? 0 : quotient(room + dilation - 1, dilation);
    const I all = places(o);
    return all < fit ? all : fit;
  }
  /// The place of a position in window o, or -1.
  I place_in(I o, I position) const {
    const I from = position - first(o);
    if (from < 0) return -1;
    const I place = quotient(from, dilation);
    if (place * dilation != from) return -1;
    return place < places(o) ? place : -1;
  }
  /// The windows that may have a position: [first, end).
  I first_window(I position) const {
    I o = 0;
    if (kernel == 0) {
      o = quotient(position * out, in) - 1;
    } else {
      const I from = position + padding - (kernel - 1) * dilation;
      o = from <= 0 ? 0 : quotient(from + stride - 1, stride);
    }
    return o < 0 ? 0 : o;
  }
  I end_window(I position) const {
    const I end = kernel == 0 ? quotient((position + 1) * out, in) + 2
                              : quotient(position + padding, stride) + 1;
    return end < out ? end : out;
  }
};

/// Which image, position or window, and channel an element has.
template <class I>
struct PoolSpot {
  I image;
  I at[3];
  I channel;
};

/// Of the i-th of `n` neighbouring channels.
template <class I>
inline PoolSpot<I> pool_spot(const PoolArguments& a, std::uint64_t i, bool is_window, int n = 1) {
  PoolSpot<I> spot;
  auto rest = static_cast<I>(i);
  const auto next = [&](I size) {
    const I outer = quotient(rest, size);
    const I inner = rest - outer * size;
    rest = outer;
    return inner;
  };
  spot.channel = next(static_cast<I>(a.channels) / n) * n;
  for (int d = 2; d >= 0; --d) {
    spot.at[d] = next(static_cast<I>(is_window ? a.axes[d].out : a.axes[d].in));
  }
  spot.image = rest;
  return spot;
}

template <class I>
inline I pool_offset(const PoolOperand& operand, const PoolSpot<I>& spot, I z, I y, I x) {
  const std::int64_t(&s)[5] = operand.strides;
  return spot.image * static_cast<I>(s[0]) + z * static_cast<I>(s[1]) + y * static_cast<I>(s[2]) +
         x * static_cast<I>(s[3]) + spot.channel * static_cast<I>(s[4]);
}
template <class T, class I>
inline T* pool_element(const PoolOperand& operand, const PoolSpot<I>& spot) {
  return static_cast<T*>(operand.data) +
         pool_offset(operand, spot, spot.at[0], spot.at[1], spot.at[2]);
}

inline std::uint64_t pool_count(const PoolArguments& a, bool is_window) {
  std::int64_t n = a.batch * a.channels;
  for (int d = 0; d < 3; ++d) n *= is_window ? a.axes[d].out : a.axes[d].in;
  return static_cast<std::uint64_t>(n);
}

/// Calls `f(place, offset)` for the places of a window inside the image.
template <class I, class F>
inline void for_each_place(const PoolArguments& a, const PoolSpot<I>& w, const F& f) {
  const AxisOf<I> z(a.axes[0]);
  const AxisOf<I> y(a.axes[1]);
  const AxisOf<I> x(a.axes[2]);
  for (I i = z.begin(w.at[0]); i < z.end(w.at[0]); ++i) {
    for (I j = y.begin(w.at[1]); j < y.end(w.at[1]); ++j) {
      for (I k = x.begin(w.at[2]); k < x.end(w.at[2]); ++k) {
        f((i * y.most_places() + j) * x.most_places() + k,
          pool_offset(a.images, w, z.first(w.at[0]) + i * z.dilation,
                      y.first(w.at[1]) + j * y.dilation, x.first(w.at[2]) + k * x.dilation));
      }
    }
  }
}

/// Calls `f(window, place)` for the windows that have a position.
template <class I, class F>
inline void for_each_window(const PoolArguments& a, const PoolSpot<I>& p, const F& f) {
  const AxisOf<I> z(a.axes[0]);
  const AxisOf<I> y(a.axes[1]);
  const AxisOf<I> x(a.axes[2]);
  PoolSpot<I> w = p;
  for (w.at[0] = z.first_window(p.at[0]); w.at[0] < z.end_window(p.at[0]); ++w.at[0]) {
    const I i = z.place_in(w.at[0], p.at[0]);
    if (i < 0) continue;
    for (w.at[1] = y.first_window(p.at[1]); w.at[1] < y.end_window(p.at[1]); ++w.at[1]) {
      const I j = y.place_in(w.at[1], p.at[1]);
      if (j < 0) continue;
      for (w.at[2] = x.first_window(p.at[2]); w.at[2] < x.end_window(p.at[2]); ++w.at[2]) {
        const I k = x.place_in(w.at[2], p.at[2]);
        if (k >= 0) f(w, (i * y.most_places() + j) * x.most_places() + k);
      }
    }
  }
}

/// Neighbouring channels of a T that a thread has.
template <class T>
inline constexpr int kPooledAtOnce = 16 / sizeof(T);

template <class T, int n, class I>
inline Elements<T, n>& pool_elements(const PoolOperand& operand, const PoolSpot<I>& spot) {
  return *reinterpret_cast<Elements<T, n>*>(pool_element<T>(operand, spot));
}

template <class T, class P, int n, class I>
inline void max_pool_channels(const PoolArguments& a) {
  using V = Compute<T>;
  const std::uint64_t count = pool_count(a, true) / n;
  for (std::uint64_t i = thread_index(); i < count; i += thread_count()) {
    const PoolSpot<I> window = pool_spot<I>(a, i, true, n);
    V best[n];
    I number[n];
    for (int j = 0; j < n; ++j) {
      best[j] = -std::numeric_limits<V>::infinity();
      number[j] = -1;
    }
    for_each_place(a, window, [&](I place, I at) {
      const T* const first = static_cast<const T*>(a.images.data) + at;
      const auto values = *reinterpret_cast<const Elements<T, n>*>(first);
      for (int j = 0; j < n; ++j) {
        const V value = static_cast<V>(values.of[j]);
        if (number[j] < 0) number[j] = place;
        // Not smaller or equal: NaN counts as larger, and stays.
        if (value <= best[j] || best[j] != best[j]) continue;
        best[j] = value;
        number[j] = place;
      }
    });
    Elements<T, n> results;
    Elements<P, n> places;
    for (int j = 0; j < n; ++j) {
      results.of[j] = static_cast<T>(best[j]);
      places.of[j] = static_cast<P>(number[j]);
    }
    pool_elements<T, n>(a.windows, window) = results;
    pool_elements<P, n>(a.places, window) = places;
  }
}
template <class T, class P>
inline void max_pool(const PoolArguments& a) {
  if (a.packed != 0) {
    max_pool_channels<T, P, kPooledAtOnce<T>, std::int32_t>(a);
  } else {
    max_pool_channels<T, P, 1, std::int64_t>(a);
  }
}

template <class T, class P, int n, class I>
inline void max_pool_gradient_channels(const PoolArguments& a) {
  using V = Compute<T>;
  const std::uint64_t count = pool_count(a, false) / n;
  for (std::uint64_t i = thread_index(); i < count; i += thread_count()) {
    const PoolSpot<I> position = pool_spot<I>(a, i, false, n);
    V sums[n] = {};
    for_each_window(a, position, [&](const PoolSpot<I>& window, I place) {
      const Elements<P, n> places = pool_elements<P, n>(a.places, window);
      const Elements<T, n> values = pool_elements<T, n>(a.windows, window);
      for (int j = 0; j < n; ++j) {
        if (static_cast<I>(places.of[j]) == place) {
          sums[j] += static_cast<V>(values.of[j]);
        }
      }
    });
    Elements<T, n> results;
    for (int j = 0; j < n; ++j) results.of[j] = static_cast<T>(sums[j]);
    pool_elements<T, n>(a.images, position) = results;
  }
}
template <class T, class P>
inline void max_pool_gradient(const PoolArguments& a) {
  if (a.packed != 0) {
    max_pool_gradient_channels<T, P, kPooledAtOnce<T>, std::int32_t>(a);
  } else {
    max_pool_gradient_channels<T, P, 1, std::int64_t>(a);
  }
}

template <class T, class P>
inline void max_pool_select(const PoolArguments& a) {
  const std::uint64_t n = pool_count(a, true);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    const PoolSpot<std::int64_t> w = pool_spot<std::int64_t>(a, i, true);
    auto place = static_cast<std::int64_t>(*pool_element<const P>(a.places, w));
    std::int64_t at[3];
    for (int d = 2; d >= 0; --d) {
      const AxisOf<std::int64_t> axis(a.axes[d]);
      const std::int64_t most = axis.most_places();
      at[d] = axis.first(w.at[d]) + (d == 0 ? place : place % most) * axis.dilation;
      place /= most;
    }
    *pool_element<T>(a.windows, w) =
        static_cast<const T*>(a.images.data)[pool_offset(a.images, w, at[0], at[1], at[2])];
  }
}

template <class V>
inline V average_scale(const PoolArguments& a, const PoolSpot<std::int64_t>& window) {
  std::int64_t count = 1;
  for (int d = 0; d < 3; ++d) {
    const AxisOf<std::int64_t> axis(a.axes[d]);
    count *= a.counts_padding != 0 ? axis.places(window.at[d])
                                   : axis.end(window.at[d]) - axis.begin(window.at[d]);
  }
  return V(1) / static_cast<V>(count);
}

template <class T>
inline void average_pool(const PoolArguments& a) {
  using V = Compute<T>;
  const std::uint64_t n = pool_count(a, true);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    const PoolSpot<std::int64_t> window = pool_spot<std::int64_t>(a, i, true);
    const V scale = average_scale<V>(a, window);
    V sum = 0;
    for_each_place(a, window, [&](std::int64_t, std::int64_t at) {
      sum = std::fma(static_cast<V>(static_cast<const T*>(a.images.data)[at]), scale, sum);
    });
    *pool_element<T>(a.windows, window) = static_cast<T>(sum);
  }
}

template <class T>
inline void average_pool_gradient(const PoolArguments& a) {
  using V = Compute<T>;
  const std::uint64_t n = pool_count(a, false);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    const PoolSpot<std::int64_t> position = pool_spot<std::int64_t>(a, i, false);
    V sum = 0;
    for_each_window(a, position, [&](const PoolSpot<std::int64_t>& window, std::int64_t) {
      sum = std::fma(static_cast<V>(*pool_element<const T>(a.windows, window)),
                     average_scale<V>(a, window), sum);
    });
    *pool_element<T>(a.images, position) = static_cast<T>(sum);
  }
}

}  // namespace tenure::kernels::cuda
