#pragma once

#include <cstdint>

#include "tenure/ops/random/philox.h"

namespace tenure::kernels {

using ops::narrow_counters;
using ops::PhiloxStream;

}  // namespace tenure::kernels

namespace tenure::kernels::philox {

using namespace ops::philox;

/// Writes the four words of each of the counters [first, first + counters): the key is the seed,
/// the counter stands in the lower half of Philox' 128 bits.
void words(std::uint64_t seed, std::uint64_t first, std::int64_t counters, std::uint32_t* out);

/// Writes n normal numbers, four to a counter for float and two for double: the same bits on every
/// SIMD target.
void normals(std::uint64_t seed, std::uint64_t first, std::int64_t n, float mean, float deviation,
             float* out);
void normals(std::uint64_t seed, std::uint64_t first, std::int64_t n, double mean, double deviation,
             double* out);

}  // namespace tenure::kernels::philox
