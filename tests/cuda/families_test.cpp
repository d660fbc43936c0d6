#include <gtest/gtest.h>

#include <cmath>

#include "tenure/ops/core/backend.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/record.h"
#include "tests/cuda/emulated.h"
#include "tests/support/expect.h"
#include "tests/support/same_bits.h"

// Sizes at which kernels of a GPU do what the small samples of the harness do not reach: blocks
// that share a sum, columns that are cut, rows that are longer than what threads hold. The CPU's
// results are the measure.

namespace tenure {
namespace {

using test::emulated_gpu;
using test::expect_same_bits;
using test::expect_throws;

/// In parts of the largest.
void expect_close(const Tensor& got, const Tensor& expected, double tolerance, const char* what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  const std::vector<double> a = cast(got, DType::float64).to_vector<double>();
  const std::vector<double> b = cast(expected, DType::float64).to_vector<double>();
  double largest = 0;
  for (const double x : b) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], tolerance * largest) << what << ", element " << i;
  }
}

/// f on the GPU and on the CPU.
template <class F>
void expect_same(const char* what, const Tensor& x, double tolerance, const F& f) {
  const Tensor there = copy_to(x, emulated_gpu());
  const Tensor got = f(there);
  EXPECT_TRUE(got.device() == there.device()) << what;
  expect_close(copy_to(got, cpu), f(x), tolerance, what);
  expect_same_bits(copy_to(f(there), cpu), copy_to(got, cpu));
}

/// No op is left out: each has a kernel, or is written in others. The harness runs them all
/// (harness_on_emulated_gpu).
TEST(EveryOp, HasAKernelOnAGpu) {
  const Device device = emulated_gpu();
  for (const ops::OpRecord* const op : ops::all_ops()) {
    if (!ops::needs_kernel(*op)) continue;
    EXPECT_NE(ops::find_kernel(*op, device), nullptr) << op->name;
  }
}

/// Matrices are decomposed and lines transformed by the host, in any layout, as on the CPU.
TEST(EveryOp, OfMatricesAndLinesHasTheResultsOfTheCpu) {
  Generator generator(8);
  const Tensor x = normal({2, 5, 5}, 0, 1, DType::float32, &generator);
  const auto f = [](const Tensor& t) {
    const Tensor square = matmul(t, transpose(t, 1, 2)) + eye(5).to(t.device());
    return solve(transpose(square, 1, 2), cholesky(square)) + eigh(square).vectors;
  };
  expect_same("solve", x, 1e-4, f);
  expect_same("rfft", x, 1e-5, [](const Tensor& t) { return rfft(transpose(t, 1, 2)); });
  const DeviceScope scope(emulated_gpu());
  EXPECT_EQ(copy_to(logspace(0, 2, 3), cpu).to_vector<float>(), (std::vector<float>{1, 10, 100}));
  expect_throws<MatrixError>([] { return inv(zeros({3, 3})); }, {"inv"});
}

class ManyTerms : public testing::TestWithParam<DType> {};

TEST_P(ManyTerms, AreReducedInParts) {
  Generator generator(1);
  const double exact = GetParam() == DType::float16 ? 2e-3 : 1e-6;
  for (const Shape& shape : {Shape{2, 40000}, Shape{40000, 3}, Shape{60, 60, 40}}) {
    const Tensor x = uniform(shape, -1, 1, GetParam(), &generator);
    for (const int axis : {0, 1}) {
      expect_same("sum", x, exact, [&](const Tensor& t) { return sum(abs(t), axis); });
      expect_same("var", x, exact, [&](const Tensor& t) { return var(t, axis); });
      expect_same("logsumexp", x, exact, [&](const Tensor& t) { return logsumexp(t, axis); });
      expect_same("norm", x, exact, [&](const Tensor& t) { return norm(t, 2, axis); });
      expect_same("argmax", x, 0, [&](const Tensor& t) { return argmax(t, axis); });
    }
    expect_same("max of a view", x, 0, [&](const Tensor& t) { return max(transpose(t, 0, 1)); });
    expect_same("argmin", x, 0, [&](const Tensor& t) { return argmin(t); });
  }
}

TEST_P(ManyTerms, AreScanned) {
  Generator generator(2);
  const double exact = GetParam() == DType::float16 ? 2e-3 : 1e-6;
  for (const Shape& shape : {Shape{70000}, Shape{3000, 2}}) {
    const Tensor x = uniform(shape, 0, 1, GetParam(), &generator);
    expect_same("cumsum", x * 0.125, exact, [](const Tensor& t) { return cumsum(t, 0); });
    expect_same("cumprod", x * 0.01 + 0.995, 1e-2, [](const Tensor& t) { return cumprod(t, 0); });
    expect_same("cummax", x, 0, [](const Tensor& t) { return cummax(t, 0); });
  }
}

