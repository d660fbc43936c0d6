#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/cuda/emulated.h"
#include "tests/support/same_bits.h"
#include "tests/support/without_fusing.h"

// Loops that are printed into kernels: what follows a norm or a reduction, and what makes the
// gradient that comes into a norm. Results are those of ops one by one, to the bit.

namespace tenure {
namespace {

using test::emulated_gpu;
using test::expect_same_bits;
using test::WithoutFusing;
using Body = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

std::size_t steps_of(const Body& body, const std::vector<Tensor>& in) {
  return function([&](const std::vector<Tensor>& x) { return body(x); }).plan(in).steps.size();
}

/// Compiled or not, it gives the same bits.
void expect_alike(const Body& body, const std::vector<Tensor>& in) {
  const auto f = function([&](const std::vector<Tensor>& x) { return body(x); });
  const std::vector<Tensor> got = f(in);
  const std::vector<Tensor> expected = body(in);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    expect_same_bits(copy_to(got[i], cpu), copy_to(expected[i], cpu));
  }
}

/// Some loop joins the op's kernel if `joins`, and nothing else changes.
void expect_joined(const char* op, const Body& body, const std::vector<Tensor>& in, bool joins) {
  expect_alike(body, in);
  const std::size_t steps = steps_of(body, in);
  const WithoutFusing none(op, emulated_gpu());
  const std::size_t alone = steps_of(body, in);
  if (joins) {
    EXPECT_LT(steps, alone);
  } else {
    EXPECT_EQ(steps, alone);
  }
}

struct Sizes {
  std::int64_t rows;
  std::int64_t columns;
};
/// Of all forms that rows have on a GPU.
constexpr Sizes kSizes[] = {{3, 1},   {70, 10}, {9, 33},  {30, 64},   {9, 96},   {17, 256},
                            {9, 512}, {9, 768}, {5, 770}, {11, 1024}, {3, 4104}, {2, 16392}};

std::vector<Tensor> inputs_of(const Sizes& sizes, DType type) {
  Generator generator(1);
  const auto make = [&](const Shape& shape) {
    return uniform(shape, -1, 1, type, &generator).to(emulated_gpu());
  };
  const auto [rows, columns] = sizes;
  return {make({rows, columns}),
          make({columns}),
          make({columns}),
          make({rows, columns}),
          transpose(make({columns, rows})),
          make({rows, 1})};
}

TEST(GpuNorms, AreFollowedByLoops) {
  for (const DType type : {float32, bfloat16}) {
    for (const Sizes& sizes : kSizes) {
      SCOPED_TRACE(to_string(Shape{sizes.rows, sizes.columns}));
      const std::vector<Tensor> in = inputs_of(sizes, type);
      expect_joined(
          "layer_norm",
          [](const std::vector<Tensor>& x) {
            return std::vector{relu(layer_norm(x[0], x[1], x[2]) * 2 + x[3])};
          },
          in, true);
      expect_joined(
          "layer_norm",
          [](const std::vector<Tensor>& x) {
            return std::vector{layer_norm(x[0], x[1], x[2]) * x[4] + x[5] - x[2]};
          },
          in, true);
      const DType other = type == float32 ? bfloat16 : float32;
      expect_joined(
          "rms_norm",
          [other](const std::vector<Tensor>& x) {
            return std::vector{cast(rms_norm(x[0], x[1]), other)};
          },
          in, true);
    }
  }
}

TEST(GpuNorms, HaveTheirGradientsMadeByLoops) {
  for (const DType type : {float32, bfloat16}) {
    for (const Sizes& sizes : kSizes) {
      SCOPED_TRACE(to_string(Shape{sizes.rows, sizes.columns}));
      const std::vector<Tensor> in = inputs_of(sizes, type);
      const auto gradients = [](const auto& loss_of) {
        return [loss_of](const std::vector<Tensor>& x) {
          GradientTape tape;
          for (int i = 0; i < 3; ++i) tape.watch(x[static_cast<std::size_t>(i)]);
          const Tensor loss = sum(loss_of(layer_norm(x[0], x[1], x[2]), x));
          return tape.gradient(loss, std::vector{x[0], x[1], x[2]});
        };
      };
      const bool is_held = sizes.columns <= 8192;
      expect_joined("layer_norm_gradient",
                    gradients([](const Tensor& y, const std::vector<Tensor>& x) {
                      return y * (tanh(x[3]) * 2 + x[5]);
                    }),
                    in, is_held);
      expect_joined("layer_norm_gradient",
                    gradients([](const Tensor& y, const std::vector<Tensor>& x) {
                      return cast(y, bfloat16) * cast(x[4] - 3, bfloat16);
                    }),
                    in, is_held);
    }
  }
}

/// The other results are whole when they are read.
TEST(GpuNorms, HaveTheirGradientsFollowedByLoops) {
  for (const DType type : {float32, bfloat16}) {
    for (const Sizes& sizes : kSizes) {
      SCOPED_TRACE(to_string(Shape{sizes.rows, sizes.columns}));
      const std::vector<Tensor> in = inputs_of(sizes, type);
      const auto of = [](const auto& more) {
        return [more](const std::vector<Tensor>& x) {
          GradientTape tape;
          for (int i = 0; i < 3; ++i) tape.watch(x[static_cast<std::size_t>(i)]);
          const Tensor loss = sum(layer_norm(x[0], x[1], x[2]) * x[3]);
          return more(tape.gradient(loss, std::vector{x[0], x[1], x[2]}), x);
        };
      };
      using Tensors = std::vector<Tensor>;
      // Longer rows are read from memory, which the gradient then takes over.
      const bool joins = sizes.columns <= 8192;
      expect_joined("layer_norm_gradient", of([](const Tensors& g, const Tensors& x) {
                      return Tensors{g[0] * 2 + x[4], g[1] + 1, g[2]};
                    }),
                    in, joins);
      expect_joined("layer_norm_gradient", of([](const Tensors& g, const Tensors& x) {
                      return Tensors{cast(g[0], float64) - x[5], g[1] * g[2]};
                    }),
                    in, joins);
      // A loop that reads another result, too, does not follow.
      expect_alike(of([](const Tensors& g, const Tensors&) {
                     return Tensors{g[0] * g[1], g[2]};
                   }),
                   in);
    }
  }
}

TEST(GpuReductions, AreFollowedByLoops) {
  for (const DType type : {float32, bfloat16, int32}) {
    for (const Sizes& sizes : kSizes) {
      SCOPED_TRACE(to_string(Shape{sizes.rows, sizes.columns}));
      Generator generator(2);
      const auto make = [&](const Shape& shape) {
        return cast(uniform(shape, -9, 9, float32, &generator), type).to(emulated_gpu());
      };
      const auto [rows, columns] = sizes;
      const std::vector<Tensor> in{make({rows, columns}), make({columns}), make({rows, 1})};
      const auto expect = [&](const char* op, const auto& body) {
        expect_joined(
            op, [&](const std::vector<Tensor>& x) { return std::vector{body(x)}; }, in, true);
      };
      using Tensors = std::vector<Tensor>;
      const DType other = type == bfloat16 ? float32 : bfloat16;
      expect("sum", [&](const Tensors& x) { return cast(sum(x[0], {0}), other); });
      expect("sum", [](const Tensors& x) { return maximum(sum(x[0], {1}, true) * 2, x[2]); });
      expect("mean", [](const Tensors& x) { return abs(mean(x[0], {0})) - x[1]; });
      expect("max", [](const Tensors& x) { return max(x[0]) * 3 + 1; });
      expect("argmax", [](const Tensors& x) { return cast(argmax(x[0], 0), int32) - 1; });
    }
  }
}

/// A kernel that would compute in place, and a loop that would compute in the memory of what it
/// reads, are not joined where that takes more memory.
TEST(JoinedLoops, TakeNoMoreMemory) {
  const Device device = emulated_gpu();
  const Tensor x = normal({16, 4096}).to(device);
  const Tensor weight = ones({4096}).to(device);
  const std::vector<Body> bodies{
      [](const auto& in) { return std::vector{tanh(layer_norm(exp(in[0]), in[1], in[1])) * 2}; },
      [](const auto& in) { return std::vector{tanh(rms_norm(exp(in[0]), in[1])) * 2}; },
      [](const auto& in) {
        const Tensor z = exp(in[0]);
        const Tensor narrow = cast(in[1], bfloat16);
        return std::vector{z + cast(layer_norm(cast(z, bfloat16), narrow, narrow), float32)};
      },
      [](const auto& in) {
        return std::vector{in[0] + cast(layer_norm(in[0], in[1], in[1]), bfloat16)};
      }};
  for (const Body& body : bodies) {
    const std::vector<Tensor> given{x, weight};
    const auto peak = [&] {
      return function([&](const std::vector<Tensor>& in) { return body(in); }).plan(given).peak;
    };
    const std::int64_t joined = peak();
    const WithoutFusing no_layer_norm("layer_norm", device);
    const WithoutFusing no_rms_norm("rms_norm", device);
    EXPECT_LE(joined, peak());
  }
}

}  // namespace
}  // namespace tenure
