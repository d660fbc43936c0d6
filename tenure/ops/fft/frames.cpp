#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tenure/ops/core/reference.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/fft/composite.h"
#include "tenure/ops/fft_ops.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/shape/slice_range.h"
#include "tenure/ops/shape_ops.h"

// Fourier transforms of frames of a signal, and the signal of such frames, written in other ops.

namespace tenure::ops {
namespace {

/// Of both; `length` of istft alone.
struct FrameAttributes {
  enum : int { hop, center, normalized, length };
};

/// What a call says of its frames: each has as many points as the window.
struct Frames {
  std::int64_t points = 0;
  std::int64_t hop = 0;
  bool center = true;
  FftNorm norm = FftNorm::backward;

  Frames(const Shape& window, const Attributes& a, const char* op)
      : points(window.size() == 1 ? window[0] : 0),
        hop(a.integer(FrameAttributes::hop)),
        center(a.integer(FrameAttributes::center) != 0),
        norm(a.integer(FrameAttributes::normalized) != 0 ? FftNorm::ortho : FftNorm::backward) {
    if (points < 1) {
      throw ShapeError(op, fmt::format("a window of shape {}; it is one axis", to_string(window)),
                       {window.to_vector()});
    }
    if (hop == kAbsent) hop = std::max<std::int64_t>(points / 4, 1);
    if (hop < 1) throw ValueError(fmt::format("{}: frames that lie {} apart", op, hop));
  }
  std::int64_t pairs() const { return points / 2 + 1; }
  /// Elements before the first one of the signal in its first frame.
  std::int64_t before() const { return center ? points / 2 : 0; }
  /// From the beginning of the first frame to the end of the last.
  std::int64_t span(std::int64_t frames) const { return points + hop * (frames - 1); }
};

struct Stft : FourierComposite {
  static constexpr auto name = "stft";
  static constexpr auto signature =
      "stft(x, window, hop = points / 4, center = true, normalized = false)";
  static constexpr auto doc = "the rfft of each frame of a signal, times a window";
  static constexpr double ulp_of_largest = 24;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    const Shape& shape = body_of(operands[0], name).shape;
    const Frames frames(body_of(operands[1], name).shape, a, name);
    if (shape.empty()) throw ShapeError(name, "a signal needs an axis", {shape.to_vector()});
    Tensor x = at[0].tensor();
    if (frames.center) {
      if (shape.back() <= frames.before()) {
        throw ShapeError(name,
                         fmt::format("a signal of {} elements is not reflected by {}; a longer one "
                                     "is, or center = false",
                                     shape.back(), frames.before()),
                         {shape.to_vector()});
      }
      std::vector<std::pair<std::int64_t, std::int64_t>> widths(
          static_cast<std::size_t>(shape.size()));
      widths.back() = {frames.before(), frames.before()};
      x = pad(at[0], widths, PadMode::reflect);
    }
    // [..., points, frames]: what is transformed are the columns.
    const Tensor windows = unfold(at(x), -1, frames.points, frames.hop);
    const Tensor columns = transpose(at(windows), -1, -2);
    const Tensor window = expand_dims(at[1], 1);
    return {rfft(at(mul(at(columns), at(window))), std::nullopt, -2, frames.norm)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Reference& x = in[0];
    const Frames frames(in[1].shape, a, name);
    const std::int64_t size = x.shape.back();
    const std::int64_t count = (size + 2 * frames.before() - frames.points) / frames.hop + 1;
    Shape framed = x.shape;
    framed[framed.size() - 1] = frames.points;
    framed.push_back(count);
    const Reference columns = make_reference(framed, [&](Dims index) {
      const std::int64_t frame = index.back();
      index.erase(index.size() - 1);
      const std::int64_t within = index.back();
      std::int64_t place = frame * frames.hop + within - frames.before();
      if (place < 0) place = -place;
      if (place >= size) place = 2 * (size - 1) - place;
      index[index.size() - 1] = place;
      return ops::at(x, index) * in[1].values[static_cast<std::size_t>(within)];
    });
    return find_op("rfft")->reference(
        {columns},
        Attributes(kAbsent, std::int64_t{-2}, static_cast<std::int64_t>(frames.norm), 1.0));
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& x, std::int64_t window, std::int64_t hop, bool center,
                           bool normalized) {
      return Sample{.inputs = {{.shape = x}, {.shape = {window}}},
                    .attributes = Attributes(hop, std::int64_t{center}, std::int64_t{normalized})};
    };
    return {sample({20}, 8, kAbsent, true, false),  sample({2, 17}, 7, 3, true, true),
            sample({3, 2, 16}, 4, 4, false, false), sample({9}, 9, 20, false, true),
            sample({0, 12}, 6, 2, true, false),     sample({5}, 1, 2, true, false)};
  }
};

struct Istft : FourierComposite {
  static constexpr auto name = "istft";
  static constexpr auto signature =
      "istft(x, window, hop = points / 4, center = true, normalized = false, length = what frames "
      "reach)";
  static constexpr auto doc = "the signal of which stft made these frames";
  static constexpr double ulp_of_largest = 64;
  /// Sums of squares of windows below it count as none.
  static constexpr double kLeast = 1e-11;

