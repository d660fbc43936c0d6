#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"

// a += b and the like: the left side stays what and where it is, with another value.

namespace tenure {
namespace {

using test::expect_elements;

TEST(Compound, ATotalOutlivesTheScopesThatAddToIt) {
  Tensor total = zeros({});
  for (int step = 0; step < 3; ++step) {
    tidy([&] {
      const Tensor loss = ones({}) * 2;
      total += loss;
    });
    EXPECT_FALSE(total.is_disposed()) << "step " << step;
  }
  EXPECT_EQ(total.item<float>(), 6);
}

TEST(Compound, KeepsBeingKept) {
  Tensor total;
  {
    const Scope scope;
    total = keep(zeros({2}));
    for (int step = 0; step < 3; ++step) {
      const Scope inner;
      total += 1;
    }
  }
  expect_elements<float>(total, {2}, {3, 3});
}

TEST(Compound, StaysInItsScope) {
  Tensor total;
  {
    const Scope outer;
    total = zeros({2});
    {
      const Scope middle;
      {
        const Scope inner;
        total += 1;
        total *= 4;
      }
      EXPECT_FALSE(total.is_disposed());
    }
    EXPECT_FALSE(total.is_disposed());
    expect_elements<float>(total, {2}, {4, 4});
  }
  EXPECT_TRUE(total.is_disposed()) << "it was made in the outer scope";
}

TEST(Compound, OutlivesTheScopesOfOtherThreadsThatAddToIt) {
  const Scope around;  // of this thread, which alone may touch what is in it
  Tensor total = zeros({2});
  for (int i = 0; i < 3; ++i) {
    std::thread([&] {
      const Scope scope;
      tidy([&] { total += ones({2}); });
      tidy([&] { total += ones({2}); });
    }).join();
    ASSERT_FALSE(total.is_disposed());
  }
  expect_elements<float>(total, {2}, {6, 6});
}

TEST(Compound, EndsWithTheScopeThatItWasMadeIn) {
  Tensor inside;
  {
    const Scope scope;
    inside = zeros({2});
    inside += 1;
  }
  EXPECT_TRUE(inside.is_disposed());
}

TEST(Compound, IsReturnedFromTidyLikeAnyOther) {
  const Tensor sum = tidy([] {
    Tensor total = zeros({});
    for (int i = 0; i < 3; ++i) tidy([&] { total += ones({}); });
    return total;
  });
  EXPECT_EQ(sum.item<float>(), 3);
}

TEST(Compound, LeavesWhatOthersHoldAlone) {
  Tensor x = ones({3});
  const Tensor same = x;
  const Tensor view = reshape(x, {3, 1});
  x += 1;
  expect_elements<float>(x, {3}, {2, 2, 2});
  expect_elements<float>(same, {3}, {1, 1, 1});
  expect_elements<float>(view, {3, 1}, {1, 1, 1});
}

TEST(Compound, IsInPlaceWhereAMoveIs) {
  Tensor x = ones({3});
  const MemoryRegion region;
  x += 1;
  x -= x;
  x *= 2.5;
  EXPECT_EQ(region.allocations(), 0);
}

TEST(Compound, KeepsTheType) {
  Tensor x = tensor({1, 2, 3});
  EXPECT_THROW(x += 2.5, DTypeError);
  EXPECT_THROW(x /= 2, DTypeError);
  EXPECT_THROW(x += ones({3}), DTypeError);
  Tensor narrow = ones({2}, DType::float16);
  EXPECT_THROW(narrow += ones({2}), DTypeError);
  narrow += 2.5;
  EXPECT_EQ(narrow.dtype(), DType::float16);
  expect_elements<std::int64_t>(x, {3}, {1, 2, 3});
  Tensor wide = ones({3});
  wide += x;
  EXPECT_EQ(wide.dtype(), DType::float32);
}

TEST(Compound, KeepsTheShape) {
  Tensor x = ones({3});
  EXPECT_THROW(x += ones({3, 3}), ShapeError);
  Tensor one = ones({1});
  EXPECT_THROW(one += ones({4}), ShapeError);
  EXPECT_THROW(one *= ones({1, 1}), ShapeError);
  EXPECT_EQ(x.shape(), (Shape{3}));
  EXPECT_EQ(one.item<float>(), 1);
  Tensor rows = ones({2, 3});
  rows += x;
  expect_elements<float>(rows, {2, 3}, {2, 2, 2, 2, 2, 2});
}

TEST(Compound, KeepsAShapeThatOnlyARunKnows) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {kUnknown});
  const Tensor y = graph.placeholder("y", float32, {kUnknown});
  Tensor five = x;
  five += ones({5});
  Tensor sum = x * 2;
  sum -= y;
  sum *= x;
  Session session(graph);
  expect_elements<float>(session.run(five, {{x, zeros({5})}}), {5}, {1, 1, 1, 1, 1});
  EXPECT_THROW(session.run(five, {{x, zeros({1})}}), ShapeError);
  expect_elements<float>(session.run(sum, {{x, ones({2})}, {y, ones({2})}}), {2}, {1, 1});
  expect_elements<float>(session.run(sum, {{x, ones({2})}, {y, ones({1})}}), {2}, {1, 1});
  EXPECT_THROW(session.run(sum, {{x, ones({1})}, {y, ones({2})}}), ShapeError);
}

