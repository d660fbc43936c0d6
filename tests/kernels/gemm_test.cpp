#include "tenure/kernels/cpu/gemm/gemm.h"

#include <gtest/gtest.h>

#include "tests/kernels/random_views.h"

namespace tenure::kernels {
namespace {

using test::expect_same_on_threads;
using test::get;
using test::make_dense;
using test::Owned;
using test::RandomViews;

std::vector<std::byte> product(const View& a, const View& b, const Owned& out) {
  std::fill(out.memory->begin(), out.memory->end(), std::byte{0x5a});
  std::vector<std::byte> workspace(matmul_workspace(a, b, out) + 64);
  void* room = workspace.data();
  std::size_t space = workspace.size();
  std::align(64, space - 64, room, space);
  matmul(a, b, out, {static_cast<std::byte*>(room), space});
  return out.bytes();
}

/// Small integers, whose products and sums every type holds exactly.
void expect_exact(const View& a, const View& b, const Owned& out) {
  for (std::int64_t i = 0; i < out.shape[0]; ++i) {
    for (std::int64_t j = 0; j < out.shape[1]; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.shape[1]; ++k) sum += get(a, {i, k}) * get(b, {k, j});
      ASSERT_EQ(get(out, {i, j}), sum)
          << a.shape << a.strides << b.shape << b.strides << i << ' ' << j;
    }
  }
}

TEST(Matmul, TakesAnySizeAndLayout) {
  RandomViews random(1);
  for (int round = 0; round < 400; ++round) {
    const DType dtype = random.chance(0.6) ? float32 : float64;
    const std::int64_t m = random.integer(1, 40);
    const std::int64_t n = random.integer(1, 70);
    const std::int64_t k = random.chance(0.05) ? 0 : random.integer(1, 80);
    const Owned a = random.view(dtype, {m, k});
    const Owned b = random.view(dtype, {k, n});
    const Owned out = make_dense(dtype, {m, n});
    product(a, b, out);
    expect_exact(a, b, out);
  }
}

TEST(Matmul, MultipliesVectorsOnEitherSide) {
  RandomViews random(2);
  for (int round = 0; round < 300; ++round) {
    const DType dtype = random.chance(0.6) ? float32 : float64;
    const std::int64_t size = random.integer(1, 90);
    const std::int64_t terms = random.chance(0.05) ? 0 : random.integer(1, 2100);
    const bool left = random.chance(0.5);
    const Owned a = random.view(dtype, {left ? 1 : size, terms});
    const Owned b = random.view(dtype, {terms, left ? size : 1});
    const Owned out = make_dense(dtype, {a.shape[0], b.shape[1]});
    product(a, b, out);
    expect_exact(a, b, out);
  }
}

/// To a part of a wider matrix, whose other numbers stay; vectors, small products and packed ones.
TEST(AddProduct, AddsToWhatIsThereOrSubtracts) {
  RandomViews random(4);
  for (int round = 0; round < 200; ++round) {
    const DType dtype = random.chance(0.4) ? float32 : float64;
    const std::int64_t m = random.chance(0.1) ? 1 : random.integer(1, 150);
    const std::int64_t n = random.chance(0.1) ? 1 : random.integer(1, 90);
    const std::int64_t k = random.chance(0.05) ? 0 : random.integer(1, 400);
    const Owned a = random.view(dtype, {m, k});
    const Owned b = random.view(dtype, {k, n});
    const Owned wide = make_dense(dtype, {m, n + 3});
    const auto before = [](std::int64_t i, std::int64_t j) {
      return static_cast<double>((i * 7 + j * 5) % 11 - 5);
    };
    test::for_each(wide.shape,
                   [&](const test::Coordinates& at) { test::set(wide, at, before(at[0], at[1])); });
    View out = wide;
    out.shape = {m, n};
    std::vector<std::byte> workspace(matmul_workspace(a, b, out) + 64);
    void* room = workspace.data();
    std::size_t space = workspace.size();
    std::align(64, space - 64, room, space);
    const Into into = random.chance(0.5) ? Into::add : Into::subtract;
    const double sign = into == Into::add ? 1 : -1;
    add_product(a, b, out, {static_cast<std::byte*>(room), space}, into);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n + 3; ++j) {
        double sum = before(i, j);
        for (std::int64_t t = 0; t < k && j < n; ++t) {
          sum += sign * get(a, {i, t}) * get(b, {t, j});
        }
        ASSERT_EQ(get(wide, {i, j}), sum) << a.shape << a.strides << b.shape << b.strides;
      }
    }
  }
}

