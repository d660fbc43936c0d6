#include "tenure/kernels/cpu/gemm/packed_gemm.h"

#include <gtest/gtest.h>

#include <hwy/targets.h>

#include "tests/kernels/random_views.h"

namespace tenure::kernels {
namespace {

using test::make_dense;
using test::Owned;
using test::RandomViews;
using test::values_of;

/// matmul in a workspace of just the size that it asks for.
void multiply(const View& a, const View& b, const Owned& out) {
  constexpr std::size_t kGuard = 256;
  constexpr auto kPattern = std::byte{0x5a};
  const std::size_t bytes = matmul_workspace(a, b, out);
  std::vector<std::byte> memory(bytes + 64 + kGuard, kPattern);
  void* room = memory.data();
  std::size_t space = memory.size();
  std::align(64, bytes + kGuard, room, space);
  const std::span<std::byte> workspace(static_cast<std::byte*>(room), bytes + kGuard);
  matmul(a, b, out, workspace.first(bytes));
  for (const std::byte behind : workspace.last(kGuard)) ASSERT_EQ(behind, kPattern);
}

/// Integers so small that every order of the sums is exact.
void expect_exact(const View& a, const View& b, const Owned& out) {
  multiply(a, b, out);
  const std::vector<double> x = values_of(a);
  const std::vector<double> y = values_of(b);
  const std::vector<double> got = values_of(out);
  const auto m = static_cast<std::size_t>(out.shape[0]);
  const auto n = static_cast<std::size_t>(out.shape[1]);
  const auto depth = static_cast<std::size_t>(a.shape[1]);
  std::vector<double> row(n);
  for (std::size_t i = 0; i < m; ++i) {
    std::fill(row.begin(), row.end(), 0.0);
    for (std::size_t k = 0; k < depth; ++k) {
      for (std::size_t j = 0; j < n; ++j) row[j] += x[i * depth + k] * y[k * n + j];
    }
    for (std::size_t j = 0; j < n; ++j) {
      ASSERT_EQ(got[i * n + j], row[j])
          << a.shape << a.strides << b.shape << b.strides << i << ' ' << j;
    }
  }
}

TEST(PackedGemm, TakesAnySizeAndLayout) {
  RandomViews random(7);
  for (int round = 0; round < 60; ++round) {
    const DType dtype = random.chance(0.6) ? float32 : float64;
    const std::int64_t m = random.integer(2, 150);
    const std::int64_t n = random.integer(2, 150);
    const std::int64_t k = 64 * 64 * 64 / (m * n) + random.integer(65, 300);
    const Owned a = random.view(dtype, {m, k});
    const Owned b = random.view(dtype, {k, n});
    expect_exact(a, b, make_dense(dtype, {m, n}));
  }
}

/// More than is packed at a time: in depth, in lines, in both; rows that stay, and columns.
TEST(PackedGemm, TakesPartAfterPart) {
  RandomViews random(8);
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{600, 140, 500},
                                {1100, 130, 270},
                                {131, 128, 2100},
                                {300, 7, 9000},
                                {3, 70, 30000},
                                {1030, 129, 30}}) {
    for (const DType dtype : {float32, float64}) {
      const Owned a = random.view(dtype, {m, k}, -8, 8, false);
      const Owned b = random.view(dtype, {k, n}, -8, 8, false);
      expect_exact(a, b, make_dense(dtype, {m, n}));
    }
  }
}

