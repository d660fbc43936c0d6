#pragma once

#include <cstdint>
#include <optional>

#include "tenure/ops/core/operand.h"

// Transforms are in fft/transforms.cpp, what is written in them in fft/composites.cpp and
// fft/frames.cpp.

namespace tenure {

// Complex numbers are pairs: a last axis of size 2 with the real and the imaginary part. Axes are
// counted without it. float32 or float64. See docs/fourier.md.

/// What a transform and its inverse are divided by, which both must agree on: the inverse by the
/// number of points, each by its square root, or the transform by it.
enum class FftNorm : std::uint8_t { backward, ortho, forward };

/// The discrete Fourier transform of pairs along an axis, which is cut to n points or goes on with
/// zeros.
Tensor fft(const Operand& x, std::optional<std::int64_t> n = std::nullopt, int axis = -1,
           FftNorm norm = FftNorm::backward);
/// Its inverse.
Tensor ifft(const Operand& x, std::optional<std::int64_t> n = std::nullopt, int axis = -1,
            FftNorm norm = FftNorm::backward);
/// The first n / 2 + 1 pairs of the transform of real numbers: the others are their conjugates.
Tensor rfft(const Operand& x, std::optional<std::int64_t> n = std::nullopt, int axis = -1,
            FftNorm norm = FftNorm::backward);
/// The n real numbers, 2 (m - 1) unless told, that the first m pairs of a transform stand for.
Tensor irfft(const Operand& x, std::optional<std::int64_t> n = std::nullopt, int axis = -1,
             FftNorm norm = FftNorm::backward);

/// fft over the last two axes, cut to `sizes` or as they are.
Tensor fft2(const Operand& x, const Dims& sizes = {}, FftNorm norm = FftNorm::backward);
/// Its inverse.
Tensor ifft2(const Operand& x, const Dims& sizes = {}, FftNorm norm = FftNorm::backward);
/// rfft over the last axis, fft over the one before it.
Tensor rfft2(const Operand& x, const Dims& sizes = {}, FftNorm norm = FftNorm::backward);
/// Its inverse; `sizes` are those of the result.
Tensor irfft2(const Operand& x, const Dims& sizes = {}, FftNorm norm = FftNorm::backward);

/// The frequencies of the elements of fft, in cycles, where samples lie `spacing` apart.
Tensor fftfreq(std::int64_t n, double spacing = 1, DType dtype = DType::float32,
               Site site = Site::current());
/// Those of rfft.
Tensor rfftfreq(std::int64_t n, double spacing = 1, DType dtype = DType::float32,
                Site site = Site::current());
/// With the frequency 0 in the middle of an axis of x. Of pairs, -2 is the last axis.
Tensor fftshift(const Operand& x, int axis);
/// The reverse of fftshift.
Tensor ifftshift(const Operand& x, int axis);

struct StftOptions {
  std::optional<std::int64_t> hop{};  ///< from one frame to the next; else a quarter of a frame
  /// Frame i has its middle at element i hop of the signal, which is reflected at its ends; else it
  /// begins there.
  bool center = true;
  bool normalized = false;  ///< divided by the square root of the points of a frame
};
/// The rfft of frames of a signal, its last axis, each times a window, whose size is that of a
/// frame: pairs [..., points / 2 + 1, frames, 2].
Tensor stft(const Operand& x, const Operand& window, const StftOptions& options = {});

struct IstftOptions {
  std::optional<std::int64_t> hop{};  ///< that of stft, as the next two
  bool center = true;
  bool normalized = false;
  std::optional<std::int64_t> length{};  ///< of the signal; else what frames reach
};
/// The signal whose stft with the same window and options is nearest to x: frames times the window,
/// added up and divided by the sum of its squares. Where none reaches, it is 0.
Tensor istft(const Operand& x, const Operand& window, const IstftOptions& options = {});

/// The window 0.5 - 0.5 cos(2 pi i / n); the same from both ends if it is not periodic.
Tensor hann_window(std::int64_t n, bool periodic = true, DType dtype = DType::float32,
                   Site site = Site::current());
/// 0.54 - 0.46 cos(2 pi i / n)
Tensor hamming_window(std::int64_t n, bool periodic = true, DType dtype = DType::float32,
                      Site site = Site::current());

/// The product of pairs, which broadcast.
Tensor complex_mul(const Operand& a, const Operand& b);
/// Pairs with their imaginary parts negated.
Tensor complex_conj(const Operand& x);
/// The sizes of pairs, without the axis of the pairs.
Tensor complex_abs(const Operand& x);

}  // namespace tenure
