#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tenure/kernels/cuda/device/powers.cuh"
#include "tenure/ops/core/dispatch.h"
#include "tests/cuda/emulated.h"
#include "tests/support/same_bits.h"

// Rows as a GPU goes over them: lengths at which threads have all, some or none of their strips,
// any place where rows begin, and elements that are no numbers. The CPU's results are the measure;
// those of any layout are the same to the bit.

namespace tenure {
namespace {

using test::emulated_gpu;
using test::expect_same_bits;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// In parts of the largest; what is no number is none in both.
void expect_close(const Tensor& got, const Tensor& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  const std::vector<double> a = cast(copy_to(got, cpu), DType::float64).to_vector<double>();
  const std::vector<double> b = cast(expected, DType::float64).to_vector<double>();
  double largest = 0;
  for (const double x : b) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i]) || std::isinf(b[i])) {
      ASSERT_TRUE(std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i]) << what << ", element " << i;
    } else {
      ASSERT_NEAR(a[i], b[i], tolerance * largest) << what << ", element " << i;
    }
  }
}

/// The same elements there with other ones between them, so that rows begin anywhere.
Tensor spread(const Tensor& x, Device device) {
  const std::int64_t rows = x.shape()[0];
  const Tensor wide = concat({zeros({rows, 1}, x.dtype()), x, zeros({rows, 2}, x.dtype())}, 1);
  return slice(copy_to(wide, device), 1, 1, x.shape()[1] + 1);
}

/// f on the GPU, of an input in three layouts, as on the CPU.
template <class F>
void expect_rows(const std::string& what, const Tensor& x, double tolerance, const F& f) {
  const Device gpu = emulated_gpu();
  const Tensor got = f(copy_to(x, gpu));
  expect_close(got, f(x), tolerance, what);
  expect_same_bits(copy_to(f(spread(x, gpu)), cpu), copy_to(got, cpu));
  const Tensor turned = transpose(copy_to(clone(transpose(x)), gpu));
  expect_same_bits(copy_to(f(turned), cpu), copy_to(got, cpu));
}

struct Sizes {
  std::int64_t rows;
  std::int64_t columns;
};
constexpr Sizes kSizes[] = {{1, 1},   {3, 10},   {40, 33},  {5, 64},   {1030, 96},
                            {9, 770}, {2, 2049}, {3, 4100}, {2, 16392}};

TEST(GpuRows, OfAnyLengthAreNormalized) {
  Generator generator(1);
  const ops::OpRecord& gradient_op = *ops::find_op("layer_norm_gradient");
  for (const DType type : {float32, bfloat16}) {
    const double exact = type == float32 ? 1e-5 : 2e-2;
    for (const auto& [rows, columns] : kSizes) {
      const std::string what = to_string(Shape{rows, columns});
      const Tensor x = uniform({rows, columns}, -2, 2, type, &generator);
      const Tensor weight = uniform({columns}, 0.5, 1, type, &generator);
      expect_rows("softmax " + what, x, exact, [](const Tensor& t) { return softmax(t); });
      expect_rows("log_softmax " + what, x, exact, [](const Tensor& t) { return log_softmax(t); });
      if (columns < 10) continue;  // of few columns the deviation may be next to nothing
      expect_rows("layer_norm " + what, x, exact, [&](const Tensor& t) {
        const Tensor there = copy_to(weight, t.device());
        return layer_norm(t, there, there);
      });
      const Tensor dy = uniform({rows, columns}, -1, 1, type, &generator);
      for (const std::size_t result : {0u, 1u, 2u}) {
        expect_rows("layer_norm_gradient " + what, x, 4 * exact, [&](const Tensor& t) {
          const Tensor dy_there = copy_to(dy, t.device());
          const Tensor weight_there = copy_to(weight, t.device());
          const std::vector<Operand> operands{dy_there, t, weight_there};
          return ops::run_many_now(gradient_op, operands, ops::Attributes(std::int64_t{1}, 1e-5),
                                   Site::current())[result];
        });
      }
    }
  }
}

