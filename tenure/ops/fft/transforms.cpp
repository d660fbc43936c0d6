#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/fft/transform.h"
#include "tenure/ops/fft_ops.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/linalg/solving.h"
#include "tenure/ops/shape/slice_range.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

/// That of the inverse transform with which a transform is its own adjoint.
std::int64_t adjoint(std::int64_t norm) {
  return static_cast<std::int64_t>(FftNorm::forward) - norm;
}

/// The gradient along an axis, cut or continued with zeros to the size of the input.
Tensor resized(const Backward& b, Tensor gradient, int axis) {
  const std::int64_t size = b.specs[0].shape[axis];
  const std::int64_t has = gradient.shape()[axis];
  if (has > size) return slice(b.at(std::move(gradient)), axis, 0, size);
  if (has == size) return gradient;
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(
      static_cast<std::size_t>(gradient.rank()));
  widths[static_cast<std::size_t>(axis)] = {0, size - has};
  return pad(b.at(std::move(gradient)), widths);
}

/// What the transforms share. Each says what it is, and what its adjoint is.
template <class Op>
struct TransformOp {
  static constexpr auto family = "Fourier transforms";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kSolvedTypes;
  static constexpr double ulp_of_largest = 12;

  static FftCall call_of(const Shape& x, const Attributes& a, const char* op) {
    return {Op::kind, Op::inverse, x, a, op};
  }
  static Specs infer(const Kernel& k) {
    const Shape& x = k.in[0].shape;
    return {{k.in[0].dtype, call_of(x, k.attributes, k.op).shape(x)}};
  }
  static double flops(const Kernel& k) {
    const FftCall call = call_of(k.in[0].shape, k.attributes, k.op);
    const auto n = static_cast<double>(call.points);
    return static_cast<double>(call.lines()) * 5 * n * std::log2(n + 1);
  }
  /// The sum of all products with roots of one.
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const FftCall c = call_of(in[0].shape, a, Op::name);
    const std::int64_t n = c.points;
    const bool is_real = c.kind == FftKind::real_to_half;
    const bool makes_real = c.kind == FftKind::half_to_real;
    // What each of n points has: a half spectrum has the conjugates of its other half.
    const auto point = [&](std::int64_t o, std::int64_t j, std::int64_t i, bool imaginary) {
      const bool is_conjugate = makes_real && j > n / 2;
      if (is_conjugate) j = n - j;
      const bool is_single = j == 0 || 2 * j == n;
      if (j >= c.size || (imaginary && (is_real || (makes_real && is_single)))) return 0.0L;
      const auto at = static_cast<std::size_t>((o * c.size + j) * c.inner + i);
      const long double value = in[0].values[is_real ? at : 2 * at + (imaginary ? 1 : 0)];
      const long double weight = makes_real && !is_single ? c.interior : 1;
      return imaginary && is_conjugate ? -value * weight : value * weight;
    };
    Reference out{.shape = c.shape(in[0].shape)};
    for (std::int64_t o = 0; o < c.outer; ++o) {
      for (std::int64_t k = 0; k < c.result; ++k) {
        const bool is_inside = is_real && k != 0 && 2 * k != n;
        const long double scale = c.scale * (is_inside ? c.interior : 1);
        for (std::int64_t i = 0; i < c.inner; ++i) {
          long double re = 0;
          long double im = 0;
          for (std::int64_t j = 0; j < n; ++j) {
            constexpr long double kTurn = 6.283185307179586476925286766559L;
            const long double angle =
                kTurn * static_cast<long double>(j * k % n) / static_cast<long double>(n);
            const long double cosine = std::cos(angle);
            const long double sine = c.inverse ? std::sin(angle) : -std::sin(angle);
            const long double x = point(o, j, i, false);
            const long double y = point(o, j, i, true);
            re += x * cosine - y * sine;
            im += x * sine + y * cosine;
          }
          out.values.push_back(re * scale);
          if (!makes_real) out.values.push_back(im * scale);
        }
      }
    }
    return {out};
  }
  static Attributes attributes(std::int64_t n, std::int64_t axis, FftNorm norm,
                               double interior = 1) {
    const auto how = static_cast<std::int64_t>(norm);
    if (Op::kind == FftKind::pairs) return Attributes(n, axis, how);
    return Attributes(n, axis, how, interior);
  }
  static std::vector<Sample> samples() {
    const auto sample = [](Shape shape, std::int64_t n, std::int64_t axis, FftNorm norm) {
      if (Op::kind != FftKind::real_to_half) shape.push_back(2);
      return Sample{.inputs = {{.shape = shape}}, .attributes = attributes(n, axis, norm)};
    };
    using enum FftNorm;
    return {sample({16}, kAbsent, -1, backward), sample({2, 9}, kAbsent, -1, ortho),
            sample({3, 12}, 10, -1, forward),    sample({4, 3}, 6, 0, backward),
            sample({2, 5, 19}, 5, 1, ortho),     sample({60}, 74, -1, backward),  // a convolution
            sample({37}, 37, 0, ortho),          sample({64}, 128, 0, ortho),
            sample({3}, 1, 0, backward),         sample({2}, 2, 0, backward),
            sample({0, 4}, 3, -1, backward),     sample({2, 0}, 3, -1, backward),
            sample({1, 14}, 21, -1, forward)};
  }
  static void run_gradient(Backward& b) {
    const FftCall c = call_of(b.specs[0].shape, b.attributes, Op::name);
    const auto norm = adjoint(b.attributes.integer(FftAttributes::norm));
    b.results[0] =
        resized(b, Op::adjoint_of(b.take_gradient(), c, static_cast<FftNorm>(norm)), c.axis);
  }
  static constexpr GradientRule gradient = reads_nothing(run_gradient);
};

