#include "tenure/kernels/cpu/random/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "tenure/kernels/parallel.h"
#include "tenure/ops/random/domain.h"

namespace tenure::kernels {
namespace {

// A multiple of what one counter gives, so that every range begins with a whole counter.
constexpr std::int64_t kGrain = 1 << 14;
// Words are made this many at a time, on the stack.
constexpr std::int64_t kBatch = 1024;

__extension__ using Wide = unsigned __int128;

/// The upper half of the product: an integer in [0, bound) from a random word.
std::uint64_t scale(std::uint64_t word, std::uint64_t bound) {
  return static_cast<std::uint64_t>((Wide{word} * bound) >> 64);
}

/// Calls `f(begin, count, words)` on batches of the positions [begin, end), with one random W each.
template <class W, class F>
void for_words(PhiloxStream stream, std::int64_t begin, std::int64_t end, const F& f) {
  constexpr std::int64_t kPerCounter = 16 / sizeof(W);
  alignas(64) std::uint32_t bits[kBatch * sizeof(W) / 4];
  for (; begin < end; begin += kBatch) {
    const std::int64_t n = std::min(kBatch, end - begin);
    const auto first = stream.offset + static_cast<std::uint64_t>(begin / kPerCounter);
    philox::words(stream.seed, first, (n + kPerCounter - 1) / kPerCounter, bits);
    f(begin, n, [&bits](std::int64_t i) {
      W word;
      std::memcpy(&word, bits + i * std::int64_t{sizeof(W) / 4}, sizeof(W));
      return word;
    });
  }
}

/// for_words over all of [0, n), on several threads.
template <class W, class F>
void fill_from_words(PhiloxStream stream, std::int64_t n, const F& f) {
  parallel_for(n, kGrain,
               [&](std::int64_t begin, std::int64_t end) { for_words<W>(stream, begin, end, f); });
}

/// The largest T below `value`.
template <class T>
T below(double value) {
  if constexpr (sizeof(T) == 2) {
    T result(static_cast<float>(value));
    while (!(static_cast<double>(static_cast<float>(result)) < value)) {
      const auto bits = result.bits;
      const bool negative = (bits & 0x8000u) != 0;
      const auto lower = bits == 0 ? 0x8001u : negative ? bits + 1u : bits - 1u;
      result = T::from_bits(static_cast<std::uint16_t>(lower));
    }
    return result;
  } else {
    const T result = static_cast<T>(value);
    if (static_cast<double>(result) < value) return result;
    return std::nextafter(result, -std::numeric_limits<T>::infinity());
  }
}

template <class F>
void visit_floating(DType dtype, F&& f) {
  visit_dtype(dtype, [&]<class T>(TypeTag<T> tag) {
    if constexpr (!std::is_integral_v<T>) f(tag);
  });
}

/// The type in which the numbers of a T are made.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace

void uniform(const View& out, PhiloxStream stream, double low, double high) {
  ops::check_uniform(out.dtype, low, high);
  visit_floating(out.dtype, [&]<class T>(TypeTag<T>) {
    using C = Compute<T>;
    using W = std::conditional_t<sizeof(C) == 8, std::uint64_t, std::uint32_t>;
    using Signed = std::make_signed_t<W>;
    constexpr int kCut = sizeof(C) == 8 ? 11 : 8;
    constexpr C kUnit = sizeof(C) == 8 ? static_cast<C>(0x1p-53) : static_cast<C>(0x1p-24);
    const C start = static_cast<C>(low);
    const C width = static_cast<C>(high - low);
    const C last = low == high ? start : static_cast<C>(below<T>(high));
    T* data = out.as<T>();
    fill_from_words<W>(stream, out.count(), [=](auto begin, auto n, const auto& word) {
      for (std::int64_t i = 0; i < n; ++i) {
        // Signed, because that conversion is an instruction.
        const auto unit = static_cast<C>(static_cast<Signed>(word(i) >> kCut)) * kUnit;
        // Rounding is monotone: what is not above `last` does not round above it.
        data[begin + i] = T(std::min(start + unit * width, last));
      }
    });
  });
}

void normal(const View& out, PhiloxStream stream, double mean, double deviation) {
  ops::check_normal(out.dtype, deviation);
  visit_floating(out.dtype, [&]<class T>(TypeTag<T>) {
    using C = Compute<T>;
    constexpr std::int64_t kPerCounter = 16 / sizeof(C);
    const auto fill = [&](std::int64_t begin, std::int64_t n, C* to) {
      philox::normals(stream.seed, stream.offset + static_cast<std::uint64_t>(begin / kPerCounter),
                      n, static_cast<C>(mean), static_cast<C>(deviation), to);
    };
    T* data = out.as<T>();
    parallel_for(out.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      if constexpr (std::is_same_v<T, C>) {
        fill(begin, end - begin, data + begin);
      } else {
        float batch[kBatch];
        for (; begin < end; begin += kBatch) {
          const std::int64_t n = std::min(kBatch, end - begin);
          fill(begin, n, batch);
          for (std::int64_t i = 0; i < n; ++i) data[begin + i] = T(batch[i]);
        }
      }
    });
  });
}

void bernoulli(const View& out, PhiloxStream stream, double p) {
  ops::check_bernoulli(p);
  const auto ones = static_cast<std::uint64_t>(std::llround(p * 0x1p32));  // of 2^32 words
  visit_dtype(out.dtype, [&]<class T>(TypeTag<T>) {
    T* data = out.as<T>();
    const T one = T(1);
    const T zero = T(0);
    if (ones == 0) {
      std::fill_n(data, out.count(), zero);
      return;
    }
    const auto last = static_cast<std::uint32_t>(ones - 1);
    fill_from_words<std::uint32_t>(stream, out.count(), [=](auto begin, auto n, const auto& word) {
      for (std::int64_t i = 0; i < n; ++i) data[begin + i] = word(i) <= last ? one : zero;
    });
  });
}

void randint(const View& out, PhiloxStream stream, std::int64_t low, std::int64_t high) {
  ops::check_randint(out.dtype, low, high);
  visit_dtype(out.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const auto start = static_cast<std::uint64_t>(low);
      const std::uint64_t width = static_cast<std::uint64_t>(high) - start;
      T* data = out.as<T>();
      fill_from_words<std::uint64_t>(
          stream, out.count(), [=](auto begin, auto n, const auto& word) {
            for (std::int64_t i = 0; i < n; ++i) {
              data[begin + i] = static_cast<T>(start + scale(word(i), width));
            }
          });
    }
  });
}

void permutation(const View& out, PhiloxStream stream) {
  const auto shuffle = [&]<class T>(TypeTag<T>) {
    T* data = out.as<T>();
    for_words<std::uint64_t>(
        stream, 0, out.count(), [&](std::int64_t begin, std::int64_t n, const auto& word) {
          for (std::int64_t i = begin; i < begin + n; ++i) {
            const std::uint64_t j = scale(word(i - begin), static_cast<std::uint64_t>(i) + 1);
            data[i] = data[j];
            data[j] = static_cast<T>(i);
          }
        });
  };
  ops::check_permutation(out.dtype, out.count());
  if (out.dtype == int64) return shuffle(TypeTag<std::int64_t>{});
  shuffle(TypeTag<std::int32_t>{});
}

}  // namespace tenure::kernels
