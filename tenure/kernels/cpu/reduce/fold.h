#pragma once

#include <cstdint>

#include "tenure/tensor/dtype.h"

// The vector loops under the reductions, one instance for each rule and accumulator type. They see
// contiguous elements of that type only: the engine converts and gathers everything else.

namespace tenure::kernels::reduce {

/// What is added up or compared. `p` is a parameter that the caller gives for each output.
enum class Rule {
  sum,             ///< float32, float64, int64
  sum_abs,         ///< from here to sum_exp: float32, float64
  sum_squares,     ///< (p x)^2
  sum_powers,      ///< |x|^p, where 0^0 is 0; one p for all outputs
  sum_deviations,  ///< (x - p)^2
  sum_exp,         ///< exp(x - p)
  prod,            ///< float64, int64
  max,             ///< every type but float16 and bfloat16; NaN wins
  min,
  max_abs,  ///< float32, float64
  min_abs
};

/// Rows that are joined before they reach the partial results. Whoever folds rows in several calls
/// gets what one call gives, to the last bit, if all but the last have a multiple of it.
inline constexpr std::int64_t kFoldedRows = 8;

/// Partial results are pairs of arrays: `high` holds them, `low` what rounding took from sums. Read
/// a sum with `total`. `rows` reads and writes back up to a vector (64 bytes) behind the last one,
/// so both arrays and `p` need that much padding; it may hold other partial results.
struct Fold {
  void (*init)(void* high, void* low, std::int64_t count);
  /// Folds `rows` rows of `width` elements, `stride` apart, into `width` partial results.
  void (*rows)(void* high, void* low, const void* p, const void* src, std::int64_t stride,
               std::int64_t rows, std::int64_t width);
  /// Folds `count` consecutive elements into one partial result.
  void (*run)(void* high, void* low, const void* p, const void* src, std::int64_t count);
  /// Folds `width` partial results into as many others.
  void (*merge)(void* high, void* low, const void* from_high, const void* from_low,
                std::int64_t width);
};

/// The best instance for this machine. Throws DTypeError where there is none.
const Fold& find_fold(Rule rule, DType accumulator);

/// The value of a compensated sum. Past the range of T there is no rounding left to restore.
template <class T>
double total(T high, T low) {
  const double value = high;
  return value - value == 0 ? value + static_cast<double>(low) : value;
}

}  // namespace tenure::kernels::reduce