/// However large its sides are.
TEST(Matmul, IsZeroWithoutTerms) {
  for (const DType dtype : {float32, float64, bfloat16, int8, int32}) {
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{263'000, 5},
                               {263'000, 17},
                               {17, 263'000},
                               {200, 300}}) {
      const Owned out = make_dense(dtype, {m, n});
      product(make_dense(dtype, {m, 0}), make_dense(dtype, {0, n}), out);
      const std::vector<std::byte> bytes = out.bytes();
      EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; }))
          << dtype << m << ' ' << n;
    }
  }
}

TEST(Matmul, TakesMatricesWhoseRowsAreFarApart) {
  RandomViews random(3);
  for (const DType dtype : {float32, float64}) {
    const Owned a = random.view(dtype, {24, 300});
    const Owned wide = make_dense(dtype, {300, 1024});
    test::for_each(wide.shape, [&](const test::Coordinates& at) {
      test::set(wide, at, static_cast<double>((at[0] * 31 + at[1] * 17) % 13 - 6));
    });
    View b = wide;
    b.shape[1] = 37;
    const Owned out = make_dense(dtype, {24, 37});
    product(a, b, out);
    expect_exact(a, b, out);
  }
}

TEST(Matmul, GivesTheSameBitsOnAnyNumberOfThreads) {
  const auto fractions = [](DType dtype, const Shape& shape) {
    Owned made = make_dense(dtype, shape);
    test::for_each(shape, [&](const test::Coordinates& at) {
      test::set(made, at, 1.0 / static_cast<double>(3 + (at[0] * 7 + at[1] * 5) % 1001));
    });
    return made;
  };
  for (const DType dtype : {float32, float64}) {
    for (const auto& [a_shape, b_shape] :
         {std::pair<Shape, Shape>{{1, 1500}, {1500, 333}}, {{701, 900}, {900, 1}}}) {
      const Owned a = fractions(dtype, a_shape);
      const Owned b = fractions(dtype, b_shape);
      const Owned out = make_dense(dtype, {a_shape[0], b_shape[1]});
      expect_same_on_threads([&] { return product(a, b, out); });
    }
  }
}

/// Of one row and one column as of many: a single chain of so many equal terms is 0.7 % off.
TEST(Gemm, SumsOfManyTermsKeepTheirDigits) {
  constexpr std::int64_t kTerms = 1'000'000;
  const auto filled = [](const Shape& shape, double value) {
    Owned made = make_dense(float32, shape);
    test::for_each(shape, [&](const test::Coordinates& at) { test::set(made, at, value); });
    return made;
  };
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 2}, {1, 1}, {2, 1}, {2, 2}}) {
    const Owned a = filled({m, kTerms}, 1.1);
    const Owned b = filled({kTerms, n}, 1.3);
    const Owned out = make_dense(float32, {m, n});
    product(a, b, out);
    EXPECT_NEAR(test::get(out, {0, n - 1}) / (1.43 * kTerms), 1, 3e-4) << m << ' ' << n;
    // The matrix lies the other way.
    Owned turned = filled({kTerms, m}, 1.1);
    std::swap(turned.shape[0], turned.shape[1]);
    std::swap(turned.strides[0], turned.strides[1]);
    product(turned, b, out);
    EXPECT_NEAR(test::get(out, {0, n - 1}) / (1.43 * kTerms), 1, 3e-4) << m << ' ' << n;
  }
}

}  // namespace
}  // namespace tenure::kernels