struct Ifft;
struct Irfft;
Tensor call_ifft(const Operand& x, const Attributes& a);
Tensor call_irfft(const Operand& x, const Attributes& a);

struct Fft : TransformOp<Fft> {
  static constexpr auto name = "fft";
  static constexpr auto signature = "fft(x, n = size, axis = -1, norm = backward)";
  static constexpr auto doc = "the discrete Fourier transform of pairs (real, imaginary)";
  static constexpr FftKind kind = FftKind::pairs;
  static constexpr bool inverse = false;
  static Tensor adjoint_of(const Operand& gradient, const FftCall& c, FftNorm norm) {
    return call_ifft(gradient, attributes(c.points, c.axis, norm));
  }
};

struct Ifft : TransformOp<Ifft> {
  static constexpr auto name = "ifft";
  static constexpr auto signature = "ifft(x, n = size, axis = -1, norm = backward)";
  static constexpr auto doc = "the inverse of fft";
  static constexpr FftKind kind = FftKind::pairs;
  static constexpr bool inverse = true;
  static Tensor adjoint_of(const Operand& gradient, const FftCall& c, FftNorm norm) {
    return call(record<Fft>(), gradient, attributes(c.points, c.axis, norm));
  }
};

struct Rfft : TransformOp<Rfft> {
  static constexpr auto name = "rfft";
  static constexpr auto signature = "rfft(x, n = size, axis = -1, norm = backward)";
  static constexpr auto doc = "pairs 0 to n / 2 of the Fourier transform of real numbers";
  static constexpr FftKind kind = FftKind::real_to_half;
  static constexpr bool inverse = false;
  /// Each pair of the half spectrum counts once here, where irfft lets it stand for two.
  static Tensor adjoint_of(const Operand& gradient, const FftCall& c, FftNorm norm) {
    return call_irfft(gradient, attributes(c.points, c.axis, norm, c.interior / 2));
  }
};

struct Irfft : TransformOp<Irfft> {
  static constexpr auto name = "irfft";
  static constexpr auto signature = "irfft(x, n = 2 (size - 1), axis = -1, norm = backward)";
  static constexpr auto doc = "the real numbers whose rfft is x";
  static constexpr FftKind kind = FftKind::half_to_real;
  static constexpr bool inverse = true;
  static Tensor adjoint_of(const Operand& gradient, const FftCall& c, FftNorm norm) {
    return call(record<Rfft>(), gradient, attributes(c.points, c.axis, norm, c.interior * 2));
  }
};

