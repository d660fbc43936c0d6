#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/image_ops.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

struct InterpolateAttributes {
  enum : int { sizes, mode, align_corners, channels };
};

/// Along one axis.
struct Resizing {
  std::int64_t from = 0;
  std::int64_t to = 0;
  Interpolation mode = Interpolation::linear;
  bool align_corners = false;

  /// Where the centre of new element i lies among the old ones.
  double place(std::int64_t i) const {
    if (align_corners) {
      return to == 1 ? 0 : static_cast<double>(i * (from - 1)) / static_cast<double>(to - 1);
    }
    const double centre =
        (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    return mode == Interpolation::linear ? std::max(centre, 0.0) : centre;
  }
};

/// An old element for each new one, and its weight.
struct Tap {
  std::vector<std::int64_t> places{};
  std::vector<double> weights{};
};

std::vector<Tap> taps_of(const Resizing& axis) {
  constexpr double kBend = -0.75;  // of the cubic, where it crosses its neighbours
  const auto near = [](double x) { return ((kBend + 2) * x - (kBend + 3)) * x * x + 1; };
  const auto far = [](double x) { return kBend * (x - 1) * (x - 2) * (x - 2); };
  const bool is_cubic = axis.mode == Interpolation::cubic;
  std::vector<Tap> taps(is_cubic ? 4 : 2);
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const double place = axis.place(i);
    const double below = std::floor(place);
    const double t = place - below;
    const double weights[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    const double linear[] = {1 - t, t};
    for (std::size_t k = 0; k < taps.size(); ++k) {
      const std::int64_t first = static_cast<std::int64_t>(below) - (is_cubic ? 1 : 0);
      taps[k].places.push_back(
          std::clamp<std::int64_t>(first + static_cast<std::int64_t>(k), 0, axis.from - 1));
      taps[k].weights.push_back(is_cubic ? weights[k] : linear[k]);
    }
  }
  return taps;
}

Tensor resized(const Tensor& x, int axis, const Resizing& resizing, DType dtype, Site site) {
  const auto at = [&](const Tensor& tensor) { return Operand(tensor, site); };
  if (resizing.mode == Interpolation::nearest) {
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < resizing.to; ++i) {
      places.push_back(i * resizing.from / resizing.to);
    }
    return take(at(x), at(tensor(places, {-1}, site)), axis);
  }
  Shape along = Shape::filled(x.rank(), 1);
  along[axis] = resizing.to;
  Tensor sum;
  for (const Tap& tap : taps_of(resizing)) {
    const Tensor weights = cast(at(tensor(tap.weights, along, site)), dtype);
    Tensor part =
        mul(Operand(take(at(x), at(tensor(tap.places, {-1}, site)), axis), site), at(weights));
    sum = sum.defined() ? add(Operand(std::move(sum), site), Operand(std::move(part), site)) : part;
  }
  return sum;
}

/// The call as its attributes tell it, of x of this shape; or a typed error.
struct InterpolateCall {
  const Dims& sizes;
  Interpolation mode;
  bool align_corners;
  int first_axis;

  InterpolateCall(const Shape& x, const Attributes& a, const char* op)
      : sizes(a.dims(InterpolateAttributes::sizes)),
        mode(static_cast<Interpolation>(a.integer(InterpolateAttributes::mode))),
        align_corners(a.flag(InterpolateAttributes::align_corners)),
        first_axis(static_cast<Channels>(a.integer(InterpolateAttributes::channels)) ==
                           Channels::last
                       ? 1
                       : 2) {
    if (sizes.empty() || x.size() != sizes.size() + 2) {
      throw ShapeError(op,
                       fmt::format("{} new sizes do not fit shape {}, which has a batch, channels "
                                   "and spatial axes",
                                   sizes.size(), to_string(x)),
                       {x.to_vector()});
    }
    for (int i = 0; i < sizes.size(); ++i) {
      if (sizes[i] >= 1 && x[first_axis + i] >= 1) continue;
      throw ShapeError(op,
                       fmt::format("axis {} of {} elements cannot become one of {}", first_axis + i,
                                   x[first_axis + i], sizes[i]),
                       {x.to_vector()});
    }
  }
  Resizing axis(const Shape& x, int i) const {
    return {x[first_axis + i], sizes[i], mode, align_corners};
  }
};

