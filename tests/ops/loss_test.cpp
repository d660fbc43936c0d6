#include "tenure/ops/loss_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenure/kernels/parallel.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/random_ops.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"

namespace tenure {
namespace {

using test::expect_throws;

const float kInf = std::numeric_limits<float>::infinity();

TEST(Losses, CrossEntropyOfAKnownRow) {
  const Tensor logits = tensor({{0, 0, 0, 0}, {1000, 0, 0, 0}}, DType::float32);
  const Tensor each =
      cross_entropy(logits, tensor({2, 0}, DType::int32), {.reduction = Reduction::none});
  EXPECT_FLOAT_EQ(each.span<float>()[0], std::log(4.0F));
  EXPECT_EQ(each.span<float>()[1], 0.0F) << "large logits do not overflow";
}

TEST(Losses, IgnoredRowsCountNothing) {
  const Tensor logits = tensor({{1, 2, 3}, {0, 0, 0}, {3, 2, 1}}, DType::float32);
  const Tensor all = cross_entropy(logits, tensor({0, -100, 0}, DType::int64));
  const Tensor rest =
      cross_entropy(tensor({{1, 2, 3}, {3, 2, 1}}, DType::float32), tensor({0, 0}, DType::int64));
  EXPECT_FLOAT_EQ(all.item<float>(), rest.item<float>());
  const Tensor none =
      cross_entropy(logits, tensor({-1, -1, -1}, DType::int64), {.ignore_index = -1});
  EXPECT_EQ(none.item<float>(), 0.0F);
}

TEST(Losses, ClassesAreOneHotProbabilities) {
  Generator generator(7);
  const Tensor logits = normal({40, 9}, 0, 1, DType::float32, &generator);
  const Tensor classes = argmax(normal({40, 9}, 0, 1, DType::float32, &generator), 1);
  const CrossEntropyOptions options{.label_smoothing = 0.1};
  EXPECT_FLOAT_EQ(cross_entropy(logits, classes, options).item<float>(),
                  cross_entropy(logits, one_hot(classes, 9), options).item<float>());
}

TEST(Losses, DoNotDependOnTheNumberOfThreads) {
  const Tensor x = normal({3000, 50});
  const Tensor t = normal({3000, 50});
  const int threads = num_threads();
  set_num_threads(1);
  const float one = mse_loss(x, t).item<float>();
  set_num_threads(4);
  const float several = mse_loss(x, t).item<float>();
  set_num_threads(threads);
  EXPECT_EQ(one, several);
}

TEST(Losses, StayFiniteForLargeLogits) {
  const Tensor x = tensor({1e4F, -1e4F});
  EXPECT_EQ(binary_cross_entropy_with_logits(x, tensor({1.0F, 0.0F})).item<float>(), 0.0F);
  EXPECT_EQ(binary_cross_entropy_with_logits(x, tensor({0.0F, 1.0F})).item<float>(), 1e4F);
}

TEST(Losses, WhereThereIsNoProbabilityThereIsNoDivergence) {
  EXPECT_EQ(kl_divergence(tensor({-kInf}), tensor({0.0F})).item<float>(), 0.0F);
}

TEST(Losses, RejectWrongTargets) {
  const Tensor logits = zeros({2, 3});
  expect_throws<IndexError>(
      [&] {
        cross_entropy(logits, tensor({0, 3}, DType::int64));
      },
      {"class 3"});
  expect_throws<IndexError>(
      [&] {
        cross_entropy(logits, tensor({0, -1}, DType::int64));
      },
      {"class -1"});
  expect_throws<ShapeError>([&] { cross_entropy(logits, tensor({0}, DType::int64)); }, {"classes"});
  expect_throws<ShapeError>([&] { cross_entropy(logits, zeros({3, 3})); }, {"probabilities"});
  expect_throws<DTypeError>([&] { cross_entropy(logits, tensor({true, false})); }, {"bool"});
  expect_throws<ShapeError>([&] { cross_entropy(zeros({2, 0}), zeros({2, 0})); }, {"classes"});
  expect_throws<ValueError>([&] { cross_entropy(logits, logits, {.label_smoothing = 1.5}); },
                            {"label_smoothing"});
  expect_throws<ShapeError>([&] { mse_loss(logits, zeros({3})); }, {"targets"});
  expect_throws<DTypeError>([&] { l1_loss(logits, zeros({2, 3}, DType::float64)); }, {"cast"});
  expect_throws<ValueError>([&] { huber_loss(logits, logits, {.delta = 0}); }, {"delta"});
}

}  // namespace
}  // namespace tenure
