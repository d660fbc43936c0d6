#pragma once

#include "tenure/kernels/cuda/device/elements.cuh"
#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/pool/pool_arguments.h"

// A thread for each result, or for neighbouring channels of one that fill 16 bytes. Gradients look
// for the windows that have a position, in their order, so that nothing is added from two sides.

namespace tenure::kernels::cuda {

/// Of numbers that are not negative; divisions of 32 bits are many times as fast.
inline std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if ((a | b) >> 32 != 0) return a / b;
  return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
}

inline std::int64_t first_of(const PoolAxis& axis, std::int64_t o) {
  return axis.kernel == 0 ? o * axis.in / axis.out : o * axis.stride - axis.padding;
}
inline std::int64_t places_of(const PoolAxis& axis, std::int64_t o) {
  if (axis.kernel != 0) return axis.kernel;
  return ((o + 1) * axis.in + axis.out - 1) / axis.out - o * axis.in / axis.out;
}
inline std::int64_t most_places(const PoolAxis& axis) {
  return axis.kernel == 0 ? (axis.in + axis.out - 1) / axis.out + 1 : axis.kernel;
}
/// The places of window o that lie inside: [begin, end).
inline std::int64_t begin_of(const PoolAxis& axis, std::int64_t o) {
  const std::int64_t at = first_of(axis, o);
  return at >= 0 ? 0 : quotient(-at + axis.dilation - 1, axis.dilation);
}
inline std::int64_t end_of(const PoolAxis& axis, std::int64_t o) {
  const std::int64_t room = axis.in - first_of(axis, o);
  const std::int64_t fit = room <= 0 ? 0 : quotient(room + axis.dilation - 1, axis.dilation);
  const std::int64_t places = places_of(axis, o);
  return places < fit ? places : fit;
}
/// The place of a position in window o, or -1.
inline std::int64_t place_in(const PoolAxis& axis, std::int64_t o, std::int64_t position) {
  const std::int64_t from = position - first_of(axis, o);
  if (from < 0) return -1;
  const std::int64_t place = quotient(from, axis.dilation);
  if (place * axis.dilation != from) return -1;
  return place < places_of(axis, o) ? place : -1;
}
/// The windows that may have a position: [begin, end).
inline std::int64_t first_window(const PoolAxis& axis, std::int64_t position) {
  std::int64_t o = 0;
  if (axis.kernel == 0) {
    o = position * axis.out / axis.in - 1;
  } else {
    const std::int64_t from = position + axis.padding - (axis.kernel - 1) * axis.dilation;
    o = from <= 0 ? 0 : quotient(from + axis.stride - 1, axis.stride);
  }
  return o < 0 ? 0 : o;
}
inline std::int64_t end_window(const PoolAxis& axis, std::int64_t position) {
  const std::int64_t end = axis.kernel == 0 ? (position + 1) * axis.out / axis.in + 2
                                            : quotient(position + axis.padding, axis.stride) + 1;
  return end < axis.out ? end : axis.out;
}

/// Which image, position or window, and channel an element has.
struct PoolSpot {
  std::int64_t image;
  std::int64_t at[3];
  std::int64_t channel;
};

/// Of the i-th of `n` neighbouring channels.
inline PoolSpot pool_spot(const PoolArguments& a, std::uint64_t i, bool is_window, int n = 1) {
  PoolSpot spot;
  auto rest = static_cast<std::int64_t>(i);
  const auto next = [&](std::int64_t size) {
    const std::int64_t outer = quotient(rest, size);
    const std::int64_t inner = rest - outer * size;
    rest = outer;
    return inner;
  };
  spot.channel = next(quotient(a.channels, n)) * n;
  for (int d = 2; d >= 0; --d) spot.at[d] = next(is_window ? a.axes[d].out : a.axes[d].in);
  spot.image = rest;
  return spot;
}

inline std::int64_t pool_offset(const PoolOperand& operand, const PoolSpot& spot, std::int64_t z,
                                std::int64_t y, std::int64_t x) {
  const std::int64_t(&s)[5] = operand.strides;
  return spot.image * s[0] + z * s[1] + y * s[2] + x * s[3] + spot.channel * s[4];
}
template <class T>
inline T* pool_element(const PoolOperand& operand, const PoolSpot& spot) {
  return static_cast<T*>(operand.data) +
         pool_offset(operand, spot, spot.at[0], spot.at[1], spot.at[2]);
}

inline std::uint64_t pool_count(const PoolArguments& a, bool is_window) {
  std::int64_t n = a.batch * a.channels;
  for (int d = 0; d < 3; ++d) n *= is_window ? a.axes[d].out : a.axes[d].in;
  return static_cast<std::uint64_t>(n);
}

/// Calls `f(place, offset)` for the places of a window inside the image.
template <class F>
inline void for_each_place(const PoolArguments& a, const PoolSpot& w, const F& f) {
  const PoolAxis(&axes)[3] = a.axes;
  for (std::int64_t i = begin_of(axes[0], w.at[0]); i < end_of(axes[0], w.at[0]); ++i) {
    for (std::int64_t j = begin_of(axes[1], w.at[1]); j < end_of(axes[1], w.at[1]); ++j) {
      for (std::int64_t k = begin_of(axes[2], w.at[2]); k < end_of(axes[2], w.at[2]); ++k) {
        f((i * most_places(axes[1]) + j) * most_places(axes[2]) + k,
          pool_offset(a.images, w, first_of(axes[0], w.at[0]) + i * axes[0].dilation,
                      first_of(axes[1], w.at[1]) + j * axes[1].dilation,
                      first_of(axes[2], w.at[2]) + k * axes[2].dilation));
      }
    }
  }
}

