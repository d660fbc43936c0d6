#include "tenure/kernels/cpu/gemm/byte_gemm.h"

#include <gtest/gtest.h>

#include "tests/kernels/random_views.h"

namespace tenure::kernels {
namespace {

using test::get;
using test::make_dense;
using test::Owned;
using test::RandomViews;

/// The last bits of a sum, as a type holds them.
double wrapped(std::int64_t sum, DType dtype) {
  if (dtype == int32) return static_cast<std::int32_t>(sum);
  if (dtype == int8) return static_cast<std::int8_t>(sum);
  return static_cast<std::uint8_t>(sum);
}

void expect_product(const View& a, const View& b, const Owned& out) {
  ASSERT_EQ(matmul_workspace(a, b, out), 0u);
  matmul(a, b, out, {});
  for (std::int64_t i = 0; i < out.shape[0]; ++i) {
    for (std::int64_t j = 0; j < out.shape[1]; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < a.shape[1]; ++k) {
        sum += static_cast<std::int64_t>(get(a, {i, k}) * get(b, {k, j}));
      }
      ASSERT_EQ(get(out, {i, j}), wrapped(sum, out.dtype))
          << a.dtype << a.shape << a.strides << b.dtype << b.shape << b.strides << out.dtype << i
          << ' ' << j;
    }
  }
}

/// Whatever lies between them: the whole range of each type, and often its ends alone, whose sums
/// are the largest.
Owned bytes(RandomViews& random, DType dtype, const Shape& shape) {
  const std::int64_t low = dtype == int8 ? -128 : 0;
  Owned made = random.view(dtype, shape, low, low + 255);
  if (random.chance(0.5)) return made;
  test::for_each(shape, [&](const test::Coordinates& at) {
    test::set(made, at, static_cast<double>(random.chance(0.5) ? low : low + 255));
  });
  return made;
}

TEST(ByteGemm, TakesAnySizeLayoutAndSign) {
  RandomViews random(11);
  const int before = num_threads();
  for (int round = 0; round < 250; ++round) {
    const DType a_type = random.chance(0.5) ? int8 : uint8;
    const DType b_type = random.chance(0.5) ? int8 : uint8;
    const std::int64_t m = random.integer(1, 40);
    const std::int64_t n = random.integer(1, 70);
    const std::int64_t k = random.chance(0.05) ? 0 : random.integer(1, 90);
    set_num_threads(static_cast<int>(random.integer(1, 3)));
    expect_product(bytes(random, a_type, {m, k}), bytes(random, b_type, {k, n}),
                   make_dense(random.chance(0.5) ? int32 : a_type, {m, n}));
  }
  set_num_threads(before);
}

/// Deeper than is packed at a time, in each layout that is packed differently.
TEST(ByteGemm, TakesPartAfterPart) {
  RandomViews random(12);
  for (const DType out : {int32, int8}) {
    for (int round = 0; round < 8; ++round) {
      expect_product(bytes(random, int8, {30, 1100}), bytes(random, int8, {1100, 40}),
                     make_dense(out, {30, 40}));
    }
  }
}

/// More columns than are packed at a time, on as many threads as cut them differently.
TEST(ByteGemm, TakesManyColumns) {
  RandomViews random(14);
  const int before = num_threads();
  for (int threads = 1; threads <= 3; ++threads) {
    set_num_threads(threads);
    expect_product(bytes(random, int8, {17, 70}), bytes(random, int8, {70, 300}),
                   make_dense(int32, {17, 300}));
  }
  set_num_threads(before);
}

/// Of few rows columns are read where they lie: any number of terms, the last columns not whole.
TEST(ByteGemm, TakesFewRowsOfManyColumns) {
  RandomViews random(15);
  const int before = num_threads();
  for (int round = 0; round < 120; ++round) {
    const std::int64_t m = random.integer(1, 16);
    const std::int64_t n = random.integer(60, 300);
    const std::int64_t k = random.integer(1, 300);
    const DType a_type = random.chance(0.5) ? int8 : uint8;
    set_num_threads(static_cast<int>(random.integer(1, 3)));
    expect_product(bytes(random, a_type, {m, k}), bytes(random, int8, {k, n}),
                   make_dense(random.chance(0.7) ? int32 : a_type, {m, n}));
  }
  set_num_threads(before);
}

TEST(ByteGemm, TakesBatches) {
  RandomViews random(13);
  const Owned a = random.view(uint8, {6, 5, 30}, 0, 255, false);
  const Owned b = random.view(int8, {6, 30, 7}, -128, 127, false);
  const Owned out = make_dense(int32, {6, 5, 7});
  matmul(a, b, out, {});
  for (std::int64_t i = 0; i < 6; ++i) {
    const auto one = [&](View view) {
      view.data = view.as<std::byte>() +
                  i * view.strides[0] * static_cast<std::int64_t>(size_of(view.dtype));
      view.shape.erase(0);
      view.strides.erase(0);
      return view;
    };
    const Owned alone = make_dense(int32, {5, 7});
    expect_product(one(a), one(b), alone);
    EXPECT_EQ(test::values_of(one(out)), test::values_of(alone));
  }
}

}  // namespace
}  // namespace tenure::kernels
