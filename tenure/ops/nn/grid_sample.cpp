#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/image_ops.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/nn/layout.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

struct GridSampleAttributes {
  enum : int { mode, padding, align_corners, channels };
};

/// What a call says, of an image [batch, height, width, channels] and places [batch, rows, columns,
/// 2].
struct GridSampleCall {
  bool is_linear;
  bool has_border;
  bool align_corners;

  explicit GridSampleCall(const Attributes& a)
      : is_linear(static_cast<Interpolation>(a.integer(GridSampleAttributes::mode)) ==
                  Interpolation::linear),
        has_border(static_cast<GridPadding>(a.integer(GridSampleAttributes::padding)) ==
                   GridPadding::border),
        align_corners(a.flag(GridSampleAttributes::align_corners)) {}

  /// A place p in [-1, 1] is `scale p + offset` in elements.
  double scale(std::int64_t size) const {
    return static_cast<double>(align_corners ? size - 1 : size) / 2;
  }
  static double offset(std::int64_t size) { return static_cast<double>(size - 1) / 2; }
};

bool is_channels_last(const Attributes& a) {
  return static_cast<Channels>(a.integer(GridSampleAttributes::channels)) == Channels::last;
}

/// Samples at the line of a call.
class GridSampler {
 public:
  GridSampler(const Tensor& image, const Tensor& grid, const GridSampleCall& call, Site site)
      : grid_(grid), call_(call), site_(site), shape_(image.shape()) {
    places_ = grid.shape()[1] * grid.shape()[2];
    flat_ = reshape(at(image), {shape_[0], shape_[1] * shape_[2], shape_[3]});
  }

  Tensor run() const {
    const Axis y = axis(1, shape_[1]);
    const Axis x = axis(0, shape_[2]);
    Tensor sum = corner(y.first, y.first_weight, x.first, x.first_weight);
    if (call_.is_linear) {
      sum = add(at(sum), at(corner(y.first, y.first_weight, x.second, x.second_weight)));
      sum = add(at(sum), at(corner(y.second, y.second_weight, x.first, x.first_weight)));
      sum = add(at(sum), at(corner(y.second, y.second_weight, x.second, x.second_weight)));
    }
    return reshape(Operand(std::move(sum), site_),
                   {shape_[0], grid_.shape()[1], grid_.shape()[2], shape_[3]});
  }

 private:
  /// The elements around each place, which are in the image, and what they count.
  struct Axis {
    Tensor first, first_weight, second, second_weight;
  };

  Operand at(const Tensor& x) const { return {x, site_}; }
  Operand number(double value) const { return {value, site_}; }

  Axis axis(std::int64_t component, std::int64_t size) const {
    const Tensor given = reshape(at(select(at(grid_), -1, component)), {shape_[0], places_, 1});
    Tensor place = add(at(mul(at(given), number(call_.scale(size)))), number(call_.offset(size)));
    const auto last = static_cast<double>(size - 1);
    if (call_.has_border) place = clamp(at(place), number(0.0), number(last));
    const Tensor below = call_.is_linear ? floor(at(place)) : round(at(place));
    const Tensor above = add(at(below), number(1.0));
    const Tensor rest = sub(at(place), at(below));
    Axis axis;
    axis.first = element(below, last);
    axis.second = element(above, last);
    const Tensor inside = cast(at(is_inside(below, last)), place.dtype());
    if (!call_.is_linear) {
      axis.first_weight = inside;
      return axis;
    }
    axis.first_weight = mul(at(sub(number(1.0), at(rest))), at(inside));
    axis.second_weight = mul(at(rest), at(cast(at(is_inside(above, last)), place.dtype())));
    return axis;
  }
  Tensor is_inside(const Tensor& place, double last) const {
    return logical_and(at(greater_equal(at(place), number(0.0))),
                       at(less_equal(at(place), number(last))));
  }
  Tensor element(const Tensor& place, double last) const {
    return cast(at(clamp(at(place), number(0.0), number(last))), DType::int64);
  }
  Tensor corner(const Tensor& y, const Tensor& y_weight, const Tensor& x,
                const Tensor& x_weight) const {
    const Tensor index =
        add(at(mul(at(y), Operand(shape_[2], site_))), at(x));  // of the flat image
    const Tensor all = broadcast_to(at(index), {shape_[0], places_, shape_[3]});
    return mul(at(gather(at(flat_), 1, at(all))), at(mul(at(y_weight), at(x_weight))));
  }

  Tensor grid_;
  GridSampleCall call_;
  Site site_;
  Shape shape_;
  std::int64_t places_ = 0;
  Tensor flat_;
};

