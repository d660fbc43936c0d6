#include "tenure/kernels/cpu/pool/pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/pool/pool.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "tenure/kernels/cpu/reduce/chains-inl.h"

#ifndef TENURE_KERNELS_CPU_POOL_ONCE
#define TENURE_KERNELS_CPU_POOL_ONCE
namespace tenure::kernels::pool {

/// Calls `f(place, source)` for the places of window (z, y, x) inside the image: the number of the
/// place, and which position of the image it is.
template <class F>
void for_each_place(const Pooling& p, std::int64_t z, std::int64_t y, std::int64_t x, F&& f) {
  const auto& [a, b, c] = p.axes;
  for (std::int64_t i = a.begin(z); i < a.end(z); ++i) {
    for (std::int64_t j = b.begin(y); j < b.end(y); ++j) {
      const std::int64_t row = (a.first(z) + i * a.dilation) * b.in + b.first(y) + j * b.dilation;
      for (std::int64_t k = c.begin(x); k < c.end(x); ++k) {
        f((i * b.most() + j) * c.most() + k, row * c.in + c.first(x) + k * c.dilation);
      }
    }
  }
}

/// What one thread computes: a part of the batch, of all channels.
using PoolPart = void (*)(const Pooling&, PoolCount, const void* from, void* to, void* places,
                          bool wide, std::int64_t begin, std::int64_t end);

enum class PoolKind : std::uint8_t {
  max,
  max_gradient,
  max_select,
  average,
  average_gradient,
};

}  // namespace tenure::kernels::pool
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::pool {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Channels that are computed together; the state of a window is on the stack.
constexpr std::int64_t kChannels = 256;

/// Calls `f(window, z, y, x, from, to)` for the windows of images [begin, end), with the elements
/// of the input's image and of the window.
template <class T, class F>
HWY_INLINE void for_each_window(const Pooling& p, std::int64_t begin, std::int64_t end, F&& f) {
  const auto& [a, b, c] = p.axes;
  for (std::int64_t n = begin; n < end; ++n) {
    const std::int64_t image = n * a.in * b.in * c.in;
    std::int64_t window = n * a.out * b.out * c.out;
    for (std::int64_t z = 0; z < a.out; ++z) {
      for (std::int64_t y = 0; y < b.out; ++y) {
        for (std::int64_t x = 0; x < c.out; ++x) {
          f(window++ * p.channels, image * p.channels, z, y, x);
        }
      }
    }
  }
}

template <class T>
HWY_INLINE void take_larger(const T* x, T place, std::int64_t n, T* best, T* places) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto number = hn::Set(d, place);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto old = hn::Load(d, best + i);
    const auto now = hn::LoadU(d, x + i);
    // Not smaller or equal: NaN counts as larger, and stays.
    const auto larger = hn::AndNot(hn::Le(now, old), hn::Eq(old, old));
    hn::Store(hn::IfThenElse(larger, now, old), d, best + i);
    hn::Store(hn::IfThenElse(larger, number, hn::Load(d, places + i)), d, places + i);
  }
  for (; i < n; ++i) {
    if (x[i] <= best[i] || best[i] != best[i]) continue;
    best[i] = x[i];
    places[i] = place;
  }
}

/// Windows of few places: those of channels [0, n), a vector of them at a time, where n is what
/// is done of `channels`.
template <std::int64_t few, class T>
HWY_INLINE std::int64_t max_of_few(const Pooling& p, std::int64_t z, std::int64_t y, std::int64_t x,
                                   const T* image, T* to, std::uint8_t* numbers) {
  static_assert(sizeof(T) == 4);
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> d32;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* from[few];
  std::int32_t place_of[few];
  std::int64_t places = 0;
  for_each_place(p, z, y, x, [&](std::int64_t place, std::int64_t source) {
    from[places] = image + source * p.channels;
    place_of[places++] = static_cast<std::int32_t>(place);
  });
  if (places == 0) return 0;
  std::int64_t c = 0;
  for (; c + lanes <= p.channels; c += lanes) {
    auto best = hn::Set(d, -std::numeric_limits<T>::infinity());
    auto number = hn::Set(d32, place_of[0]);
    for (std::int64_t i = 0; i < places; ++i) {
      const auto now = hn::LoadU(d, from[i] + c);
      const auto larger = hn::AndNot(hn::Le(now, best), hn::Eq(best, best));  // as take_larger()
      best = hn::IfThenElse(larger, now, best);
      number = hn::IfThenElse(hn::RebindMask(d32, larger), hn::Set(d32, place_of[i]), number);
    }
    hn::StoreU(best, d, to + c);
    hn::StoreU(hn::DemoteTo(d8, number), d8, numbers + c);
  }
  return c;
}

