#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenure/autograd/tape.h"
#include "tenure/kernels/parallel.h"
#include "tenure/memory/region.h"
#include "tenure/ops/conv_ops.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/layer_ops.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/norm_ops.h"
#include "tenure/ops/optimizer_ops.h"
#include "tenure/ops/pool_ops.h"
#include "tenure/ops/random_ops.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tests/support/expect.h"

// What the ops of networks promise beyond their records: options, layouts, errors.

namespace tenure {
namespace {

using test::expect_elements;
using test::expect_throws;

void expect_close(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_LE(max(abs(sub(a, b))).item<float>(), tolerance);
}

TEST(Convolution, OfAKnownImage) {
  const Tensor x = reshape(arange(9.0), {1, 3, 3, 1});
  const Tensor w = reshape(tensor({1.0F, 2.0F, 3.0F, 4.0F}), {2, 2, 1, 1});
  expect_elements<float>(conv2d(x, w), {1, 2, 2, 1}, {27, 37, 57, 67});
  expect_elements<float>(conv2d(x, w, tensor({-40.0F}), {.relu = true}), {1, 2, 2, 1},
                         {0, 0, 17, 27});
  expect_elements<float>(conv2d(x, w, {.stride = 2, .padding = 1}), {1, 2, 2, 1}, {0, 11, 30, 67});
}

TEST(Convolution, PaddingForTheSameSize) {
  const Tensor w = normal({3, 4, 2, 5});
  EXPECT_EQ(conv2d(normal({1, 7, 9, 2}), w, {.padding = Padding::same()}).shape(),
            (Shape{1, 7, 9, 5}));
  EXPECT_EQ(conv2d(normal({1, 7, 9, 2}), w, {.stride = 2, .padding = Padding::same()}).shape(),
            (Shape{1, 4, 5, 5}));
}

TEST(Convolution, ChannelsFirstIsAView) {
  const Tensor x = normal({2, 3, 8, 7});
  const Tensor w = normal({5, 3, 3, 2});
  const Tensor bias = normal({5});
  const Tensor y = conv2d(x, w, bias, {.stride = {2, 1}, .channels = Channels::first});
  const Tensor z =
      conv2d(permute(x, {0, 2, 3, 1}), permute(w, {2, 3, 1, 0}), bias, {.stride = {2, 1}});
  expect_close(permute(y, {0, 2, 3, 1}), z, 0);
  EXPECT_EQ(permute(y, {0, 2, 3, 1}).is_contiguous(), true);
}

/// A convolution with a padding of one position, as products of matrices.
Tensor convolved(const Tensor& x, const Tensor& w, const Tensor& bias, std::int64_t groups) {
  const Tensor padded = pad(x, {{0, 0}, {1, 1}, {1, 1}, {0, 0}});
  const std::int64_t in = x.shape()[3] / groups;
  const std::int64_t out = w.shape()[3] / groups;
  std::vector<Tensor> results;
  for (std::int64_t group = 0; group < groups; ++group) {
    Tensor result = slice(bias, 0, group * out, (group + 1) * out);
    for (std::int64_t i = 0; i < 9; ++i) {
      const Tensor rows = slice(padded, 1, i / 3, i / 3 + x.shape()[1]);
      const Tensor places = slice(rows, 2, i % 3, i % 3 + x.shape()[2]);
      const Tensor tap = slice(reshape(w, {9, in, groups * out}), 0, i, i + 1);
      const Tensor weights = reshape(slice(tap, 2, group * out, (group + 1) * out), {in, out});
      result = add(result, matmul(slice(places, 3, group * in, (group + 1) * in), weights));
    }
    results.push_back(result);
  }
  return concat(results, 3);
}

/// Whatever tiles hold: rows of less than one, of one, of several; channels that fill up vectors
/// and such that do not. Small integers have the same sums in any order.
TEST(Convolution, OfAnyNumberOfChannelsIsProductsOfMatrices) {
  struct Sizes {
    std::int64_t in, out, groups;
  };
  const auto integers = [](const Shape& shape) {
    return cast(randint(-4, 5, shape), DType::float32);
  };
  const int before = num_threads();
  for (const auto& [in, out, groups] :
       {Sizes{15, 16, 1}, {5, 40, 1}, {3, 70, 1}, {29, 150, 1}, {8, 24, 2}}) {
    for (const std::int64_t width : {4, 15, 29}) {
      const std::vector<Tensor> given{integers({2, 12, width, in}),
                                      integers({3, 3, in / groups, out}), integers({out})};
      const Tensor dy = integers({2, 12, width, out});
      const auto results_of = [&](const auto& convolve) {
        GradientTape tape;
        for (const Tensor& tensor : given) tape.watch(tensor);
        const Tensor y = convolve();
        std::vector<Tensor> results = tape.gradient(sum(mul(y, dy)), given);
        results.push_back(y);
        return results;
      };
      const auto expected =
          results_of([&] { return convolved(given[0], given[1], given[2], groups); });
      for (const int threads : {1, 3}) {
        set_num_threads(threads);
        const auto results = results_of(
            [&] { return conv2d(given[0], given[1], given[2], {.padding = 1, .groups = groups}); });
        for (std::size_t i = 0; i < results.size(); ++i) expect_close(results[i], expected[i], 0);
      }
      set_num_threads(before);
    }
  }
}

/// Terms that are alike are all rounded in one direction: one chain of all positions would be off
/// by hundreds of units.
TEST(Convolution, GradientsByFewWeightsHoldOverManyPositions) {
  for (const Shape& shape : {Shape{1, 300, 300, 1}, Shape{1, 2, 50000, 1}}) {
    const Tensor x = full(shape, 0.1F);
    const Tensor weights = full({1, 1, 1, 1}, 0.1F);
    const Tensor bias = zeros({1});
    GradientTape tape;
    tape.watch(weights);
    tape.watch(bias);
    const Tensor loss = sum(mul(conv2d(x, weights, bias), 0.1F));
    const auto gradient = tape.gradient(loss, std::vector<Tensor>{weights, bias});
    const double count = static_cast<double>(x.size());
    EXPECT_NEAR(gradient[0].item<float>() / (0.1F * 0.1F * count), 1, 64 * 0x1p-23);
    EXPECT_NEAR(gradient[1].item<float>() / (0.1F * count), 1, 64 * 0x1p-23);
  }
}

TEST(Convolution, ManyThreadsMakeTheSameNumbers) {
  const Tensor x = normal({3, 13, 11, 6});
  const Tensor w = normal({3, 3, 6, 40});
  const int threads = num_threads();
  set_num_threads(1);
  const Tensor one = conv2d(x, w, {.padding = 1});
  set_num_threads(3);
  const Tensor three = conv2d(x, w, {.padding = 1});
  set_num_threads(threads);
  expect_close(one, three, 0);
}

TEST(Convolution, WithReluIsReluOfIt) {
  Tensor x = normal({2, 9, 7, 3});
  const float infinite = std::numeric_limits<float>::infinity();
  // A tenth of the pixels are infinite or no numbers.
  const Tensor chance = uniform(x.shape());
  x = where(less(chance, 0.05), std::nan(""), where(greater(chance, 0.95), infinite, x));
  for (const std::int64_t channels : {1, 5, 16, 32, 33, 64}) {
    const Tensor w = normal({3, 3, 3, channels});
    const Tensor bias = normal({channels});
    const Tensor both = conv2d(x, w, bias, {.padding = 1, .relu = true});
    expect_elements<float>(both, both.shape(),
                           relu(conv2d(x, w, bias, {.padding = 1})).to_vector<float>());
  }
}

TEST(Convolution, TransposedIsTheTranspose) {
  // <conv(x), y> == <x, conv_transpose(y)>
  const Tensor x = normal({2, 9, 3});
  const Tensor w = normal({4, 3, 5});
  const Tensor y = conv1d(x, w, {.stride = 2, .padding = 1});
  const Tensor back = conv_transpose1d(y, w, {.stride = 2, .padding = 1, .output_padding = 1});
  ASSERT_EQ(back.shape(), x.shape());
  const float left = sum(square(y)).item<float>();
  EXPECT_NEAR(sum(mul(x, back)).item<float>(), left, 1e-4F * left);
}

TEST(Convolution, RejectsWhatDoesNotFit) {
  const Tensor x = ones({1, 5, 5, 4});
  const Tensor w = ones({3, 3, 4, 8});
  expect_throws<ShapeError>(
      [&] {
        conv2d(x, ones({3, 3, 3, 8}));
      },
      {"conv2d", "weights [3, 3, 3, 8] are for 3 channels", "have 4"});
  expect_throws<ShapeError>([&] { conv2d(x, w, {.groups = 3}); }, {"3 groups do not divide 4"});
  expect_throws<ShapeError>([&] { conv2d(x, w, {.dilation = 3}); },
                            {"the kernel spans 7 positions", "has 5"});
  expect_throws<ShapeError>([&] { conv2d(x, w, ones({4})); }, {"a bias for 8 output channels"});
  expect_throws<ShapeError>([&] { conv1d(x, w); }, {"conv1d", "images have 3 dimensions"});
  expect_throws<ValueError>([&] { conv2d(x, w, {.stride = 0}); }, {"stride is at least 1"});
  expect_throws<ValueError>([&] { conv2d(x, w, {.stride = {1, 1, 1}}); }, {"one for each of 2"});
  expect_throws<ValueError>([&] { conv2d(x, w, {.padding = -1}); }, {"padding is at least 0"});
  expect_throws<DTypeError>([&] { conv2d(x, cast(w, DType::float64)); }, {"one type"});
  // Products of sizes do not overflow.
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  expect_throws<ValueError>([&] { conv2d(x, w, {.stride = kHuge}); }, {"stride is at most 2^30"});
  expect_throws<ValueError>([&] { conv_transpose2d(x, w, {.stride = kHuge}); }, {"stride"});
  expect_throws<ValueError>([&] { conv_transpose2d(x, w, {.padding = kHuge}); }, {"padding"});
  expect_throws<ValueError>([&] { max_pool2d(x, 2, {.dilation = kHuge, .ceil_mode = true}); },
                            {"dilation"});
  expect_throws<ValueError>([&] { conv_transpose2d(x, w, {.output_padding = 1}); },
                            {"output padding of 1 is not below the stride 1"});
}

TEST(Pooling, OfAKnownImage) {
  const Tensor x = reshape(arange(16.0), {1, 4, 4, 1});
  expect_elements<float>(max_pool2d(x, 2), {1, 2, 2, 1}, {5, 7, 13, 15});
  expect_elements<float>(avg_pool2d(x, 2), {1, 2, 2, 1}, {2.5, 4.5, 10.5, 12.5});
  expect_elements<float>(avg_pool2d(x, 2, {.padding = 1, .count_padding = true}), {1, 3, 3, 1},
                         {0, 0.75, 0.75, 3, 7.5, 4.5, 3, 6.75, 3.75});
  expect_elements<float>(adaptive_avg_pool2d(x, 1), {1, 1, 1, 1}, {7.5});
  expect_elements<float>(adaptive_max_pool1d(reshape(x, {1, 16, 1}), 3), {1, 3, 1}, {5, 10, 15});
  expect_elements<float>(
      max_pool2d(permute(x, {0, 3, 1, 2}), {1, 4}, {.channels = Channels::first}), {1, 1, 4, 1},
      {3, 7, 11, 15});
}

TEST(Pooling, NanWins) {
  const float nan = std::nanf("");
  expect_elements<float>(max_pool1d(reshape(tensor({1.0F, nan, 3.0F, 4.0F}), {1, 4, 1}), 2),
                         {1, 2, 1}, {nan, 4});
}

/// Memory that somebody had before is no part of a gradient: of windows that lie side by side, of
/// those of many places, of such that are given by their number.
TEST(Pooling, HasGradientsOfWindowsThatCoverAnImage) {
  const Tensor x = reshape(arange(36.0 * 36.0), {1, 36, 36, 1});
  const auto expect_gradient = [&](std::int64_t windows, const auto& pool) {
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(full(x.shape(), 7, x.dtype()));  // which leaves its memory behind
      Tensor images = x;
      GradientTape tape;
      tape.watch(images);
      const Tensor gradient = tape.gradient(sum(pool(images)), images);
      EXPECT_EQ(sum(gradient).item<double>(), static_cast<double>(windows));
      EXPECT_EQ(max(gradient).item<double>(), 1);
    }
  };
  expect_gradient(36, [](const Tensor& t) { return max_pool2d(t, 6); });
  expect_gradient(4, [](const Tensor& t) { return max_pool2d(t, 18); });
  expect_gradient(9, [](const Tensor& t) { return adaptive_max_pool2d(t, 3); });
  expect_gradient(1, [](const Tensor& t) { return adaptive_max_pool2d(t, 1); });
}

TEST(Pooling, MeansOfLargeWindowsAreThoseOfTheirElements) {
  const Tensor x = full({1, 300, 300, 3}, 0.1F);
  for (const Tensor& y : {avg_pool2d(x, 300), adaptive_avg_pool2d(x, 1),
                          avg_pool2d(x, 100, {.count_padding = true})}) {
    for (const float mean : y.to_vector<float>()) EXPECT_NEAR(mean, 0.1F, 64 * 0x1p-27);
  }
}

TEST(Pooling, RejectsWhatDoesNotFit) {
  const Tensor x = ones({1, 4, 4, 2});
  expect_throws<ShapeError>([&] { max_pool2d(x, 5); }, {"max_pool2d", "a window spans 5"});
  expect_throws<ValueError>([&] { max_pool2d(x, 2, {.padding = 2}); }, {"more than half"});
  expect_throws<ValueError>([&] { max_pool2d(x, 0); }, {"kernel is at least 1"});
  expect_throws<ShapeError>([&] { avg_pool3d(x, 2); }, {"images have 5 dimensions"});
}

TEST(Normalization, GroupsAndBatchesAgreeWithTheirDefinition) {
  const Tensor x = normal({3, 5, 4, 6}, 2, 3);
  const Tensor weight = uniform({6}, 0.5, 2);
  const Tensor bias = normal({6});
  const auto by_definition = [&](const Tensor& t, const Axes& axes) {
    const Tensor centred = sub(t, mean(t, axes, true));
    return mul(centred, rsqrt(add(mean(square(centred), axes, true), 1e-5)));
  };
  const BatchNorm batch = batch_norm(x, weight, bias);
  expect_close(batch.y, add(mul(by_definition(x, {0, 1, 2}), weight), bias), 1e-5);
  expect_close(batch.mean, mean(x, {0, 1, 2}), 1e-5);
  expect_close(batch_norm_with(x, batch.mean, batch.variance, weight, bias), batch.y, 1e-5);

  const Tensor groups = reshape(by_definition(reshape(x, {3, 20, 2, 3}), {1, 3}), {3, 5, 4, 6});
  expect_close(group_norm(x, 2, weight, bias), add(mul(groups, weight), bias), 1e-5);
  const Tensor first = permute(x, {0, 3, 1, 2});
  const BatchNormOptions options{.channels = Channels::first};
  expect_close(group_norm(first, 2, weight, bias, options),
               permute(group_norm(x, 2, weight, bias), {0, 3, 1, 2}), 1e-5);
  expect_close(batch_norm(first, weight, bias, options).y, permute(batch.y, {0, 3, 1, 2}), 1e-5);
}

/// Sums over many rows are not those of one chain of additions, which would be off by thousands of
/// units: terms that are alike are all rounded in one direction.
TEST(Normalization, SumsOverManyRowsAreExact) {
  constexpr std::int64_t kRows = 200000;
  constexpr double kBound = 64 * 0x1p-24;
  const Tensor values = tensor({0.1F, 0.7F});
  const Tensor x = reshape(broadcast_to(reshape(values, {1, 2, 1}), {kRows / 2, 2, 3}), {kRows, 3});
  const Tensor dy = full({kRows, 3}, 0.1F);
  const double gradient = 0.1F * static_cast<double>(kRows);
  Tensor weight = ones({3});
  Tensor bias = zeros({3});
  const auto gradients = [&](const auto& normalize) {
    GradientTape tape;
    tape.watch(weight);
    tape.watch(bias);
    return tape.gradient(sum(mul(normalize(), dy)), std::vector<Tensor>{weight, bias});
  };
  const BatchNorm batch = batch_norm(x, weight, bias);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(batch.mean.to_vector<float>()[static_cast<std::size_t>(i)], 0.4, 0.4 * kBound);
    EXPECT_NEAR(batch.variance.to_vector<float>()[static_cast<std::size_t>(i)], 0.09,
                0.09 * kBound);
  }
  for (const auto& result : {gradients([&] { return batch_norm(x, weight, bias).y; }),
                             gradients([&] { return layer_norm(x, weight, bias); })}) {
    for (const float db : result[1].to_vector<float>()) {
      EXPECT_NEAR(db, gradient, gradient * kBound);
    }
  }
}

