#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "tenure/ops/core/reference.h"
#include "tenure/ops/random/philox.h"

// What the random ops are meant to produce, element by element, for their references.

namespace tenure::ops {

/// The random words of a stream, by their place.
class RandomWords {
 public:
  explicit RandomWords(PhiloxStream stream) : stream_(stream) {}

  std::uint32_t narrow(std::int64_t i) const {
    return block(i / 4)[static_cast<std::size_t>(i % 4)];
  }
  std::uint64_t wide(std::int64_t i) const {
    const auto words = block(i / 2);
    const auto first = static_cast<std::size_t>(i % 2 * 2);
    return words[first] | static_cast<std::uint64_t>(words[first + 1]) << 32;
  }

 private:
  std::array<std::uint32_t, 4> block(std::int64_t i) const {
    const std::uint64_t counter = stream_.offset + static_cast<std::uint64_t>(i);
    return philox::block(
        {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0},
        {static_cast<std::uint32_t>(stream_.seed), static_cast<std::uint32_t>(stream_.seed >> 32)});
  }

  PhiloxStream stream_;
};

/// An integer in [0, bound).
inline std::uint64_t scaled(std::uint64_t word, std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{word} * bound >> 64);
}

/// The two normal numbers that Box and Muller make of two words, in the precision of T up to the
/// logarithm's argument (which decides how many words give one number), and exact from there on.
template <class T, class W>
std::pair<long double, long double> box_muller(W u1, W u2) {
  using Signed = std::make_signed_t<W>;
  constexpr int kBits = 8 * sizeof(W);
  constexpr int kCut = sizeof(T) == 4 ? 1 : 11;
  const T numerator = static_cast<T>(static_cast<Signed>(u1 >> kCut)) + T{1};
  const long double u = std::ldexp(static_cast<long double>(numerator), kCut - kBits);
  const long double radius = std::sqrt(-2 * std::log(u));
  // Exactly to the nearest quarter of a turn, so that small sines and cosines keep their digits.
  const W quarter = static_cast<W>(u2 + (W{1} << (kBits - 3))) >> (kBits - 2);
  const auto rest = static_cast<Signed>(u2 - (quarter << (kBits - 2)));
  constexpr long double kTurn = 6.283185307179586476925286766559L;
  const long double angle = std::ldexp(kTurn * rest, -kBits);
  const long double s = radius * std::sin(angle);
  const long double c = radius * std::cos(angle);
  switch (quarter) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

/// Standard normal number i of a fill: counters of four words give four floats or two doubles.
inline long double standard_normal(const RandomWords& words, DType dtype, std::int64_t i) {
  const std::int64_t first = i - i % 2;
  const auto pair = dtype == DType::float64
                        ? box_muller<double>(words.wide(first), words.wide(first + 1))
                        : box_muller<float>(words.narrow(first), words.narrow(first + 1));
  return i % 2 == 0 ? pair.first : pair.second;
}

}  // namespace tenure::ops