template <class T>
void max_part(const Pooling& p, PoolCount, const void* from, void* to, void* numbers, bool wide,
              std::int64_t begin, std::int64_t end) {
  for_each_window<T>(
      p, begin, end,
      [&](std::int64_t window, std::int64_t image, std::int64_t z, std::int64_t y, std::int64_t x)
          HWY_ATTR {
            HWY_ALIGN T best[kChannels];
            HWY_ALIGN T places[kChannels];
            std::int64_t done = 0;
            if constexpr (sizeof(T) == 4) {
              constexpr std::int64_t kFew = 16;
              if (!wide && p.places() <= kFew) {
                done = max_of_few<kFew>(p, z, y, x, static_cast<const T*>(from) + image,
                                        static_cast<T*>(to) + window,
                                        static_cast<std::uint8_t*>(numbers) + window);
              }
            }
            for (std::int64_t c = done; c < p.channels; c += kChannels) {
              const std::int64_t n = std::min(kChannels, p.channels - c);
              std::fill_n(best, n, -std::numeric_limits<T>::infinity());
              bool is_first = true;
              for_each_place(p, z, y, x, [&](std::int64_t place, std::int64_t source) HWY_ATTR {
                if (is_first) std::fill_n(places, n, static_cast<T>(place));
                is_first = false;
                take_larger(static_cast<const T*>(from) + image + source * p.channels + c,
                            static_cast<T>(place), n, best, places);
              });
              std::copy_n(best, n, static_cast<T*>(to) + window + c);
              for (std::int64_t i = 0; i < n; ++i) {
                if (wide) {
                  static_cast<std::int32_t*>(numbers)[window + c + i] =
                      static_cast<std::int32_t>(places[i]);
                } else {
                  static_cast<std::uint8_t*>(numbers)[window + c + i] =
                      static_cast<std::uint8_t>(static_cast<std::int32_t>(places[i]));
                }
              }
            }
          });
}

/// Which position of the image a place of a window is.
HWY_INLINE std::int64_t position(const Pooling& p, std::int64_t place, std::int64_t z,
                                 std::int64_t y, std::int64_t x) {
  const auto& [a, b, c] = p.axes;
  const std::int64_t k = place % c.most();
  const std::int64_t j = place / c.most() % b.most();
  const std::int64_t i = place / (c.most() * b.most());
  return ((a.first(z) + i * a.dilation) * b.in + b.first(y) + j * b.dilation) * c.in + c.first(x) +
         k * c.dilation;
}

/// dx = dy where the number is `place`, else 0.
template <class T>
HWY_INLINE void spread(const T* dy, const std::uint8_t* numbers, std::uint8_t place, T* dx,
                       std::int64_t n) {
  std::int64_t i = 0;
  if constexpr (sizeof(T) == 4) {
    const hn::ScalableTag<T> d;
    const hn::RebindToSigned<decltype(d)> d32;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto own = hn::Set(d32, std::int32_t{place});
    for (; i + lanes <= n; i += lanes) {
      const auto here = hn::Eq(hn::PromoteTo(d32, hn::LoadU(d8, numbers + i)), own);
      hn::StoreU(hn::IfThenElseZero(hn::RebindMask(d, here), hn::LoadU(d, dy + i)), d, dx + i);
    }
  }
  for (; i < n; ++i) dx[i] = numbers[i] == place ? dy[i] : T{0};
}

