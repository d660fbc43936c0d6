#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"

namespace tenure {
namespace {

using test::expect_elements;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Sort, SortsAlongAnAxis) {
  const Tensor x = tensor({{3, 1, 2}, {0, 5, 4}});
  expect_elements<std::int64_t>(sort(x), {2, 3}, {1, 2, 3, 0, 4, 5});
  expect_elements<std::int64_t>(sort(x, 0), {2, 3}, {0, 1, 2, 3, 5, 4});
  expect_elements<std::int64_t>(sort(x, 1, true), {2, 3}, {3, 2, 1, 5, 4, 0});
  expect_elements<std::int64_t>(sort(transpose(x)), {3, 2}, {0, 3, 1, 5, 2, 4});
  EXPECT_EQ(sort(zeros({0})).size(), 0);
  EXPECT_THROW(sort(x, 2), IndexError);
}

TEST(Sort, PutsNaNAboveAllNumbers) {
  const Tensor x = tensor(Floats{kNaN, 1, -INFINITY, INFINITY});
  expect_elements<float>(sort(x), {4}, {-INFINITY, 1, INFINITY, kNaN});
  expect_elements<float>(sort(x, -1, true), {4}, {kNaN, INFINITY, 1, -INFINITY});
  expect_elements<std::int64_t>(argsort(x), {4}, {2, 1, 3, 0});
}

TEST(Sort, IsStableInBothDirections) {
  const Tensor x = tensor({1, 0, 1, 0, 1});
  expect_elements<std::int64_t>(argsort(x), {5}, {1, 3, 0, 2, 4});
  expect_elements<std::int64_t>(argsort(x, 0, true), {5}, {0, 2, 4, 1, 3});
}

TEST(Sort, ComputesInPlaceInAMovedTensor) {
  Tensor x = arange(1000, 0, -1);
  const auto* const data = x.span<std::int64_t>().data();
  const std::int64_t live = memory().bytes;
  const Tensor y = sort(std::move(x));
  EXPECT_EQ(y.span<std::int64_t>().data(), data);
  EXPECT_EQ(memory().bytes, live);
  EXPECT_EQ(y.to_vector<std::int64_t>()[0], 1);
  Tensor z = arange(3, 0, -1);
  const Tensor other = z;
  sort(std::move(z));
  expect_elements<std::int64_t>(other, {3}, {3, 2, 1});
}

TEST(Sort, WorkspaceIsInTheLedgerAndGoes) {
  const Tensor x = uniform({100'000});
  const MemoryRegion region;
  reset_peak();
  const std::int64_t before = memory()[Category::workspace].bytes;
  const Tensor y = sort(x);
  EXPECT_GT(memory()[Category::workspace].peak, before);
  EXPECT_EQ(memory()[Category::workspace].bytes, before);
  EXPECT_EQ(region.left_bytes(), static_cast<std::int64_t>(y.nbytes()));
}

TEST(TopK, TakesTheBestFirst) {
  const Tensor x = tensor({{3, 1, 2}, {0, 5, 4}});
  const TopK best = topk(x, 2);
  expect_elements<std::int64_t>(best.values, {2, 2}, {3, 2, 5, 4});
  expect_elements<std::int64_t>(best.indices, {2, 2}, {0, 2, 1, 2});
  const TopK least = topk(x, 1, 0, false);
  expect_elements<std::int64_t>(least.values, {1, 3}, {0, 1, 2});
  expect_elements<std::int64_t>(least.indices, {1, 3}, {1, 0, 0});
  EXPECT_EQ(topk(x, 0).values.shape(), (Shape{2, 0}));
  expect_elements<float>(topk(tensor(Floats{1, kNaN, 2}), 2).values, {2}, {kNaN, 2});
  EXPECT_THROW(topk(x, 4), ValueError);
  EXPECT_THROW(topk(x, -1), ValueError);
  EXPECT_THROW(topk(x, 1, 5), IndexError);
}

TEST(UniqueOp, FindsTheDifferentElements) {
  const Tensor x = tensor({{3, 1, 2}, {1, 3, 3}});
  expect_elements<std::int64_t>(unique(x), {3}, {1, 2, 3});
  const Unique all = unique_all(x);
  expect_elements<std::int64_t>(all.values, {3}, {1, 2, 3});
  expect_elements<std::int64_t>(all.inverse, {2, 3}, {2, 0, 1, 0, 2, 2});
  expect_elements<std::int64_t>(all.counts, {3}, {2, 1, 3});
  expect_elements<float>(unique(tensor(Floats{kNaN, 0, kNaN, -0.0f})), {2}, {0, kNaN});
  expect_elements<std::int64_t>(unique(tensor(4)), {1}, {4});
  EXPECT_EQ(unique(zeros({0, 3})).shape(), (Shape{0}));
  EXPECT_EQ(unique_all(zeros({0, 3})).inverse.shape(), (Shape{0, 3}));
}

TEST(UniqueOp, LeavesNothingButItsResults) {
  const Tensor x = randint(0, 10, {10'000});
  const MemoryRegion region;
  const Unique all = unique_all(x);
  EXPECT_EQ(
      region.left_bytes(),
      static_cast<std::int64_t>(all.values.nbytes() + all.inverse.nbytes() + all.counts.nbytes()));
  EXPECT_GT(region.peak_bytes(), region.left_bytes());
}

TEST(Sort, NamesADisposedInput) {
  const Tensor x = tensor({2, 1});
  x.dispose();
  test::expect_throws<DisposedError>([&] { unique(x); }, {"unique"});
  test::expect_throws<DisposedError>([&] { topk(x, 1); }, {"topk"});
  EXPECT_THROW(sort(Tensor()), EmptyTensorError);
}

TEST(Sort, KnowsWhereItWasMade) {
  const TopK best = topk(tensor({1, 2}), 1);
  EXPECT_EQ(best.values.created().line(), static_cast<unsigned>(__LINE__ - 1));
  EXPECT_EQ(best.indices.created().line(), static_cast<unsigned>(__LINE__ - 2));
}

}  // namespace
}  // namespace tenure
