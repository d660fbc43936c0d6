#include <gtest/gtest.h>

#include "tenure/ops/core/record.h"
#include "tenure/tenure.h"

namespace tenure {
namespace {

double difference(const Tensor& a, const Tensor& b) {
  return max(abs(cast(a, float32) - cast(b, float32))).item<double>();
}

TEST(Autocast, IsWhatTheRecordSays) {
  for (const ops::OpRecord* const op : ops::all_ops()) {
    if (op->precision != ops::Precision::narrow) continue;
    EXPECT_TRUE(op->takes(bfloat16) && op->takes(float16) && op->takes(float32)) << op->name;
  }
  EXPECT_EQ(ops::find_op("matmul")->precision, ops::Precision::narrow);
  EXPECT_EQ(ops::find_op("conv")->precision, ops::Precision::narrow);
  EXPECT_EQ(ops::find_op("attention")->precision, ops::Precision::narrow);
  EXPECT_EQ(ops::find_op("sum")->precision, ops::Precision::wide);
  EXPECT_EQ(ops::find_op("add")->precision, ops::Precision::given);
}

TEST(Autocast, RoundsWhatProductsAreGiven) {
  const Tensor a = uniform({8, 16});
  const Tensor b = uniform({16, 4});
  const Tensor exact = matmul(a, b);
  const Autocast scope;
  const Tensor product = matmul(a, b);
  EXPECT_EQ(product.dtype(), bfloat16);
  EXPECT_EQ(difference(product, matmul(cast(a, bfloat16), cast(b, bfloat16))), 0);
  EXPECT_GT(difference(product, exact), 0);
  EXPECT_LT(difference(product, exact), 0.05);
  EXPECT_EQ(relu(product).dtype(), bfloat16) << "goes on in what it gets";
  EXPECT_EQ(sum(product).dtype(), float32);
  EXPECT_EQ(softmax(product).dtype(), float32);
  EXPECT_EQ((product + a[0][0]).dtype(), float32) << "promotes";
  EXPECT_EQ(mse_loss(product, exact).dtype(), float32);
  EXPECT_EQ(concat({product, exact}).dtype(), float32) << "what wants one type";
  EXPECT_EQ(layer_norm(product, ones({4}), zeros({4})).dtype(), float32);
  EXPECT_EQ(conv2d(ones({1, 4, 4, 2}), ones({3, 3, 2, 5}), ones({5})).dtype(), bfloat16);
  const BatchNorm batch = batch_norm(product, ones({4}), zeros({4}));
  EXPECT_EQ(batch.y.dtype(), bfloat16) << "beside parameters of float32";
  EXPECT_EQ(batch.mean.dtype(), float32);
  EXPECT_EQ(batch_norm_with(product, batch.mean, batch.variance, ones({4}), zeros({4})).dtype(),
            bfloat16);
  EXPECT_EQ(batch_norm(exact, ones({4}), zeros({4})).y.dtype(), float32);
  const Tensor heads = uniform({1, 2, 4, 8});
  EXPECT_EQ(attention(heads, heads, heads).dtype(), bfloat16);
  EXPECT_EQ(matmul(cast(a, float64), cast(b, float64)).dtype(), float64);
  const Autocast off(float32);
  EXPECT_EQ(matmul(a, b).dtype(), float32);
}

TEST(Autocast, RoundsToTheTypeThatItIsGiven) {
  const Tensor a = uniform({8, 16});
  const Tensor b = uniform({16, 4});
  const Autocast scope(float16);
  const Tensor product = matmul(a, b);
  EXPECT_EQ(product.dtype(), float16);
  EXPECT_EQ(difference(product, matmul(cast(a, float16), cast(b, float16))), 0);
  EXPECT_EQ(matmul(cast(a, bfloat16), b).dtype(), float16) << "whatever float it was";
  EXPECT_EQ(conv2d(ones({1, 4, 4, 2}, bfloat16), ones({3, 3, 2, 5}), ones({5})).dtype(), float16);
  EXPECT_EQ(sum(product).dtype(), float32);
  EXPECT_EQ(concat({product, cast(product, bfloat16)}).dtype(), float32) << "what wants one type";
}

TEST(Autocast, EndsWithItsScopeAndLeavesOperands) {
  const Tensor a = uniform({4, 4});
  Tensor moved = uniform({4, 4});
  const std::int64_t tensors = memory().tensors;
  {
    const Autocast scope;
    const Tensor product = matmul(a, std::move(moved));
    EXPECT_FALSE(moved.defined());  // NOLINT(bugprone-use-after-move)
    Tensor kept = uniform({3, 4});
    EXPECT_THROW(matmul(a, std::move(kept)), ShapeError);
    EXPECT_TRUE(kept.defined());  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(kept.dtype(), float32);
  }
  EXPECT_EQ(memory().tensors, tensors - 1);
  EXPECT_EQ(matmul(a, a).dtype(), float32);
  EXPECT_EQ(a.dtype(), float32);
}

TEST(Autocast, GradientsHaveTheTypesOfWhatTheyAreOf) {
  const Variable w(uniform({16, 4}), "w");
  const Tensor x = uniform({8, 16});
  const auto gradient = [&](bool inside) {
    GradientTape tape;
    Tensor loss;
    {
      const Autocast scope;
      loss = mean(square(matmul(x, w)));
      if (inside) return tape.gradient(loss, w);
    }
    return tape.gradient(loss, w);
  };
  EXPECT_EQ(gradient(true).dtype(), float32);
  EXPECT_EQ(difference(gradient(true), gradient(false)), 0);
  GradientTape tape;
  const Tensor exact = tape.gradient(mean(square(matmul(x, w))), w);
  EXPECT_LT(difference(gradient(true), exact), 0.02 * max(abs(exact)).item<double>());
}

TEST(Autocast, AFunctionIsTracedForEach) {
  const auto f = function([](const Tensor& a) { return matmul(a, a); });
  const Tensor a = uniform({4, 4});
  EXPECT_EQ(f(a).dtype(), float32);
  {
    const Autocast scope;
    EXPECT_EQ(f(a).dtype(), bfloat16);
    EXPECT_EQ(difference(f(a), matmul(a, a)), 0);
    const Autocast inner(float16);
    EXPECT_EQ(f(a).dtype(), float16);
  }
  EXPECT_EQ(f(a).dtype(), float32);
  EXPECT_EQ(f.traces().size(), 3u);
}

nn::Sequential perceptron() {
  seed(5);
  return nn::Sequential(nn::Dense(32, 32), nn::Relu(), nn::Dense(32, 32), nn::Relu(),
                        nn::Dense(32, 32), nn::Relu(), nn::Dense(32, 32), nn::Relu());
}

TEST(Autocast, HalvesWhatATapeHolds) {
  const nn::Sequential model = perceptron();
  const Tensor x = uniform({4096, 32});
  const auto held = [&](bool on) {
    const std::int64_t before = memory().bytes;
    const GradientTape tape;
    const Autocast scope(on ? bfloat16 : float32);
    const Tensor y = model(x);
    return memory().bytes - before;
  };
  const std::int64_t wide = held(false);
  const std::int64_t narrow = held(true);
  EXPECT_GE(wide, 4 * 4096 * 32 * 4);
  EXPECT_LT(static_cast<double>(narrow), 0.7 * static_cast<double>(wide));
}

TEST(Autocast, KeepsBatchesOfImagesIn16Bits) {
  const nn::Conv2d conv(2, 4, 3);
  const nn::BatchNorm norm(4);
  const Tensor x = uniform({2, 6, 6, 2});
  const Autocast scope;
  GradientTape tape;
  const Tensor y = relu(norm(conv(x)));
  EXPECT_EQ(y.dtype(), bfloat16);
  const std::vector<Variable> sources{norm.parameters()[0].variable, conv.parameters()[0].variable};
  for (const Tensor& gradient : tape.gradient(sum(square(y)), sources)) {
    EXPECT_EQ(gradient.dtype(), float32);
  }
}

Tensor squared_error(const Tensor& y, const Tensor& t) { return mse_loss(y, t); }

TEST(Autocast, HalvesWhatWaitsForTheWayBackInAPlan) {
  const auto peak = [&](bool on) {
    const nn::Sequential model(perceptron(), perceptron(), perceptron(), perceptron());
    nn::Sgd sgd(model.trainable(), 0.1);
    const nn::Trainer trainer(model, squared_error, sgd, {.precision = on ? bfloat16 : float32});
    const Tensor batch = zeros({1024, 32});
    return trainer.plan(batch, batch).plan.peak;
  };
  EXPECT_LT(static_cast<double>(peak(true)), 0.7 * static_cast<double>(peak(false)));
}

}  // namespace
}  // namespace tenure