/// Calls `f(window, place)` for the windows that have a position.
template <class F>
inline void for_each_window(const PoolArguments& a, const PoolSpot& p, const F& f) {
  const PoolAxis(&axes)[3] = a.axes;
  PoolSpot w = p;
  for (w.at[0] = first_window(axes[0], p.at[0]); w.at[0] < end_window(axes[0], p.at[0]);
       ++w.at[0]) {
    const std::int64_t i = place_in(axes[0], w.at[0], p.at[0]);
    if (i < 0) continue;
    for (w.at[1] = first_window(axes[1], p.at[1]); w.at[1] < end_window(axes[1], p.at[1]);
         ++w.at[1]) {
      const std::int64_t j = place_in(axes[1], w.at[1], p.at[1]);
      if (j < 0) continue;
      for (w.at[2] = first_window(axes[2], p.at[2]); w.at[2] < end_window(axes[2], p.at[2]);
           ++w.at[2]) {
        const std::int64_t k = place_in(axes[2], w.at[2], p.at[2]);
        if (k >= 0) f(w, (i * most_places(axes[1]) + j) * most_places(axes[2]) + k);
      }
    }
  }
}

/// Neighbouring channels of a T that a thread has.
template <class T>
inline constexpr int kPooledAtOnce = 16 / sizeof(T);

template <class T, int n>
inline Elements<T, n>& pool_elements(const PoolOperand& operand, const PoolSpot& spot) {
  return *reinterpret_cast<Elements<T, n>*>(pool_element<T>(operand, spot));
}

template <class T, class P, int n>
inline void max_pool_channels(const PoolArguments& a) {
  using V = Compute<T>;
  const std::uint64_t count = pool_count(a, true) / n;
  for (std::uint64_t i = thread_index(); i < count; i += thread_count()) {
    const PoolSpot window = pool_spot(a, i, true, n);
    V best[n];
    std::int64_t number[n];
    for (int j = 0; j < n; ++j) {
      best[j] = -std::numeric_limits<V>::infinity();
      number[j] = -1;
    }
    for_each_place(a, window, [&](std::int64_t place, std::int64_t at) {
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
    max_pool_channels<T, P, kPooledAtOnce<T>>(a);
  } else {
    max_pool_channels<T, P, 1>(a);
  }
}

template <class T, class P, int n>
inline void max_pool_gradient_channels(const PoolArguments& a) {
  using V = Compute<T>;
  const std::uint64_t count = pool_count(a, false) / n;
  for (std::uint64_t i = thread_index(); i < count; i += thread_count()) {
    const PoolSpot position = pool_spot(a, i, false, n);
    V sums[n] = {};
    for_each_window(a, position, [&](const PoolSpot& window, std::int64_t place) {
      const Elements<P, n> places = pool_elements<P, n>(a.places, window);
      const Elements<T, n> values = pool_elements<T, n>(a.windows, window);
      for (int j = 0; j < n; ++j) {
        if (static_cast<std::int64_t>(places.of[j]) == place) {
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
    max_pool_gradient_channels<T, P, kPooledAtOnce<T>>(a);
  } else {
    max_pool_gradient_channels<T, P, 1>(a);
  }
}

template <class T, class P>
inline void max_pool_select(const PoolArguments& a) {
  const std::uint64_t n = pool_count(a, true);
  const PoolAxis(&axes)[3] = a.axes;
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    const PoolSpot w = pool_spot(a, i, true);
    auto place = static_cast<std::int64_t>(*pool_element<const P>(a.places, w));
    std::int64_t at[3];
    for (int d = 2; d >= 0; --d) {
      const std::int64_t most = most_places(axes[d]);
      at[d] = first_of(axes[d], w.at[d]) + (d == 0 ? place : place % most) * axes[d].dilation;
      place /= most;
    }
    *pool_element<T>(a.windows, w) =
        static_cast<const T*>(a.images.data)[pool_offset(a.images, w, at[0], at[1], at[2])];
  }
}

template <class V>
inline V average_scale(const PoolArguments& a, const PoolSpot& window) {
  std::int64_t count = 1;
  for (int d = 0; d < 3; ++d) {
    const PoolAxis& axis = a.axes[d];
    count *= a.counts_padding != 0 ? places_of(axis, window.at[d])
                                   : end_of(axis, window.at[d]) - begin_of(axis, window.at[d]);
  }
  return V(1) / static_cast<V>(count);
}

template <class T>
inline void average_pool(const PoolArguments& a) {
  using V = Compute<T>;
  const std::uint64_t n = pool_count(a, true);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    const PoolSpot window = pool_spot(a, i, true);
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
    const PoolSpot position = pool_spot(a, i, false);
    V sum = 0;
    for_each_window(a, position, [&](const PoolSpot& window, std::int64_t) {
      sum = std::fma(static_cast<V>(*pool_element<const T>(a.windows, window)),
                     average_scale<V>(a, window), sum);
    });
    *pool_element<T>(a.images, position) = static_cast<T>(sum);
  }
}

}  // namespace tenure::kernels::cuda