  /// Begin and end of the result, counted from the beginning of the first frame.
  static std::pair<std::int64_t, std::int64_t> range(const Frames& frames, std::int64_t count,
                                                     const Attributes& a) {
    const std::int64_t length = a.integer(FrameAttributes::length);
    if (length != kAbsent && length < 0)
      throw ValueError(fmt::format("istft: a length of {}", length));
    const std::int64_t end =
        length == kAbsent ? frames.span(count) - frames.before() : frames.before() + length;
    return {frames.before(), std::max(frames.before(), end)};
  }
  static void check(const Shape& x, const Frames& frames) {
    if (x.size() > 2 && x[x.size() - 3] == frames.pairs() && x[x.size() - 2] > 0) return;
    throw ShapeError(name,
                     fmt::format("{} has no frames [..., {}, frames, 2] of windows of {} elements",
                                 to_string(x), frames.pairs(), frames.points),
                     {x.to_vector()});
  }
  /// Columns [..., points, frames] added where they lie on a line.
  static Tensor laid(const Expansion& at, const Tensor& columns, const Frames& frames,
                     std::int64_t size) {
    const std::int64_t count = columns.dim(-1);
    Tensor starts = arange(count, DType::int64, at.site());
    starts = mul(at(std::move(starts)), frames.hop);
    const Tensor within = arange(frames.points, DType::int64, at.site());
    const Tensor column = expand_dims(at(within), 1);
    const Tensor places = add(at(column), at(starts));
    Shape shape = columns.shape();
    shape.erase(shape.size() - 1);
    shape[shape.size() - 1] = size;
    Tensor line = zeros(shape, columns.dtype(), at.site());
    return index_add(at(std::move(line)), {Ellipsis, places}, at(columns));
  }
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    require_pairs(operands[0], name);
    const Shape& shape = body_of(operands[0], name).shape;
    const Frames frames(body_of(operands[1], name).shape, a, name);
    check(shape, frames);
    const std::int64_t count = shape[shape.size() - 2];
    const auto [begin, end] = range(frames, count, a);
    const std::int64_t size = std::max(end, frames.span(count));
    const Tensor window = expand_dims(at[1], 1);
    const Tensor columns = mul(at(irfft(at[0], frames.points, -2, frames.norm)), at(window));
    const Tensor squares = mul(at(window), at(window));
    const Tensor all_squares = broadcast_to(at(squares), {frames.points, count});
    const Tensor sums = slice(at(laid(at, columns, frames, size)), -1, begin, end);
    const Tensor weights = slice(at(laid(at, all_squares, frames, size)), -1, begin, end);
    const Tensor is_reached = greater(at(weights), at(kLeast));
    const Tensor divisors = where(at(is_reached), at(weights), at(1.0));
    return {div(at(sums), at(divisors))};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Frames frames(in[1].shape, a, name);
    const auto norm = static_cast<std::int64_t>(frames.norm);
    const Reference columns =
        find_op("irfft")
            ->reference({in[0]}, Attributes(frames.points, std::int64_t{-2}, norm, 1.0))
            .front();
    const std::int64_t count = columns.shape.back();
    const auto [begin, end] = range(frames, count, a);
    Shape shape = columns.shape;
    shape.erase(shape.size() - 1);
    shape[shape.size() - 1] = end - begin;
    return {make_reference(shape, [&](Dims index) {
      const std::int64_t place = index.back() + begin;
      long double sum = 0;
      long double squares = 0;
      index.push_back(0);
      for (std::int64_t frame = 0; frame < count; ++frame) {
        const std::int64_t within = place - frame * frames.hop;
        if (within < 0 || within >= frames.points) continue;
        index[index.size() - 2] = within;
        index[index.size() - 1] = frame;
        const long double weight = in[1].values[static_cast<std::size_t>(within)];
        sum += ops::at(columns, index) * weight;
        squares += weight * weight;
      }
      return squares > kLeast ? sum / squares : sum;
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](Shape x, std::int64_t window, std::int64_t hop, bool center,
                           bool normalized, std::int64_t length) {
      x.push_back(2);
      return Sample{
          .inputs = {{.shape = x}, {.shape = {window}, .low = 0.5}},
          .attributes = Attributes(hop, std::int64_t{center}, std::int64_t{normalized}, length)};
    };
    return {
        sample({5, 6}, 8, kAbsent, true, false, kAbsent), sample({2, 4, 5}, 7, 3, true, true, 9),
        sample({3, 3}, 4, 4, false, false, kAbsent),      sample({2, 5, 1}, 9, 20, false, true, 12),
        sample({0, 4, 4}, 6, 2, true, false, kAbsent),    sample({1, 3}, 1, 2, true, false, 9)};
  }
};

/// a - (1 - a) cos(2 pi i / n), or n - 1 for one that is the same from both ends.
Tensor cosine_window(const char* op, double a, std::int64_t n, bool periodic, DType dtype,
                     Site site) {
  if (n < 1) throw ValueError(fmt::format("{}: {} elements; at least 1", op, n));
  if (n == 1) return ones({1}, dtype, site);
  const double turn = 2 * std::numbers::pi / static_cast<double>(periodic ? n : n - 1);
  Tensor angle = arange(n, DType::float64, site);
  angle = mul(Operand(std::move(angle), site), turn);
  Tensor wave = cos(Operand(std::move(angle), site));
  wave = mul(Operand(std::move(wave), site), a - 1);
  wave = add(Operand(std::move(wave), site), a);
  return cast(Operand(std::move(wave), site), dtype);
}

}  // namespace

std::vector<const OpRecord*> frame_ops() { return {&record<Stft>(), &record<Istft>()}; }

}  // namespace tenure::ops

namespace tenure {

Tensor stft(const Operand& x, const Operand& window, const StftOptions& options) {
  return ops::call(ops::record<ops::Stft>(), {x, window},
                   ops::Attributes(ops::slice_position(options.hop), std::int64_t{options.center},
                                   std::int64_t{options.normalized}));
}
Tensor istft(const Operand& x, const Operand& window, const IstftOptions& options) {
  return ops::call(
      ops::record<ops::Istft>(), {x, window},
      ops::Attributes(ops::slice_position(options.hop), std::int64_t{options.center},
                      std::int64_t{options.normalized}, ops::slice_position(options.length)));
}

Tensor hann_window(std::int64_t n, bool periodic, DType dtype, Site site) {
  return ops::cosine_window("hann_window", 0.5, n, periodic, dtype, site);
}
Tensor hamming_window(std::int64_t n, bool periodic, DType dtype, Site site) {
  return ops::cosine_window("hamming_window", 0.54, n, periodic, dtype, site);
}

}  // namespace tenure