TEST(Compound, ARefusalNamesItsLine) {
  Tensor x = ones({3});
  try {
    x += ones({3, 3});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.op(), "add");
    const std::string line = "compound_test.cpp:" + std::to_string(__LINE__ - 4);
    EXPECT_NE(std::string(error.what()).find(line), std::string::npos) << error.what();
  }
}

TEST(Compound, HasAllOperators) {
  Tensor x = tensor({12, 10});
  x %= 8;
  expect_elements<std::int64_t>(x, {2}, {4, 2});
  x |= 1;
  expect_elements<std::int64_t>(x, {2}, {5, 3});
  x &= 6;
  expect_elements<std::int64_t>(x, {2}, {4, 2});
  x ^= 1;
  expect_elements<std::int64_t>(x, {2}, {5, 3});
  x <<= 2;
  expect_elements<std::int64_t>(x, {2}, {20, 12});
  x >>= 1;
  expect_elements<std::int64_t>(x, {2}, {10, 6});
}

TEST(Compound, OfAnEmptyHandleIsAnErrorOfTheOp) {
  Tensor x;
  EXPECT_THROW(x += 1, EmptyTensorError);
  Tensor y = ones({2});
  EXPECT_THROW(y += x, EmptyTensorError);
  expect_elements<float>(y, {2}, {1, 1});
}

TEST(Compound, TapesSeeIt) {
  const Tensor x = tensor({2.0, 3.0});
  GradientTape tape;
  tape.watch(x);
  Tensor total = zeros({2});
  for (int i = 0; i < 3; ++i) {
    tidy([&] {
      total += x * x;
      total *= x;
    });
  }
  // ((x^3 + x^2) x + x^2) x = x^5 + x^4 + x^3
  const Tensor gradient = tape.gradient(total, x);
  expect_elements<float>(gradient, {2}, {5 * 16 + 4 * 8 + 3 * 4, 5 * 81 + 4 * 27 + 3 * 9});
}

TEST(Compound, WorksOnSymbols) {
  const auto f = function([](const Tensor& x) {
    Tensor total = zeros({2});
    for (int i = 0; i < 3; ++i) tidy([&] { total += x; });
    total /= 3.0;
    return total;
  });
  expect_elements<float>(f(tensor({1.0, 2.0})), {2}, {1, 2});
  const auto grows = function([](const Tensor& x) {
    Tensor total = zeros({2});
    total += reshape(x, {1, 2});
    return total;
  });
  EXPECT_THROW(grows(tensor({1.0, 2.0})), ShapeError);
}

}  // namespace
}  // namespace tenure