/// The loss and its gradient in one, so that both are looked at.
Tensor loss_and_gradient(const Tensor& logits, const Tensor& classes,
                         const CrossEntropyOptions& options) {
  GradientTape tape;
  tape.watch(logits);
  const Tensor loss = cross_entropy(logits, classes, options);
  const Tensor gradient = cast(tape.gradient(loss, logits), float32);
  return concat({reshape(loss, {1}), flatten(gradient)});
}

TEST(GpuRows, OfAnyLengthHaveTheirEntropy) {
  Generator generator(2);
  for (const DType type : {float32, bfloat16}) {
    const double exact = type == float32 ? 2e-6 : 1e-3;
    for (const auto& [rows, columns] : kSizes) {
      const Tensor x = uniform({rows, columns}, -3, 3, type, &generator);
      const Tensor classes = randint(0, columns, {rows}, int64, &generator);
      for (const std::int64_t ignored : {std::int64_t{-100}, std::int64_t{0}}) {
        for (const double smoothing : {0.0, 0.125}) {
          expect_rows(to_string(x.shape()), x, exact, [&](const Tensor& t) {
            return loss_and_gradient(t, copy_to(classes, t.device()),
                                     {.label_smoothing = smoothing, .ignore_index = ignored});
          });
        }
      }
    }
  }
}

TEST(GpuRows, ThatAreAllIgnoredHaveNoEntropy) {
  for (const std::int64_t columns : {10, 5000}) {
    const Tensor x = full({3, columns}, 0.5);
    const auto f = [](const Tensor& t) {
      return loss_and_gradient(t, full({3}, 2).to(t.device()), {.ignore_index = 2});
    };
    expect_same_bits(copy_to(f(copy_to(x, emulated_gpu())), cpu), f(x));
  }
}

/// Rows with infinities and what is no number, each beside one that has none.
TEST(GpuRows, MayHaveWhatIsNoNumber) {
  for (const std::int64_t columns : {10, 64, 9001}) {
    std::vector<float> values;
    constexpr float kSpecial[] = {0, -kInfinity, 0, kInfinity, 0, kNan};
    for (const float special : kSpecial) {
      for (std::int64_t i = 0; i < columns; ++i) {
        values.push_back(i == columns / 2 ? special : static_cast<float>(i % 7));
      }
    }
    values.insert(values.end(), static_cast<std::size_t>(columns), -kInfinity);
    const Tensor x = reshape(tensor(values), {7, columns});
    const Device gpu = emulated_gpu();
    const std::string what = std::to_string(columns);
    const auto expect_alike = [&](const auto& f) {
      expect_close(f(copy_to(x, gpu)), f(x), 1e-5, what);
    };
    expect_alike([](const Tensor& t) { return softmax(t); });
    expect_alike([](const Tensor& t) { return layer_norm(t); });
    const CrossEntropyOptions options{.reduction = Reduction::none};
    expect_alike([&](const Tensor& t) {
      return cross_entropy(t, tensor({1, 1, 1, 1, 1, 1, 1}).to(t.device()), options);
    });
  }
}

/// Each element is updated as on the CPU, wherever it lies.
TEST(GpuUpdates, TakeAnySizeAndPlace) {
  Generator generator(4);
  for (const DType type : {float32, bfloat16}) {
    const double exact = type == float32 ? 1e-6 : 8e-3;
    for (const std::int64_t n : {1, 7, 256, 1027}) {
      for (const double beta : {0.0, 0.9}) {
        for (const int step : {1, 2, 100000, 1000000000}) {
          const Tensor x = uniform({n, 3}, -1, 1, type, &generator);
          expect_rows(to_string(x.shape()), x, exact, [&](const Tensor& t) {
            const Tensor state = cast(t * t, float32);
            return adam_update(t, state, state, t, tensor(0.1).to(t.device()),
                               tensor(step).to(t.device()), {.beta1 = beta})[0];
          });
        }
      }
    }
  }
}

