#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/random/philox.h"
#include "tenure/kernels/view.h"

// Random fills of contiguous outputs. They use integer arithmetic and operations that round alike
// everywhere: every SIMD target and every number of threads makes the same bits.
// Parameters out of their domain throw ValueError, types DTypeError, before anything is written.
namespace tenure::kernels {

/// Uniform in [low, high), low rounded to the type of `out`; never `high`. Floating types; the unit
/// interval has 24 bits, 53 for float64. If low equals high, that value.
void uniform(const View& out, PhiloxStream stream, double low, double high);

/// Normal, by Box and Muller, within 6.5 deviations of the mean, 8.5 for float64. Floating types.
void normal(const View& out, PhiloxStream stream, double mean, double deviation);

/// One with probability p, rounded to a multiple of 2^-32, or else zero. Any type.
void bernoulli(const View& out, PhiloxStream stream, double p);

/// Integers in [low, high), by multiplying a 64-bit word: no value's probability is off by more
/// than 2^-64. Integer types that hold the range.
void randint(const View& out, PhiloxStream stream, std::int64_t low, std::int64_t high);

/// A permutation of the integers [0, n) in the n elements of `out`, int32 or int64, by Fisher and
/// Yates. Its distribution is within n^2 / 2^65 of the uniform one in total variation. One thread.
void permutation(const View& out, PhiloxStream stream);

}  // namespace tenure::kernels