TEST(Normalization, RejectsWhatDoesNotFit) {
  expect_throws<ShapeError>(
      [] {
        layer_norm(ones({2, 3}), ones({2}), ones({2}));
      },
      {"layer_norm", "shape [3]", "not [2]"});
  expect_throws<ShapeError>(
      [] {
        group_norm(ones({2, 6}), 4, ones({6}), ones({6}));
      },
      {"4 groups do not divide 6"});
  expect_throws<ShapeError>(
      [] {
        batch_norm(ones({0, 6}), ones({6}), ones({6}));
      },
      {"without elements has no mean"});
}

TEST(Dropout, KeepsTheMeanAndFollowsTheSeed) {
  const Tensor x = ones({10000});
  seed(7);
  const Tensor a = dropout(x, 0.25);
  const Tensor b = dropout(x, 0.25);
  seed(7);
  expect_close(dropout(x, 0.25), a, 0);
  EXPECT_GT(max(abs(sub(a, b))).item<float>(), 0);
  EXPECT_NEAR(mean(a).item<float>(), 1, 0.03);
  EXPECT_NEAR(mean(cast(equal(a, 0), DType::float32)).item<float>(), 0.25, 0.03);
  expect_throws<ValueError>([&] { dropout(x, 1.5); }, {"dropout", "not in [0, 1]"});
}

