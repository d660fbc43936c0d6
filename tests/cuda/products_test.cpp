#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "tenure/kernels/cuda/places/nest.h"
#include "tenure/kernels/cuda/products/even_product.h"
#include "tenure/kernels/cuda/products/library_product.h"
#include "tenure/kernels/cuda/products/pieces.h"

// What is asked of products by sizes alone, whether the library is there or not.

namespace tenure::kernels::cuda {
namespace {

ProductPlan random_plan(std::mt19937& random) {
  const auto size = [&] {
    const std::int64_t sizes[] = {0, 1, 2, 7, 64, 128, 1000, 1024, 5003, 50257};
    return sizes[random() % std::size(sizes)];
  };
  ProductPlan plan{.m = size(), .n = size(), .k = size()};
  const bool a_by_k = random() % 2 == 0;
  const bool b_by_n = random() % 2 == 0;
  plan.a_row = a_by_k ? plan.k : 1;
  plan.a_column = a_by_k ? 1 : plan.m;
  plan.b_row = b_by_n ? plan.n : 1;
  plan.b_column = b_by_n ? 1 : plan.k;
  plan.c_row = plan.n;
  plan.batch = no_loops(3);
  if (random() % 3 == 0) {
    const std::int64_t steps[] = {plan.m * plan.k, plan.k * plan.n, plan.m * plan.n};
    add_loop(plan.batch, static_cast<std::int64_t>(random() % 4), steps);
  }
  return plan;
}

TEST(LibraryProducts, TakeABoundedWorkspaceOfAnySizes) {
  std::mt19937 random(2);
  int cuts = 0;
  for (int round = 0; round < 20000; ++round) {
    const ProductPlan plan = random_plan(random);
    EXPECT_LE(library_workspace(plan), std::size_t{32} << 20);
    if (plan.results() == 0) {
      EXPECT_EQ(library_workspace(plan), 0u);
      EXPECT_FALSE(library_multiplies(DType::float32, plan));
    }
    const std::optional<PieceCut> cut = cut_for(DType::bfloat16, plan);
    EXPECT_FALSE(cut_for(DType::float32, plan).has_value());
    if (!cut) continue;
    ++cuts;
    EXPECT_TRUE(cut->copies_a || cut->copies_b || cut->copies_result);
    EXPECT_EQ(cut->size % 128, 0);
    EXPECT_GE(cut->size, 256);
    EXPECT_LE(cut->a_bytes(plan) + cut->b_bytes(plan) + cut->result_bytes(plan),
              (std::size_t{48} << 20) + 1024);
    EXPECT_LE(pieces_workspace(DType::bfloat16, *cut, plan), (std::size_t{80} << 20) + 1024);
  }
  EXPECT_GT(cuts, 500);
}

/// Every product of two elements is in one part, and the first of those of a result adds nothing.
TEST(LibraryProducts, AreTheirEvenParts) {
  std::mt19937 random(3);
  int cuts = 0;
  for (int round = 0; round < 3000; ++round) {
    ProductPlan plan = random_plan(random);
    const auto up = [](std::int64_t n) { return (n + 7) / 8 * 8; };
    (plan.a_column == 1 ? plan.a_row : plan.a_column) = up(plan.a_column == 1 ? plan.k : plan.m);
    (plan.b_column == 1 ? plan.b_row : plan.b_column) = up(plan.b_column == 1 ? plan.n : plan.k);
    plan.c_row = up(plan.n);
    const std::vector<ProductPart> parts = even_parts(DType::bfloat16, plan);
    std::size_t most = 0;
    std::map<std::int64_t, std::int64_t> summed;  // of the results from each place on, so far
    double all = 0;
    for (const ProductPart& part : parts) {
      const ProductPlan& own = part.plan;
      most = std::max(most, library_workspace(own));
      const auto known = summed.find(part.c);
      EXPECT_EQ(part.adds, known != summed.end());
      const std::int64_t k = known == summed.end() ? 0 : known->second;
      summed[part.c] = k + own.k;
      all += static_cast<double>(own.m) * static_cast<double>(own.n) * static_cast<double>(own.k);
      if (parts.size() == 1) continue;
      ++cuts;
      EXPECT_TRUE(own.n % 8 == 0 || own.n < 8);
      EXPECT_EQ(part.a % 8, 0);
      EXPECT_EQ(part.c % 8, 0);
    }
    EXPECT_EQ(all, static_cast<double>(plan.m) * static_cast<double>(plan.n) *
                       static_cast<double>(plan.k));
    for (const auto& [c, k] : summed) EXPECT_EQ(k, plan.k);
    EXPECT_EQ(most, even_workspace(DType::bfloat16, plan));
    EXPECT_EQ(even_parts(DType::float32, plan).size(), 1u);
  }
  EXPECT_GT(cuts, 500);
}

/// Computed part by part, a product is what it is whole.
TEST(LibraryProducts, HavePartsThatAddUp) {
  for (const auto& [m, n, k] : {std::array{9, 4099, 32771}, {17, 8197, 8195}}) {
    for (const bool a_by_k : {false, true}) {
      const std::int64_t a_step = ((a_by_k ? k : m) + 7) / 8 * 8;
      const std::int64_t c_row = (n + 7) / 8 * 8;
      const ProductPlan plan{.m = m,
                             .n = n,
                             .k = k,
                             .a_row = a_by_k ? a_step : 1,
                             .a_column = a_by_k ? 1 : a_step,
                             .b_row = c_row,
                             .b_column = 1,
                             .c_row = c_row,
                             .batch = no_loops(3)};
      std::vector<int> seen(static_cast<std::size_t>(m * c_row));
      const auto parts = even_parts(DType::float16, plan);
      EXPECT_EQ(parts.size(), 4u);
      for (const ProductPart& part : parts) {
        for (std::int64_t i = 0; i < part.plan.m; ++i) {
          for (std::int64_t j = 0; j < part.plan.n; ++j) {
            seen[static_cast<std::size_t>(part.c + i * c_row + j)] += static_cast<int>(part.plan.k);
          }
        }
      }
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < c_row; ++j) {
          EXPECT_EQ(seen[static_cast<std::size_t>(i * c_row + j)], j < n ? k : 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenure::kernels::cuda