/// Few positions are compared with each other, many are sorted; many of them may choose one place.
TEST(GpuIndices, AreAddedInTheOrderOfTheirPlaces) {
  Generator generator(5);
  const Device gpu = emulated_gpu();
  for (const std::int64_t positions : {1, 31, 1025, 8192, 8193}) {
    for (const std::int64_t places : {1, 40}) {
      for (const std::int64_t columns : {3, 8}) {
        const Tensor at = randint(-places, places, {positions}, int64, &generator);
        const Tensor values = uniform({positions, columns}, -1, 1, float32, &generator);
        const Tensor x = uniform({places, columns}, -1, 1, float32, &generator);
        const auto f = [&](const Tensor& t) {
          return index_add(t, {copy_to(at, t.device())}, copy_to(values, t.device()));
        };
        expect_same_bits(copy_to(f(copy_to(x, gpu)), cpu), f(x));
        expect_same_bits(copy_to(take(copy_to(x, gpu), copy_to(at, gpu)), cpu), take(x, at));
      }
    }
  }
}

template <class F, class Exact>
double units_off(const F& f, const Exact& exact) {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 1009) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const float got = f(x);
    const double expected = exact(static_cast<double>(x));
    if (std::isnan(expected) || std::isinf(static_cast<float>(expected))) {
      EXPECT_TRUE(std::isnan(expected) ? std::isnan(got) : got == static_cast<float>(expected))
          << x;
      continue;
    }
    const int exponent = std::ilogb(std::max(expected, 0x1p-149));
    worst =
        std::max(worst, std::abs(got - expected) / std::ldexp(1, std::max(exponent - 23, -149)));
  }
  return worst;
}

TEST(GpuPowers, AreLessThanAUnitOff) {
  EXPECT_LT(units_off(kernels::cuda::float_exp, [](double x) { return std::exp(x); }), 0.9);
  EXPECT_LT(units_off(kernels::cuda::float_exp2, [](double x) { return std::exp2(x); }), 0.9);
}

/// Differences are small where numbers are as large as can be: in a row of which all is masked,
/// say.
TEST(GpuRows, OfTheLargestNumbersHaveTheirEntropy) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (const std::int64_t columns : {40, 9001}) {
    for (const float each : {-kLargest, kLargest / 2}) {
      const Tensor x = full({2, columns}, each);
      const auto slope = [](const Tensor& t) {
        Tensor logits = t;
        GradientTape tape;
        tape.watch(logits);
        return tape.gradient(cross_entropy(logits, tensor({1, 0}).to(t.device())), logits);
      };
      const auto loss_per_size = [&](const Tensor& t) {
        return cross_entropy(t, tensor({1, 0}).to(t.device())) / kLargest;
      };
      const std::string what = std::to_string(columns);
      expect_close(slope(copy_to(x, emulated_gpu())), slope(x), 1e-6, "gradient of " + what);
      expect_close(loss_per_size(copy_to(x, emulated_gpu())), loss_per_size(x), 1e-6, what);
    }
  }
}

/// A sum over no rows, of as many classes as have kernels of their own.
TEST(GpuRows, LossesOfEmptyBatches) {
  const Device gpu = emulated_gpu();
  for (const std::int64_t classes : {5, 40, 9000}) {
    for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
      const Tensor logits = zeros({0, classes});
      const Tensor targets = zeros({0}, DType::int64);
      const auto loss = [&](Device device) {
        return cross_entropy(copy_to(logits, device), copy_to(targets, device),
                             {.reduction = reduction})
            .item<float>();
      };
      EXPECT_EQ(loss(gpu), loss(cpu)) << classes;
    }
  }
}

}  // namespace
}  // namespace tenure
