#include "tenure/ops/image_ops.h"

#include <gtest/gtest.h>

#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"

// Images that are sampled anew, beside numbers of libtorch 1.13.

namespace tenure {
namespace {

using test::expect_throws;
using test::make;

/// One image of 3 rows and 4 columns, channels first as libtorch has them.
Tensor image() { return make<double>({1, 1, 3, 4}, {1, 5, 2, 8, 3, 4, 0, 7, 6, 2, 9, 1}); }

void expect_close(const Tensor& got, const std::vector<double>& expected) {
  const std::vector<double> values = got.to_vector<double>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-8) << i;
}

Tensor two_by_six(Interpolation mode, bool align_corners) {
  return interpolate(image(), {2, 6},
                     {.mode = mode, .align_corners = align_corners, .channels = Channels::first});
}

TEST(Interpolate, GivesTheNumbersOfLibtorch) {
  expect_close(two_by_six(Interpolation::linear, false),
               {1.5, 3.125, 4.208333333, 2.041666667, 4.625, 7.75, 5.25, 3.875, 3.208333333,
                6.041666667, 4.625, 2.5});
  expect_close(two_by_six(Interpolation::cubic, false),
               {1.04417589, 3.434448242, 4.511402271, 1.22346101, 4.268676758, 8.570651584,
                5.648668077, 3.484985352, 2.881112558, 6.593496817, 5.026733398, 1.927829319});
  expect_close(two_by_six(Interpolation::linear, true),
               {1, 3.4, 4.4, 2.6, 4.4, 8, 6, 3.6, 3.4, 7.6, 5.8, 1});
  expect_close(two_by_six(Interpolation::cubic, true),
               {1, 3.772, 4.712, 2.048, 4.004, 8, 6, 2.796, 3.04, 8.44, 6.652, 1});
  expect_close(two_by_six(Interpolation::nearest, false), {1, 1, 5, 2, 2, 8, 3, 3, 4, 0, 0, 7});
}

TEST(Interpolate, ChannelsLastAreTheSameNumbers) {
  const Tensor last = permute(image(), {0, 2, 3, 1});
  const Tensor got = interpolate(last, {2, 6});
  EXPECT_EQ(got.shape(), (Shape{1, 2, 6, 1}));
  EXPECT_EQ(got.to_vector<double>(), two_by_six(Interpolation::linear, false).to_vector<double>());
}

TEST(Interpolate, ByAScaleRoundsSizesDown) {
  EXPECT_EQ(interpolate_by(ones({2, 3, 5, 1}), 2).shape(), (Shape{2, 6, 10, 1}));
  EXPECT_EQ(interpolate_by(ones({2, 3, 5, 1}), 0.5).shape(), (Shape{2, 1, 2, 1}));
  EXPECT_EQ(interpolate_by(ones({2, 3, 1}), 1.9, {.channels = Channels::first}).shape(),
            (Shape{2, 3, 1}));
}

TEST(Interpolate, RefusesWhatHasNoSize) {
  expect_throws<ShapeError>([] { interpolate(ones({1, 2, 2, 1}), Dims{3}); }, {"interpolate"});
  expect_throws<ShapeError>([] { interpolate(ones({1, 2, 1}), Dims{0}); }, {"cannot become"});
  expect_throws<ShapeError>([] { interpolate(zeros({1, 0, 1}), Dims{2}); }, {"cannot become"});
  expect_throws<ValueError>([] { interpolate_by(ones({1, 2, 1}), 0.1); }, {"scaled by 0.1"});
  expect_throws<ValueError>([] { interpolate_by(ones({1, 2, 1}), -1); }, {"scaled by -1"});
  expect_throws<DTypeError>(
      [] {
        interpolate(ones({1, 2, 1}, DType::int32), Dims{2});
      },
      {"interpolate"});
}

TEST(GridSample, GivesTheNumbersOfLibtorch) {
  const Tensor grid = make<double>({1, 2, 2, 2}, {-1.2, -0.9, 0.1, 0.2, 0.97, 1.0, 0.3, -1.4});
  const auto sampled = [&](bool align_corners, GridPadding padding, Interpolation mode) {
    return grid_sample(image(), grid,
                       {.mode = mode,
                        .padding = padding,
                        .align_corners = align_corners,
                        .channels = Channels::first});
  };
  constexpr auto kLinear = Interpolation::linear;
  constexpr auto kNearest = Interpolation::nearest;
  constexpr auto kZeros = GridPadding::zeros;
  constexpr auto kBorder = GridPadding::border;
  EXPECT_EQ(sampled(false, kZeros, kLinear).shape(), (Shape{1, 1, 2, 2}));
  expect_close(sampled(false, kZeros, kLinear), {0.065, 2.91, 0.28, 0});
  expect_close(sampled(false, kZeros, kNearest), {0, 0, 1, 0});
  expect_close(sampled(false, kBorder, kLinear), {1, 2.91, 1, 2.6});
  expect_close(sampled(false, kBorder, kNearest), {1, 0, 1, 2});
  expect_close(sampled(true, kZeros, kLinear), {0.84, 2.43, 1.36, 1.29});
  expect_close(sampled(true, kZeros, kNearest), {1, 0, 1, 2});
  expect_close(sampled(true, kBorder, kLinear), {1.2, 2.43, 1.36, 2.15});
  expect_close(sampled(true, kBorder, kNearest), {1, 0, 1, 2});
}

TEST(GridSample, RefusesWhatDoesNotFit) {
  const Tensor x = ones({1, 2, 2, 1});
  const auto cubic = [&] { grid_sample(x, zeros({1, 2, 2, 2}), {.mode = Interpolation::cubic}); };
  expect_throws<ValueError>(cubic, {"not cubic"});
  expect_throws<ShapeError>([&] { grid_sample(x, zeros({1, 2, 2, 3})); }, {"do not fit"});
  expect_throws<ShapeError>([&] { grid_sample(x, zeros({2, 2, 2, 2})); }, {"do not fit"});
  expect_throws<ShapeError>(
      [&] {
        grid_sample(zeros({1, 0, 2, 1}), zeros({1, 2, 2, 2}));
      },
      {"do not fit"});
  expect_throws<DTypeError>([&] { grid_sample(x, zeros({1, 2, 2, 2}, DType::float64)); }, {"cast"});
}

}  // namespace
}  // namespace tenure
