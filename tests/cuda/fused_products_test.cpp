#include <gtest/gtest.h>

#include "tenure/tenure.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/layouts.h"
#include "tests/support/same_bits.h"

// Products with the loops that follow them, on the emulated GPU: they have the numbers of the CPU,
// and the bits of a product and a loop, one after the other.

namespace tenure {
namespace {

using test::Draws;
using test::emulated_gpu;
using test::expect_same_bits;

/// What is multiplied, and what the loop behind that reads.
struct Case {
  Tensor a;
  Tensor b;
  Tensor row;
  Tensor column;
  Tensor all;
  int kind;

  Tensor product() const { return matmul(a, b); }
  Tensor loop(const Tensor& c) const {
    switch (kind) {
      case 0:
        return relu(c + row);
      case 1:
        return where(all > 0, c * column, 0.25);
      case 2:
        return gelu(c + row) * 0.5 + all;
      case 3:
        return c * c - column * row;
      default:
        return cast(c > all, int32) * 3 - 1;
    }
  }
};

Case some_case(Draws& draws, Generator& generator, Device device) {
  constexpr std::int64_t kSizes[] = {1, 2, 3, 8, 16, 17, 32, 33, 64, 65, 100, 128, 130};
  const std::int64_t m = draws.one_of(kSizes);
  const std::int64_t n = draws.one_of(kSizes);
  const std::int64_t k = draws.below(4) == 0 ? 200 + draws.below(400) : draws.one_of(kSizes);
  const auto operand = [&](std::int64_t batch, std::int64_t rows, std::int64_t columns) {
    const bool is_turned = draws.coin();
    Shape shape{is_turned ? columns : rows, is_turned ? rows : columns};
    if (batch > 0) shape.insert(0, batch);
    const std::int64_t more = draws.below(3);  // rows that begin anywhere
    Shape whole = shape;
    whole[whole.size() - 1] += more;
    const Tensor x = slice(normal(whole, 0, 1, float32, &generator).to(device), -1, more);
    return is_turned ? transpose(x, -1, -2) : x;
  };
  const std::int64_t batch = draws.below(3) == 0 ? 1 + draws.below(3) : 0;
  const auto like = [&](Shape shape) {
    return normal(shape, 0, 1, float32, &generator).to(device);
  };
  const Shape out = batch > 0 ? Shape{batch, m, n} : Shape{m, n};
  return {.a = operand(batch, m, k),
          .b = operand(draws.coin() ? batch : 0, k, n),
          .row = like({n}),
          .column = like({m, 1}),
          .all = like(out),
          .kind = static_cast<int>(draws.below(5))};
}

TEST(FusedProducts, HaveTheBitsOfAProductAndALoop) {
  const Device device = emulated_gpu();
  Draws draws(1);
  Generator generator(1);
  for (int round = 0; round < 60; ++round) {
    const Case c = some_case(draws, generator, device);
    const auto f = function([&c](const Tensor& a, const Tensor& b, const Tensor& row,
                                 const Tensor& column, const Tensor& all) {
      const Case given{a, b, row, column, all, c.kind};
      return given.loop(given.product());
    });
    const Tensor product = c.product();
    const Tensor expected = copy_to(matmul(copy_to(c.a, cpu), copy_to(c.b, cpu)), cpu);
    EXPECT_TRUE(allclose(copy_to(product, cpu), expected, 1e-4, 1e-4).item<bool>()) << round;
    expect_same_bits(f(c.a, c.b, c.row, c.column, c.all), c.loop(product));
    expect_same_bits(f(c.a, c.b, c.row, c.column, c.all), c.loop(c.product()));
  }
}

}  // namespace
}  // namespace tenure