struct Interpolate {
  static constexpr auto family = "arrangement";
  static constexpr auto name = "interpolate";
  static constexpr auto signature =
      "interpolate(x, sizes, mode = linear, align_corners = false, channels = last)";
  static constexpr auto doc =
      "images of other sizes, by the nearest element, linear or cubic between elements";
  static constexpr auto memory = allocates();
  static constexpr auto types =
      types_where([](DType dtype) { return dtype == DType::float32 || dtype == DType::float64; });
  static constexpr double ulp_of_largest = 16;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    if (operands[0].is_scalar()) throw ShapeError(name, "takes images, not numbers");
    const Site site = operands[0].site();
    const TensorBody& body = operands[0].tensor().body(name, site);
    const InterpolateCall call(body.shape, a, name);
    Tensor result = operands[0].tensor();
    bool is_new = false;
    for (int i = 0; i < call.sizes.size(); ++i) {
      const Resizing axis = call.axis(body.shape, i);
      if (axis.from == axis.to) continue;  // each element is where it was
      result = resized(result, call.first_axis + i, axis, body.dtype, site);
      is_new = true;
    }
    return {is_new ? result : clone(Operand(result, site))};
  }

  /// By the function whose value is the weight of an element at a distance.
  static long double weight(Interpolation mode, long double distance) {
    const long double d = std::abs(distance);
    if (mode == Interpolation::linear) return std::max(1 - d, 0.0L);
    if (d <= 1) return 1.25L * d * d * d - 2.25L * d * d + 1;
    return d < 2 ? -0.75L * (d * d * d - 5 * d * d + 8 * d - 4) : 0;
  }
  static Reference resized_reference(const Reference& x, int axis, const Resizing& resizing) {
    Shape shape = x.shape;
    shape[axis] = resizing.to;
    return make_reference(shape, [&](const Dims& index) {
      Dims from = index;
      if (resizing.mode == Interpolation::nearest) {
        from[axis] = index[axis] * resizing.from / resizing.to;
        return at(x, from);
      }
      const double place = resizing.place(index[axis]);
      long double sum = 0;
      for (std::int64_t i = -3; i < resizing.from + 3; ++i) {
        from[axis] = std::clamp<std::int64_t>(i, 0, resizing.from - 1);
        sum += weight(resizing.mode, place - static_cast<long double>(i)) * at(x, from);
      }
      return sum;
    });
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const InterpolateCall call(in[0].shape, a, name);
    Reference result = in[0];
    for (int i = 0; i < call.sizes.size(); ++i) {
      result = resized_reference(result, call.first_axis + i, call.axis(in[0].shape, i));
    }
    return {result};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, const Dims& sizes, Interpolation mode, bool align,
                           Channels channels = Channels::last) {
      return Sample{.inputs = {{.shape = shape}},
                    .attributes = Attributes(sizes, static_cast<std::int64_t>(mode), align,
                                             static_cast<std::int64_t>(channels))};
    };
    return {sample({2, 3, 4, 2}, {2, 6}, Interpolation::nearest, false),
            sample({2, 3, 4, 2}, {2, 6}, Interpolation::linear, false),
            sample({1, 2, 3, 4}, {5, 4}, Interpolation::linear, true, Channels::first),
            sample({1, 5, 4, 1}, {3, 9}, Interpolation::cubic, false),
            sample({1, 5, 4, 1}, {1, 7}, Interpolation::cubic, true),
            sample({1, 4, 2}, {7}, Interpolation::linear, false),
            sample({1, 1, 2, 3, 2}, {3, 3, 1}, Interpolation::linear, false, Channels::first),
            sample({1, 2, 2, 1}, {2, 2}, Interpolation::cubic, false),
            sample({0, 2, 2, 1}, {3, 3}, Interpolation::linear, false)};
  }
};

}  // namespace

std::vector<const OpRecord*> interpolation_ops() { return {&record<Interpolate>()}; }

}  // namespace tenure::ops

namespace tenure {

Tensor interpolate(const Operand& x, const Dims& sizes, const InterpolateOptions& options) {
  return ops::call(
      ops::record<ops::Interpolate>(), x,
      ops::Attributes(sizes, static_cast<std::int64_t>(options.mode), options.align_corners,
                      static_cast<std::int64_t>(options.channels)));
}

Tensor interpolate_by(const Operand& x, double scale, const InterpolateOptions& options) {
  constexpr auto name = "interpolate_by";
  const Dims sizes = ops::in_call(name, x.site(), [&] {
    if (x.is_scalar()) throw ShapeError(name, "takes images, not numbers");
    const Shape& shape = x.tensor().body(name, x.site()).shape;
    const int first = options.channels == Channels::last ? 1 : 2;
    Dims scaled;
    for (int i = 0; i + 2 < shape.size(); ++i) {
      const double size = std::floor(static_cast<double>(shape[first + i]) * scale);
      if (!(size >= 1 && size < 1e9)) {
        throw ValueError(
            fmt::format("interpolate_by: axis {} of {} elements cannot be scaled by {}", first + i,
                        shape[first + i], scale));
      }
      scaled.push_back(static_cast<std::int64_t>(size));
    }
    return scaled;
  });
  return interpolate(x, sizes, options);
}

}  // namespace tenure