TEST_P(ManyTerms, AreNormalized) {
  Generator generator(3);
  const double exact = GetParam() == DType::float16 ? 4e-3 : 1e-5;
  const Tensor x = uniform({5, 3000}, -2, 2, GetParam(), &generator);
  expect_same("softmax", x, exact, [](const Tensor& t) { return softmax(t); });
  expect_same("log_softmax", x, exact, [](const Tensor& t) { return log_softmax(t); });
  expect_same("softmax along columns", x, exact,
              [](const Tensor& t) { return softmax(transpose(t, 0, 1), 0); });
  expect_same("layer_norm", x, exact, [](const Tensor& t) { return layer_norm(t); });
  const Tensor dy = uniform({5, 3000}, -1, 1, GetParam(), &generator);
  const Tensor weight = uniform({3000}, 0.5, 1, GetParam(), &generator);
  const ops::OpRecord& gradient = *ops::find_op("layer_norm_gradient");
  for (const int result : {0, 1, 2}) {
    expect_same("layer_norm_gradient", x, 4 * exact, [&](const Tensor& t) {
      const Tensor dy_there = copy_to(dy, t.device());
      const Tensor weight_there = copy_to(weight, t.device());
      const std::vector<Operand> operands{dy_there, t, weight_there};
      return ops::run_many_now(gradient, operands, ops::Attributes(std::int64_t{1}, 1e-5),
                               Site::current())[static_cast<std::size_t>(result)];
    });
  }
}

TEST_P(ManyTerms, AreLost) {
  Generator generator(4);
  const double exact = GetParam() == DType::float16 ? 2e-3 : 1e-6;
  const Tensor x = uniform({200, 100}, -2, 2, GetParam(), &generator);
  const Tensor classes = randint(0, 100, {200}, DType::int32, &generator);
  expect_same("cross_entropy", x, exact, [&](const Tensor& t) {
    return cross_entropy(t, copy_to(classes, t.device()), {.label_smoothing = 0.125});
  });
  expect_same("mse_loss", x, exact, [](const Tensor& t) { return mse_loss(t, t * 0.5); });
  const Tensor there = copy_to(x, emulated_gpu());
  expect_throws<IndexError>([&] { cross_entropy(there, copy_to(classes + 1000, there.device())); },
                            {"there is no class", "among 100"});
}

INSTANTIATE_TEST_SUITE_P(Types, ManyTerms, testing::Values(DType::float32, DType::float16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(GpuRandom, HasTheNumbersOfTheCpu) {
  const Device device = emulated_gpu();
  const auto expect_same_numbers = [&](const auto& make) {
    Generator here(7);
    Generator there(7);
    const Tensor expected = make(here);
    const DeviceScope scope(device);
    const Tensor got = make(there);
    EXPECT_TRUE(got.device() == device);
    expect_same_bits(copy_to(got, cpu), expected);
    EXPECT_EQ(here.state(), there.state());
  };
  for (const DType type : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    expect_same_numbers([&](Generator& g) { return uniform({1003}, -1, 3, type, &g); });
    expect_same_numbers([&](Generator& g) { return uniform({1003}, 0, 0.7, type, &g); });
    expect_same_numbers([&](Generator& g) { return normal({1003}, 0.5, 2, type, &g); });
    expect_same_numbers([&](Generator& g) { return bernoulli({1003}, 0.25, type, &g); });
  }
  expect_same_numbers([&](Generator& g) { return randint(-5, 1000, {1003}, DType::int32, &g); });
  expect_same_numbers([&](Generator& g) { return permutation(1003, DType::int64, &g); });
}

/// What is computed of ops that look at each element first.
TEST(GpuChecks, RefuseWhatTheCpuRefuses) {
  const Tensor x = tensor({3, 0, 2, 3, 1, 3});
  expect_same("bincount", x, 0, [](const Tensor& t) { return bincount(t, 5); });
  expect_same("multinomial", ones({2, 6}), 0, [](const Tensor& t) {
    Generator generator(5);
    return multinomial(t, 4, false, &generator);
  });
  Generator generator(6);
  const Tensor log_p = log_softmax(normal({2, 5, 4}, 0, 1, DType::float32, &generator));
  expect_same("ctc_loss", log_p, 1e-6, [](const Tensor& t) {
    const auto there = [&](const Tensor& y) { return copy_to(y, t.device()); };
    return ctc_loss(t, there(tensor({{1, 2}, {3, 3}})), there(tensor({5, 4})),
                    there(tensor({2, 2})));
  });
  const Tensor wrong = transpose(tensor({{0, 1, 2}, {3, 9, 7}}));  // 9 is at [1, 1]
  for (const Device device : {cpu, emulated_gpu()}) {
    const Tensor there = copy_to(wrong, device);
    expect_throws<ValueError>([&] { return within(there, 0, 6); },
                              {"within: 9 at [1, 1] is not in [0, 6]"});
    const Tensor halves = cast(there, DType::float16) * 0.5;
    expect_throws<ValueError>([&] { return within(halves, 0, 4); }, {"4.5 at [1, 1]"});
    expect_throws<IndexError>([&] { return bincount(flatten(there), 9); }, {"bincount: 9 at [3]"});
    expect_throws<IndexError>([&] { return one_hot(there, 8); }, {"index 9"});
  }
}

}  // namespace
}  // namespace tenure