/// Columns so many that a panel is not read where it lies: the next one is packed beside it, in few
/// or in many tiles, of few or of many terms, and the last one may be narrow.
TEST(PackedGemm, TakesPanelAfterPanel) {
  RandomViews random(12);
  for (int round = 0; round < 200; ++round) {
    const DType dtype =
        std::array{float32, float64, bfloat16, float16}[static_cast<std::size_t>(round % 4)];
    const std::int64_t m = random.integer(2, random.chance(0.5) ? 60 : 300);
    const std::int64_t k = random.integer(5, random.chance(0.5) ? 20 : 600);
    const std::int64_t n = random.integer(129, 1 + 200'000 / (k + 60));
    // Sums of 16 bits are exact as long as they are small.
    const bool is_narrow = size_of(dtype) < 4;
    const std::int64_t most = is_narrow ? 1 : 8;
    const bool may_broadcast = !is_narrow && random.chance(0.3);
    const Owned a = random.view(dtype, {m, k}, is_narrow ? 0 : -most, most, may_broadcast);
    const Owned b = random.view(dtype, {k, n}, -most, most, may_broadcast);
    const int before = num_threads();
    set_num_threads(round % 3 + 1);
    expect_exact(a, b, make_dense(dtype, {m, n}));
    set_num_threads(before);
  }
}

TEST(PackedGemm, TakesBatches) {
  RandomViews random(9);
  const Owned a = random.view(float32, {3, 5, 70, 66});
  for (const Shape& shape : {Shape{3, 5, 66, 80}, Shape{5, 66, 80}, Shape{3, 1, 66, 80},
                             Shape{1, 66, 80}, Shape{66, 300}}) {
    const Owned b = random.view(float32, shape);
    const Owned out = make_dense(float32, {3, 5, 70, shape.back()});
    multiply(a, b, out);
    for (std::int64_t i = 0; i < 15; ++i) {
      const auto part = [](View view, std::int64_t first, std::int64_t second) {
        while (view.shape.size() < 4) {
          view.shape.insert(0, 1);
          view.strides.insert(0, 0);
        }
        const std::int64_t at = (view.shape[0] == 1 ? 0 : first) * view.strides[0] +
                                (view.shape[1] == 1 ? 0 : second) * view.strides[1];
        view.data = view.as<float>() + at;
        for (int axis = 0; axis < 2; ++axis) {
          view.shape.erase(0);
          view.strides.erase(0);
        }
        return view;
      };
      const Owned alone = make_dense(float32, {70, shape.back()});
      expect_exact(part(a, i / 5, i % 5), part(b, i / 5, i % 5), alone);
      ASSERT_EQ(values_of(part(out, i / 5, i % 5)), values_of(alone)) << shape << i;
    }
  }
}

Owned fractions(DType dtype, const Shape& shape) {
  Owned made = make_dense(dtype, shape);
  test::for_each(shape, [&](const test::Coordinates& at) {
    test::set(made, at, 1.0 / static_cast<double>(3 + (at[0] * 7 + at[1] * 5) % 1001));
  });
  return made;
}

View turned(View view) {
  std::swap(view.shape[0], view.shape[1]);
  std::swap(view.strides[0], view.strides[1]);
  return view;
}

TEST(PackedGemm, GivesTheSameBitsHoweverTheWorkIsSplit) {
  const int before = num_threads();
  for (const DType dtype : {float32, float64}) {
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{130, 140, 600},
                                  {300, 20, 700},
                                  {20, 500, 300},
                                  {310, 320, 270}}) {
      const Owned a = fractions(dtype, {m, k});
      const Owned b = fractions(dtype, {k, n});
      const Owned out = make_dense(dtype, {m, n});
      set_num_threads(1);
      multiply(a, b, out);
      const std::vector<std::byte> alone = out.bytes();
      for (const int threads : {2, 3, 4, 8, 16}) {
        set_num_threads(threads);
        multiply(a, b, out);
        EXPECT_EQ(out.bytes(), alone) << threads << " threads";
      }
      // Nor do they follow how matrices lie in memory, or how high a tile is.
      const Owned other = make_dense(dtype, {k, m});
      test::for_each(a.shape, [&](const test::Coordinates& at) {
        test::set(other, {at[1], at[0]}, test::get(a, at));
      });
      multiply(turned(other), b, out);
      EXPECT_EQ(out.bytes(), alone) << "of a transposed matrix";
    }
  }
  set_num_threads(before);
}

/// The same numbers in the same places.
Owned as_floats(const Owned& narrow) {
  Owned wide = make_dense(float32, narrow.shape);
  test::for_each(narrow.shape,
                 [&](const test::Coordinates& at) { test::set(wide, at, test::get(narrow, at)); });
  return wide;
}

View lying(const View& view, bool is_turned) { return is_turned ? turned(view) : view; }

/// The second of two terms before the first one: the order in which those of bfloat16 are added.
Owned in_pairs(const Owned& view, int terms) {
  Shape shape = view.shape;
  shape[terms] += shape[terms] % 2;
  Owned made = make_dense(view.dtype, shape);
  test::for_each(view.shape, [&](test::Coordinates at) {
    const double number = test::get(view, at);
    at[static_cast<std::size_t>(terms)] ^= 1;
    test::set(made, at, number);
  });
  return made;
}

