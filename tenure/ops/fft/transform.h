#pragma once

#include <cstdint>
#include <span>

#include "tenure/ops/core/record.h"
#include "tenure/ops/fft_ops.h"

// What the records of Fourier transforms and their kernels make of a call. In transform.cpp.

namespace tenure::ops {

/// Of all of them; `interior` of rfft and irfft alone.
struct FftAttributes {
  /// interior: what all elements of a half spectrum are multiplied by but those that stand for one
  /// frequency alone: 1, or what the gradient of the other needs.
  enum : int { points, axis, norm, interior };
};

/// Of fftfreq and rfftfreq.
struct FrequencyAttributes {
  enum : int { points, spacing, dtype };
};

/// A transform turns lines of one kind into lines of another.
enum class FftKind : std::uint8_t { pairs, real_to_half, half_to_real };

struct FftCall {
  FftKind kind = FftKind::pairs;
  bool inverse = false;
  std::int64_t points = 0;  ///< of the transform; a line is cut to them, or goes on with zeros
  int axis = 0;             ///< of input and output
  /// Lines are [outer, size, inner], of numbers or of pairs; the output's are [outer, result,
  /// inner].
  std::int64_t outer = 1;
  std::int64_t size = 0;
  std::int64_t inner = 1;
  std::int64_t result = 0;
  double scale = 1;
  double interior = 1;

  /// Or a typed error.
  FftCall(FftKind kind, bool inverse, const Shape& x, const Attributes& attributes, const char* op);
  std::int64_t lines() const { return outer * inner; }
  /// Of the output.
  Shape shape(const Shape& x) const;
};

}  // namespace tenure::ops