struct GridSample {
  static constexpr auto family = "arrangement";
  static constexpr auto name = "grid_sample";
  static constexpr auto signature =
      "grid_sample(x, grid, mode = linear, padding = zeros, align_corners = false, channels = "
      "last)";
  static constexpr auto doc =
      "an image at the places of a grid: (x, y) from -1 to 1, linear between elements or the "
      "nearest";
  static constexpr auto memory = allocates();
  static constexpr auto types =
      types_where([](DType dtype) { return dtype == DType::float32 || dtype == DType::float64; });
  static constexpr double ulp_of_largest = 32;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    if (operands[0].is_scalar() || operands[1].is_scalar()) {
      throw ShapeError(name, "takes an image and a grid, not numbers");
    }
    const Site site = operands[0].site();
    const TensorBody& x = operands[0].tensor().body(name, site);
    const TensorBody& grid = operands[1].tensor().body(name, operands[1].site());
    if (x.dtype != grid.dtype) {
      throw DTypeError(name, fmt::format("the image is {} and the grid {}; cast one of them",
                                         name_of(x.dtype), name_of(grid.dtype)));
    }
    const bool is_last = is_channels_last(a);
    const bool fits = x.shape.size() == 4 && grid.shape.size() == 4 && grid.shape[3] == 2 &&
                      grid.shape[0] == x.shape[0];
    if (!fits || x.shape[is_last ? 1 : 2] == 0 || x.shape[is_last ? 2 : 3] == 0) {
      throw ShapeError(
          name,
          fmt::format("an image {} and a grid {} do not fit: [batch, rows, columns, 2] "
                      "of a batch of images that are not empty",
                      to_string(x.shape), to_string(grid.shape)),
          {x.shape.to_vector(), grid.shape.to_vector()});
    }
    const GridSampleCall call(a);
    const Tensor image = is_last ? operands[0].tensor() : channels_last(operands[0]);
    Tensor result = GridSampler(image, operands[1].tensor(), call, site).run();
    if (is_last) return {result};
    return {contiguous(Operand(channels_first(Operand(std::move(result), site)), site))};
  }

  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const GridSampleCall call(a);
    const bool is_last = is_channels_last(a);
    const Shape& x = in[0].shape;
    const Shape& grid = in[1].shape;
    const std::int64_t height = x[is_last ? 1 : 2];
    const std::int64_t width = x[is_last ? 2 : 3];
    const std::int64_t channels = x[is_last ? 3 : 1];
    const auto weight = [&](long double place, std::int64_t i, std::int64_t size) -> long double {
      place = place * call.scale(size) + GridSampleCall::offset(size);
      if (call.has_border) place = std::clamp(place, 0.0L, static_cast<long double>(size - 1));
      if (!call.is_linear) return std::nearbyint(place) == static_cast<long double>(i) ? 1 : 0;
      return std::max(1 - std::abs(place - static_cast<long double>(i)), 0.0L);
    };
    const Shape shape =
        is_last ? Shape{x[0], grid[1], grid[2], channels} : Shape{x[0], channels, grid[1], grid[2]};
    return {make_reference(shape, [&](const Dims& index) {
      const std::int64_t row = index[is_last ? 1 : 2];
      const std::int64_t column = index[is_last ? 2 : 3];
      const std::int64_t c = index[is_last ? 3 : 1];
      const long double to_x = at(in[1], {index[0], row, column, 0});
      const long double to_y = at(in[1], {index[0], row, column, 1});
      long double sum = 0;
      for (std::int64_t i = 0; i < height; ++i) {
        for (std::int64_t j = 0; j < width; ++j) {
          const Dims from = is_last ? Dims{index[0], i, j, c} : Dims{index[0], c, i, j};
          sum += weight(to_y, i, height) * weight(to_x, j, width) * at(in[0], from);
        }
      }
      return sum;
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& x, const Shape& grid, Interpolation mode,
                           GridPadding padding, bool align, Channels channels = Channels::last) {
      return Sample{.inputs = {{.shape = x}, {.shape = grid, .low = -1.3, .high = 1.3}},
                    .attributes = Attributes(static_cast<std::int64_t>(mode),
                                             static_cast<std::int64_t>(padding), align,
                                             static_cast<std::int64_t>(channels))};
    };
    return {sample({2, 3, 4, 2}, {2, 2, 3, 2}, Interpolation::linear, GridPadding::zeros, false),
            sample({1, 3, 4, 1}, {1, 3, 3, 2}, Interpolation::linear, GridPadding::border, true),
            sample({1, 2, 3, 4}, {1, 2, 2, 2}, Interpolation::linear, GridPadding::zeros, true,
                   Channels::first),
            sample({1, 4, 3, 2}, {1, 2, 5, 2}, Interpolation::nearest, GridPadding::zeros, false),
            sample({1, 4, 3, 2}, {1, 2, 5, 2}, Interpolation::nearest, GridPadding::border, true),
            sample({1, 1, 1, 1}, {1, 2, 2, 2}, Interpolation::linear, GridPadding::border, false),
            sample({1, 2, 2, 1}, {1, 0, 2, 2}, Interpolation::linear, GridPadding::zeros, false)};
  }
};

}  // namespace

std::vector<const OpRecord*> grid_ops() { return {&record<GridSample>()}; }

}  // namespace tenure::ops

namespace tenure {

Tensor grid_sample(const Operand& x, const Operand& grid, const GridSampleOptions& options) {
  const auto mode = options.mode;
  if (mode == Interpolation::cubic) {
    ops::in_call("grid_sample", x.site(),
                 [] { throw ValueError("grid_sample: the mode is nearest or linear, not cubic"); });
  }
  return ops::call(
      ops::record<ops::GridSample>(), {x, grid},
      ops::Attributes(static_cast<std::int64_t>(mode), static_cast<std::int64_t>(options.padding),
                      options.align_corners, static_cast<std::int64_t>(options.channels)));
}

}  // namespace tenure