Tensor call_ifft(const Operand& x, const Attributes& a) { return call(record<Ifft>(), x, a); }
Tensor call_irfft(const Operand& x, const Attributes& a) { return call(record<Irfft>(), x, a); }

template <class Op>
Tensor call_transform(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  const std::int64_t points = n ? std::max(*n, kAbsent + 1) : kAbsent;
  return call(record<Op>(), x, Op::attributes(points, axis, norm));
}

/// What fftfreq and rfftfreq share.
template <class Op>
struct FrequencyOp {
  static constexpr auto family = "Fourier transforms";
  static constexpr auto memory = allocates();
  static constexpr auto types = kAllTypes;
  static constexpr double ulp = 1;

  static Specs infer(const Kernel& k) {
    const std::int64_t n = k.attributes.integer(FrequencyAttributes::points);
    const double spacing = k.attributes.number(FrequencyAttributes::spacing);
    const DType dtype = k.attributes.dtype(FrequencyAttributes::dtype);
    if (n < 1) throw ValueError(fmt::format("{}: {} points; at least 1", k.op, n));
    if (!std::isfinite(spacing) || spacing == 0) {
      throw ValueError(fmt::format("{}: samples that lie {} apart", k.op, spacing));
    }
    if ((kSolvedTypes >> static_cast<int>(dtype) & 1) == 0) {
      throw DTypeError(k.op, fmt::format("makes float32 or float64, not {}", name_of(dtype)));
    }
    return {{dtype, {Op::size(n)}}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>&, const Attributes& a) {
    const std::int64_t n = a.integer(FrequencyAttributes::points);
    return {make_reference({Op::size(n)}, [&](const Dims& i) {
      return static_cast<long double>(Op::cycles(i[0], n)) /
             (static_cast<long double>(n) * a.number(FrequencyAttributes::spacing));
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](std::int64_t n, double spacing, DType dtype) {
      return Sample{.attributes = Attributes(n, spacing, dtype)};
    };
    return {sample(8, 1, DType::float32), sample(9, 0.25, DType::float64),
            sample(1, 3, DType::float32), sample(10, 0.1, DType::float64)};
  }
};

struct Fftfreq : FrequencyOp<Fftfreq> {
  static constexpr auto name = "fftfreq";
  static constexpr auto signature = "fftfreq(n, spacing = 1, dtype = float32)";
  static constexpr auto doc = "the frequencies of the elements of fft, in cycles";
  static std::int64_t size(std::int64_t n) { return n; }
  static std::int64_t cycles(std::int64_t i, std::int64_t n) { return i < n - i ? i : i - n; }
};

struct Rfftfreq : FrequencyOp<Rfftfreq> {
  static constexpr auto name = "rfftfreq";
  static constexpr auto signature = "rfftfreq(n, spacing = 1, dtype = float32)";
  static constexpr auto doc = "the frequencies of the elements of rfft, in cycles";
  static std::int64_t size(std::int64_t n) { return n / 2 + 1; }
  static std::int64_t cycles(std::int64_t i, std::int64_t) { return i; }
};

}  // namespace

std::vector<const OpRecord*> fourier_ops() {
  return {&record<Fft>(),   &record<Ifft>(),    &record<Rfft>(),
          &record<Irfft>(), &record<Fftfreq>(), &record<Rfftfreq>()};
}

}  // namespace tenure::ops

namespace tenure {

Tensor fft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return ops::call_transform<ops::Fft>(x, n, axis, norm);
}
Tensor ifft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return ops::call_transform<ops::Ifft>(x, n, axis, norm);
}
Tensor rfft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return ops::call_transform<ops::Rfft>(x, n, axis, norm);
}
Tensor irfft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return ops::call_transform<ops::Irfft>(x, n, axis, norm);
}
Tensor fftfreq(std::int64_t n, double spacing, DType dtype, Site site) {
  return ops::create(ops::record<ops::Fftfreq>(), ops::Attributes(n, spacing, dtype), site);
}
Tensor rfftfreq(std::int64_t n, double spacing, DType dtype, Site site) {
  return ops::create(ops::record<ops::Rfftfreq>(), ops::Attributes(n, spacing, dtype), site);
}

}  // namespace tenure