/// The gradient of windows that do not overlap: every position gets its number once.
template <class T>
void disjoint_gradient(const Pooling& p, const void* dy, void* dx, const void* numbers,
                       std::int64_t begin, std::int64_t end) {
  for_each_window<T>(
      p, begin, end,
      [&](std::int64_t window, std::int64_t image, std::int64_t z, std::int64_t y, std::int64_t x)
          HWY_ATTR {
            for_each_place(p, z, y, x, [&](std::int64_t place, std::int64_t to) HWY_ATTR {
              spread(static_cast<const T*>(dy) + window,
                     static_cast<const std::uint8_t*>(numbers) + window,
                     static_cast<std::uint8_t>(place),
                     static_cast<T*>(dx) + image + to * p.channels, p.channels);
            });
          });
}

/// `gradient`: adds the windows' numbers to the image; else takes them from it.
template <class T, bool gradient>
void at_places(const Pooling& p, PoolCount, const void* from, void* to, void* numbers, bool wide,
               std::int64_t begin, std::int64_t end) {
  const auto& [a, b, c] = p.axes;
  const std::int64_t image_size = a.in * b.in * c.in * p.channels;
  if (gradient) {
    const bool is_disjoint = p.is_disjoint() && !wide;
    if (!is_disjoint || !p.covers()) {
      std::fill_n(static_cast<T*>(to) + begin * image_size, (end - begin) * image_size, T{0});
    }
    if (is_disjoint) return disjoint_gradient<T>(p, from, to, numbers, begin, end);
  }
  const std::int64_t most = p.places();
  for_each_window<T>(
      p, begin, end,
      [&](std::int64_t window, std::int64_t image, std::int64_t z, std::int64_t y,
          std::int64_t x) HWY_ATTR {
        constexpr std::int64_t kFew = 64;
        std::int64_t positions[kFew];
        for (std::int64_t place = 0; place < std::min(most, kFew); ++place) {
          positions[place] = image + position(p, place, z, y, x) * p.channels;
        }
        for (std::int64_t i = 0; i < p.channels; ++i) {
          const std::int64_t place = wide ? static_cast<const std::int32_t*>(numbers)[window + i]
                                          : static_cast<const std::uint8_t*>(numbers)[window + i];
          const std::int64_t at =
              (place < kFew ? positions[place] : image + position(p, place, z, y, x) * p.channels) +
              i;
          if (gradient) {
            static_cast<T*>(to)[at] += static_cast<const T*>(from)[window + i];
          } else {
            static_cast<T*>(to)[window + i] = static_cast<const T*>(from)[at];
          }
        }
      });
}

/// to[i] = from[i] scale, added or not.
template <class T>
HWY_INLINE void add_scaled(T* to, const T* from, T scale, bool add, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, scale);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto old = add ? hn::LoadU(d, to + i) : hn::Zero(d);
    hn::StoreU(hn::MulAdd(hn::LoadU(d, from + i), factor, old), d, to + i);
  }
  for (; i < n; ++i) to[i] = (add ? to[i] : T{0}) + from[i] * scale;
}

/// The mean of a window of more places than are added up in one chain.
template <class T>
HWY_NOINLINE void average_of_many(const Pooling& p, std::int64_t z, std::int64_t y, std::int64_t x,
                                  const T* image, double count, T* to) {
  using reduce::HWY_NAMESPACE::add_chains;
  HWY_ALIGN T chains[kChannels];
  HWY_ALIGN double totals[kChannels];
  for (std::int64_t c = 0; c < p.channels; c += kChannels) {
    const std::int64_t n = std::min(kChannels, p.channels - c);
    std::fill_n(chains, n, T{0});
    std::fill_n(totals, n, 0.0);
    std::int64_t length = 0;
    for_each_place(p, z, y, x, [&](std::int64_t, std::int64_t source) HWY_ATTR {
      add_scaled(chains, image + source * p.channels + c, T{1}, true, n);
      if (++length % reduce::HWY_NAMESPACE::kChain == 0) add_chains(chains, totals, n);
    });
    add_chains(chains, totals, n);
    for (std::int64_t i = 0; i < n; ++i) to[c + i] = static_cast<T>(totals[i] / count);
  }
}