TEST(PackedGemm, RoundsProductsOfNarrowFloatsOnce) {
  const int before = num_threads();
  for (const DType dtype : {bfloat16, float16}) {
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{130, 140, 600},
                                  {300, 20, 700},
                                  {20, 500, 301},
                                  {1, 700, 900},
                                  {700, 1, 900},
                                  {9, 7, 5}}) {
      const bool is_packed = std::min(m, n) > 1 && m * n * k > 64 * 64 * 64;
      // Sums of a matrix and a vector follow how the matrix lies, which copies of float16 do not.
      if (dtype == float16 && (m == 1 || n == 1)) continue;
      for (int lies = 0; lies < 4; ++lies) {
        const bool turned_a = (lies & 1) != 0;
        const bool turned_b = (lies & 2) != 0;
        const Owned a = fractions(dtype, turned_a ? Shape{k, m} : Shape{m, k});
        const Owned b = fractions(dtype, turned_b ? Shape{n, k} : Shape{k, n});
        Owned wide_a = as_floats(a);
        Owned wide_b = as_floats(b);
        if (dtype == bfloat16 && is_packed) {
          wide_a = in_pairs(wide_a, turned_a ? 0 : 1);
          wide_b = in_pairs(wide_b, turned_b ? 1 : 0);
        }
        const Owned wide = make_dense(float32, {m, n});
        multiply(lying(wide_a, turned_a), lying(wide_b, turned_b), wide);
        const Owned expected = make_dense(dtype, {m, n});
        test::for_each(wide.shape, [&](const test::Coordinates& at) {
          test::set(expected, at, test::get(wide, at));
        });
        for (const int threads : {1, 2, 3}) {
          set_num_threads(threads);
          const Owned out = make_dense(dtype, {m, n});
          multiply(lying(a, turned_a), lying(b, turned_b), out);
          EXPECT_EQ(out.bytes(), expected.bytes()) << dtype << m << ' ' << n << ' ' << k << lies;
        }
      }
    }
  }
  set_num_threads(before);
}

#ifdef __x86_64__
// Some CPUs multiply bfloat16 by an instruction, which takes the smallest numbers as zeros. Those
// of SSE4 round a product before it is added.
TEST(PackedGemm, ProductsOfBfloat16HaveTheSameBitsOnEveryInstructionSet) {
  RandomViews random(11);
  const auto numbers = [&](const Shape& shape, bool has_extremes) {
    Owned made = make_dense(bfloat16, shape);
    const bool near_nothing = has_extremes && random.chance(0.5);
    for (std::size_t i = 0; i < made.memory->size(); i += 2) {
      // Of any size that does not end in infinities, or with sums around the least normal number;
      // or such that float32 holds all products.
      const std::int64_t exponent =
          near_nothing ? random.integer(48, 64) : random.integer(has_extremes ? 0 : 64, 180);
      const auto bits = static_cast<std::uint16_t>(random.integer(0, 1) << 15 | exponent << 7 |
                                                   random.integer(0, 127));
      std::memcpy(made.memory->data() + i, &bits, 2);
    }
    return made;
  };
  for (int round = 0; round < 18; ++round) {
    const bool has_extremes = round < 12;
    const std::int64_t m = random.integer(2, 100);
    const std::int64_t n = random.integer(2, 100);
    const std::int64_t k = 64 * 64 * 64 / (m * n) + random.integer(65, 300);
    const Owned a = numbers({m, k}, has_extremes);
    const Owned b = numbers({k, n}, has_extremes);
    std::vector<std::byte> expected;
    for (const std::int64_t target : {HWY_SSE4, HWY_AVX2, HWY_AVX3}) {
      if (has_extremes && target == HWY_SSE4) continue;
      if ((hwy::SupportedTargets() & target) == 0) continue;
      hwy::GetChosenTarget().Update(target);
      const Owned out = make_dense(bfloat16, {m, n});
      multiply(a, b, out);
      if (expected.empty()) expected = out.bytes();
      EXPECT_EQ(out.bytes(), expected) << m << ' ' << n << ' ' << k << hwy::TargetName(target);
    }
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}
#endif

TEST(PackedGemm, AsksForTheSameWorkspaceOnAnyNumberOfThreads) {
  RandomViews random(10);
  const int before = num_threads();
  for (int round = 0; round < 200; ++round) {
    const std::int64_t m = random.integer(1, 3000);
    const std::int64_t n = random.integer(1, 3000);
    const std::int64_t k = random.integer(1, 3000);
    const auto view = [](std::int64_t rows, std::int64_t columns) {
      return View{.dtype = float32, .shape = {rows, columns}, .strides = {columns, 1}};
    };
    set_num_threads(1);
    const std::size_t bytes = matmul_workspace(view(m, k), view(k, n), view(m, n));
    EXPECT_LE(bytes, Residence::kBytes + (Residence::kBytes >> 2)) << m << ' ' << n << ' ' << k;
    for (const int threads : {2, 7, 64}) {
      set_num_threads(threads);
      ASSERT_EQ(matmul_workspace(view(m, k), view(k, n), view(m, n)), bytes);
    }
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace tenure::kernels
