#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/random/philox.h"
#include "tenure/kernels/view.h"

// Random fills of contiguous outputs. They use integer arithmetic and operations that round alike
// everywhere: every SIMD target and every number of threads makes the same bits.
// Parameters out of their domain throw ValueError, types DTypeError, before anything is written.
namespace tenure::kernels {

/// Counters of a fill of n elements that takes one 32-bit word for each.
constexpr std::uint64_t narrow_counters(std::int64_t n) {
  return (static_cast<std::uint64_t>(n) + 3) / 4;
}
/// Counters of a fill of n elements that takes one 64-bit word for each.
constexpr std::uint64_t wide_counters(std::int64_t n) {
  return (static_cast<std::uint64_t>(n) + 1) / 2;
}

/// Uniform in [low, high), low rounded to the type of `out`; never `high`. Floating types; the unit
/// interval has 24 bits, 53 for float64. If low equals high, that value.
void uniform(const View& out, PhiloxStream stream, double low, double high);
constexpr std::uint64_t uniform_counters(DType dtype, std::int64_t n) {
  return dtype == DType::float64 ? wide_counters(n) : narrow_counters(n);
}

/// Normal, by Box and Muller, within 6.5 deviations of the mean, 8.5 for float64. Floating types.
void normal(const View& out, PhiloxStream stream, double mean, double deviation);
constexpr std::uint64_t normal_counters(DType dtype, std::int64_t n) {
  return uniform_counters(dtype, n);
}

/// One with probability p, rounded to a multiple of 2^-32, or else zero. Any type.
void bernoulli(const View& out, PhiloxStream stream, double p);
constexpr std::uint64_t bernoulli_counters(std::int64_t n) { return narrow_counters(n); }

/// Integers in [low, high), by multiplying a 64-bit word: no value's probability is off by more
/// than 2^-64. Integer types that hold the range.
void randint(const View& out, PhiloxStream stream, std::int64_t low, std::int64_t high);
constexpr std::uint64_t randint_counters(std::int64_t n) { return wide_counters(n); }

/// A permutation of the integers [0, n) in the n elements of `out`, int32 or int64, by Fisher and
/// Yates. Its distribution is within n^2 / 2^65 of the uniform one in total variation. One thread.
void permutation(const View& out, PhiloxStream stream);
constexpr std::uint64_t permutation_counters(std::int64_t n) { return wide_counters(n); }

}  // namespace tenure::kernels