template <class T, bool gradient>
void average_part(const Pooling& p, PoolCount count, const void* from, void* to, void*, bool,
                  std::int64_t begin, std::int64_t end) {
  const Pooling::Axis &a = p.axes[0], &b = p.axes[1], &c = p.axes[2];
  const std::int64_t image_size = a.in * b.in * c.in * p.channels;
  if (gradient) {
    std::fill_n(static_cast<T*>(to) + begin * image_size, (end - begin) * image_size, T{0});
  }
  for_each_window<T>(
      p, begin, end,
      [&](std::int64_t window, std::int64_t image, std::int64_t z, std::int64_t y, std::int64_t x)
          HWY_ATTR {
            const auto counted = [count](const Pooling::Axis& axis, std::int64_t o) {
              return count == PoolCount::all ? axis.places(o) : axis.end(o) - axis.begin(o);
            };
            const std::int64_t places = counted(a, z) * counted(b, y) * counted(c, x);
            if (!gradient && places > reduce::HWY_NAMESPACE::kChain) {
              return average_of_many(p, z, y, x, static_cast<const T*>(from) + image,
                                     static_cast<double>(places), static_cast<T*>(to) + window);
            }
            const T scale = T{1} / static_cast<T>(places);
            bool add = false;
            for_each_place(p, z, y, x, [&](std::int64_t, std::int64_t source) HWY_ATTR {
              const std::int64_t at = image + source * p.channels;
              if (gradient) {
                add_scaled(static_cast<T*>(to) + at, static_cast<const T*>(from) + window, scale,
                           true, p.channels);
              } else {
                add_scaled(static_cast<T*>(to) + window, static_cast<const T*>(from) + at, scale,
                           add, p.channels);
              }
              add = true;
            });
          });
}

template <class T>
PoolPart find(PoolKind kind) {
  switch (kind) {
    case PoolKind::max:
      return max_part<T>;
    case PoolKind::max_gradient:
      return at_places<T, true>;
    case PoolKind::max_select:
      return at_places<T, false>;
    case PoolKind::average:
      return average_part<T, false>;
    case PoolKind::average_gradient:
      return average_part<T, true>;
  }
  return nullptr;
}

PoolPart find_part(PoolKind kind, DType dtype) {
  return dtype == DType::float32 ? find<float>(kind) : find<double>(kind);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::pool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace pool {
namespace {

HWY_EXPORT(find_part);

void run(PoolKind kind, const Pooling& p, DType dtype, PoolCount count, const void* from, void* to,
         const View& places) {
  const PoolPart part = HWY_DYNAMIC_DISPATCH(find_part)(kind, dtype);
  const bool wide = places.dtype == DType::int32;
  const std::int64_t each =
      std::max<std::int64_t>(1, p.axes[0].in * p.axes[1].in * p.axes[2].in * p.channels);
  parallel_for(p.batch, std::max<std::int64_t>(1, (1 << 14) / each),
               [&](std::int64_t begin, std::int64_t end) {
                 part(p, count, from, to, places.data, wide, begin, end);
               });
}

}  // namespace
}  // namespace pool

using pool::PoolKind;

void max_pool(const Pooling& p, DType dtype, const void* x, void* y, const View& places) {
  pool::run(PoolKind::max, p, dtype, PoolCount::inside, x, y, places);
}
void max_pool_gradient(const Pooling& p, DType dtype, const void* dy, const View& places,
                       void* dx) {
  pool::run(PoolKind::max_gradient, p, dtype, PoolCount::inside, dy, dx, places);
}
void max_pool_select(const Pooling& p, DType dtype, const void* x, const View& places, void* y) {
  pool::run(PoolKind::max_select, p, dtype, PoolCount::inside, x, y, places);
}
void average_pool(const Pooling& p, DType dtype, PoolCount count, const void* x, void* y) {
  pool::run(PoolKind::average, p, dtype, count, x, y, {});
}
void average_pool_gradient(const Pooling& p, DType dtype, PoolCount count, const void* dy,
                           void* dx) {
  pool::run(PoolKind::average_gradient, p, dtype, count, dy, dx, {});
}

}  // namespace tenure::kernels
#endif
