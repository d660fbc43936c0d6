#include <gtest/gtest.h>

#include <random>

#include "tenure/kernels/cuda/places/nest.h"
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
    EXPECT_LE(pieces_workspace(*cut, plan), (std::size_t{80} << 20) + 1024);
  }
  EXPECT_GT(cuts, 500);
}

}  // namespace
}  // namespace tenure::kernels::cuda