TEST(Updates, ChangeWhatIsMovedIn) {
  Tensor w = ones({1000});
  Tensor m = zeros({1000});
  Tensor v = zeros({1000});
  const Tensor g = ones({1000});
  const MemoryRegion region;
  for (int step = 1; step <= 3; ++step) {
    auto [w1, m1, v1] = adam_update(std::move(w), std::move(m), std::move(v), g, 0.1, step);
    w = std::move(w1);
    m = std::move(m1);
    v = std::move(v1);
  }
  EXPECT_LT(region.peak_bytes(), 1000) << "a step took memory of its own";
  EXPECT_NEAR(w.span<float>()[999], 0.7F, 1e-5F);
}

TEST(Updates, RejectWhatDoesNotFit) {
  const Tensor w = ones({3});
  expect_throws<ShapeError>([&] { sgd_update(w, ones({4}), 0.1); },
                            {"sgd_update", "gradient of another shape"});
  expect_throws<DTypeError>(
      [&] { lion_update(cast(w, DType::bfloat16), cast(w, DType::bfloat16), w, 0.1); },
      {"is float32, not bfloat16"});
  expect_throws<ShapeError>([&] { sgd_update(w, w, ones({2})); }, {"rate and step are numbers"});
}

}  // namespace
}  // namespace tenure
