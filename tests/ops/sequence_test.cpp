#include <gtest/gtest.h>

#include <cmath>

#include "tenure/memory/region.h"
#include "tenure/ops/attention_ops.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/random_ops.h"
#include "tenure/ops/recurrent_ops.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tests/support/expect.h"

namespace tenure {
namespace {

using test::expect_throws;

void expect_close(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_LT(max(abs(a - b)).item<float>(), 1e-5F);
}

TEST(Attention, IsTheSoftmaxOfProducts) {
  const Tensor q = normal({2, 3, 65, 16});
  const Tensor k = normal({2, 3, 80, 16});
  const Tensor v = normal({2, 3, 80, 24});
  expect_close(attention(q, k, v), matmul(softmax(matmul(q, transpose(k)) * 0.25), v));
  const Tensor mask = normal({80}) > 0;
  const Tensor scores = where(mask, matmul(q, transpose(k)) * 0.5, -INFINITY);
  expect_close(attention(q, k, v, mask, {.scale = 0.5}), matmul(softmax(scores), v));
}

TEST(Attention, TakesHeadsAsTheyLieInAProjection) {
  const Tensor x = normal({2, 50, 3, 4, 16});  // [batch, time, q k v, heads, d]
  const auto part = [&](std::int64_t i) { return permute(select(x, 2, i), {0, 2, 1, 3}); };
  expect_close(
      attention(part(0), part(1), part(2), {.causal = true}),
      attention(contiguous(part(0)), contiguous(part(1)), contiguous(part(2)), {.causal = true}));
}

TEST(Attention, CausalQueriesEndWithTheKeys) {
  const Tensor q = normal({6, 8});
  const Tensor k = normal({10, 8});
  const Tensor v = normal({10, 8});
  const Tensor all = attention(q, k, v, {.causal = true});
  const Tensor last = attention(slice(q, 0, 5, 6), k, v, {.causal = true});
  expect_close(slice(all, 0, 5, 6), last);
  expect_close(last, attention(slice(q, 0, 5, 6), k, v));
}

/// Terms that are alike are all rounded in one direction: a chain of so many would be off by
/// thousands of units.
TEST(Attention, HoldsOverManyKeys) {
  const Tensor k = full({32768, 16}, 0.1F);
  const Tensor out = attention(full({4, 16}, 0.1F), k, k);
  for (const float mean : out.to_vector<float>()) EXPECT_NEAR(mean, 0.1F, 64 * 0x1p-27);
}

TEST(Attention, StoresNoMatrixOfScores) {
  constexpr std::int64_t kLength = 2048;
  const Tensor q = normal({kLength, 16});
  const MemoryRegion region;
  const Tensor out = attention(q, q, q);
  EXPECT_LT(region.peak_bytes(), kLength * kLength * 4 / 8);
}

TEST(Attention, RejectsWhatDoesNotFit) {
  const Tensor q = zeros({2, 4, 8});
  expect_throws<ShapeError>([&] { attention(q, zeros({2, 4, 7}), q); }, {"last dimension"});
  expect_throws<ShapeError>([&] { attention(q, q, zeros({2, 5, 8})); }, {"row of v"});
  expect_throws<ShapeError>([&] { attention(q, zeros({3, 4, 8}), q); }, {"before the last two"});
  expect_throws<ShapeError>([&] { attention(zeros({8}), q, q); }, {"two axes"});
  expect_throws<ShapeError>([&] { attention(q, q, q, zeros({3})); }, {"[3]"});
  expect_throws<ShapeError>([&] { attention(q, q, q, zeros({1, 2, 4, 4})); }, {"mask"});
  expect_throws<DTypeError>([&] { attention(q, q, q, zeros({4}, DType::int64)); }, {"mask"});
  expect_throws<DTypeError>([&] { attention(q, q, zeros({2, 4, 8}, DType::float64)); }, {"cast"});
}

TEST(Recurrent, LstmFollowsItsFormulas) {
  const Tensor x = normal({3, 4, 5});
  const Tensor w = normal({5, 24});
  const Tensor u = normal({6, 24});
  const Tensor bias = normal({24});
  const LstmState initial{normal({3, 6}), normal({3, 6})};
  const LstmResult got = lstm(x, w, u, bias, initial);
  Tensor h = initial.h;
  Tensor c = initial.c;
  for (std::int64_t t = 0; t < 4; ++t) {
    const Tensor all = matmul(select(x, 1, t), w) + matmul(h, u) + bias;
    const auto gate = [&](std::int64_t i) { return slice(all, 1, 6 * i, 6 * i + 6); };
    c = sigmoid(gate(1)) * c + sigmoid(gate(0)) * tanh(gate(2));
    h = sigmoid(gate(3)) * tanh(c);
    expect_close(select(got.sequence, 1, t), h);
  }
  expect_close(got.last.h, h);
  expect_close(got.last.c, c);
}

TEST(Recurrent, GruFollowsItsFormulas) {
  const Tensor x = normal({3, 4, 5});
  const Tensor w = normal({5, 18});
  const Tensor u = normal({6, 18});
  const Tensor input_bias = normal({18});
  const Tensor hidden_bias = normal({18});
  const GruResult got = gru(x, w, u, input_bias, hidden_bias);
  Tensor h = zeros({3, 6});
  for (std::int64_t t = 0; t < 4; ++t) {
    const Tensor from_x = matmul(select(x, 1, t), w) + input_bias;
    const Tensor from_h = matmul(h, u) + hidden_bias;
    const auto gate = [](const Tensor& all, std::int64_t i) {
      return slice(all, 1, 6 * i, 6 * i + 6);
    };
    const Tensor r = sigmoid(gate(from_x, 0) + gate(from_h, 0));
    const Tensor z = sigmoid(gate(from_x, 1) + gate(from_h, 1));
    const Tensor n = tanh(gate(from_x, 2) + r * gate(from_h, 2));
    h = (1.0 - z) * n + z * h;
    expect_close(select(got.sequence, 1, t), h);
  }
  expect_close(got.last, h);
}

TEST(Recurrent, RejectsWhatDoesNotFit) {
  const Tensor x = zeros({3, 4, 5});
  expect_throws<ShapeError>(
      [&] {
        lstm(zeros({3, 5}), zeros({5, 8}), zeros({2, 8}), zeros({8}));
      },
      {"[batch, time, inputs]"});
  expect_throws<ShapeError>(
      [&] {
        lstm(x, zeros({5, 8}), zeros({2, 6}), zeros({8}));
      },
      {"hidden weights"});
  expect_throws<ShapeError>(
      [&] {
        lstm(zeros({3, 0, 5}), zeros({5, 8}), zeros({2, 8}), zeros({8}));
      },
      {"no steps"});
  expect_throws<ShapeError>(
      [&] {
        lstm(x, zeros({5, 8}), zeros({2, 8}), zeros({8}), {zeros({3, 3}), {}});
      },
      {"matmul"});
  expect_throws<ShapeError>(
      [&] {
        gru_cell(zeros({3, 6}), zeros({3, 6}), zeros({3, 3}));
      },
      {"gru_cell", "3 gates"});
  expect_throws<DTypeError>(
      [&] {
        lstm_cell(zeros({3, 8}), zeros({3, 8}), zeros({3, 2}, DType::float64));
      },
      {"cast"});
}

}  // namespace
}  // namespace tenure
