#include <gtest/gtest.h>

#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"

namespace tenure {
namespace {

using test::expect_elements;
using test::expect_throws;
using Ints = std::vector<std::int64_t>;
using I = std::int64_t;

bool share_storage(const Tensor& a, const Tensor& b) {
  return a.body("test").storage() == b.body("test").storage();
}

/// 0, 1, 2, ... in this shape.
Tensor counting(const Shape& shape) { return reshape(arange(count(shape)), shape); }

TEST(BasicIndex, GivesViewsByNumPysRules) {
  const Tensor x = counting({3, 4});
  expect_elements<I>(index(x, {1}), {4}, {4, 5, 6, 7});
  expect_elements<I>(index(x, {-1, 2}), {}, {10});
  expect_elements<I>(index(x, {All, 1}), {3}, {1, 5, 9});
  expect_elements<I>(index(x, {Slice{1}, Slice{{}, {}, -2}}), {2, 2}, {7, 5, 11, 9});
  expect_elements<I>(index(x, {Slice{-2, 100}, Slice{.stop = 1}}), {2, 1}, {4, 8});
  expect_elements<I>(index(x, {Ellipsis, 0}), {3}, {0, 4, 8});
  expect_elements<I>(index(x, {NewAxis, 0, NewAxis, Slice{1, 3}}), {1, 1, 2}, {1, 2});
  expect_elements<I>(index(x, {}), {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_EQ(index(x, {Slice{2, 1}}).shape(), (Shape{0, 4}));
  EXPECT_EQ(index(counting({2, 3, 4}), {1, Ellipsis, NewAxis}).shape(), (Shape{3, 4, 1}));
  EXPECT_EQ(index(tensor(5), {NewAxis}).shape(), (Shape{1}));
  for (const Tensor& view : {index(x, {1}), index(x, {}), index(x, {All, Slice{0, 4, 3}})}) {
    EXPECT_TRUE(share_storage(view, x));
    EXPECT_EQ(view.op(), "index");
  }
}

TEST(BasicIndex, TakesListsMadeAtRunTime) {
  std::vector<Index> list{1};
  list.emplace_back(Slice{0, 2});
  expect_elements<I>(index(counting({3, 4}), list), {2}, {4, 5});
}

TEST(BasicIndex, RefusesWhatDoesNotFit) {
  const Tensor x = counting({3, 4});
  EXPECT_THROW(index(x, {3}), IndexError);
  EXPECT_THROW(index(x, {0, -5}), IndexError);
  EXPECT_THROW(index(x, {0, 0, 0}), IndexError);
  EXPECT_THROW(index(x, {Slice{0, 2, 0}}), ValueError);
  EXPECT_THROW(index(x, {Ellipsis, Ellipsis}), ValueError);
  EXPECT_THROW(index(3.5, {NewAxis}), ValueError);
  EXPECT_THROW(index(counting({1, 1, 1, 1, 1, 1, 1, 1}), {NewAxis}), ShapeError);
}

TEST(AdvancedIndex, ChoosesAlongOneAxis) {
  const Tensor x = counting({3, 4});
  expect_elements<I>(index(x, {tensor({2, 0, -1})}), {3, 4},
                     {8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11});
  expect_elements<I>(index(x, {All, tensor({{3, 0}})}), {3, 1, 2}, {3, 0, 7, 4, 11, 8});
  expect_elements<I>(index(x, {Slice{1}, tensor({0})}), {2, 1}, {4, 8});
  EXPECT_EQ(index(x, {tensor({}, int64)}).shape(), (Shape{0, 4}));
}

TEST(AdvancedIndex, BroadcastsItsTensors) {
  const Tensor x = counting({3, 4});
  expect_elements<I>(index(x, {tensor({0, 2}), tensor({1, 3})}), {2}, {1, 11});
  expect_elements<I>(index(x, {tensor({{0}, {2}}), tensor({1, 3})}), {2, 2}, {1, 3, 9, 11});
  expect_elements<I>(index(x, {1, tensor({1, -1})}), {2}, {5, 7});
  EXPECT_THROW(index(x, {tensor({0, 1}), tensor({0, 1, 2})}), ShapeError);
}

TEST(AdvancedIndex, PutsItsAxesWhereNumPyDoes) {
  const Tensor x = counting({2, 3, 4, 5});
  const Tensor i = tensor({0, 1, 0, 1, 0, 1});
  EXPECT_EQ(index(x, {All, i, i}).shape(), (Shape{2, 6, 5}));
  EXPECT_EQ(index(x, {i, All, i}).shape(), (Shape{6, 3, 5}));
  EXPECT_EQ(index(x, {All, i, All, i}).shape(), (Shape{6, 2, 4}));
  EXPECT_EQ(index(x, {All, All, i, i}).shape(), (Shape{2, 3, 6}));
  EXPECT_EQ(index(x, {0, All, i}).shape(), (Shape{6, 3, 5}));
  EXPECT_EQ(index(x, {All, 0, i}).shape(), (Shape{2, 6, 5}));
  EXPECT_EQ(index(x, {All, i, 0}).shape(), (Shape{2, 6, 5}));
  EXPECT_EQ(index(x, {i, NewAxis, i}).shape(), (Shape{6, 1, 4, 5}));
  EXPECT_EQ(index(x, {NewAxis, i, i}).shape(), (Shape{1, 6, 4, 5}));
  EXPECT_EQ(index(x, {Ellipsis, i}).shape(), (Shape{2, 3, 4, 6}));
  EXPECT_EQ(index(x, {NewAxis, i, Ellipsis, i}).shape(), (Shape{6, 1, 3, 4}));
  const Tensor middle = index(x, {All, tensor({2, 0}), tensor({3, 1}), 4});
  expect_elements<I>(middle, {2, 2}, {2 * 20 + 3 * 5 + 4, 5 + 4, 60 + 2 * 20 + 3 * 5 + 4, 60 + 9});
}

TEST(AdvancedIndex, TakesMasks) {
  const Tensor x = counting({2, 3});
  const Tensor all = tensor({{true, false, true}, {false, true, false}});
  expect_elements<I>(index(x, {all}), {3}, {0, 2, 4});
  expect_elements<I>(index(x, {tensor({false, true})}), {1, 3}, {3, 4, 5});
  expect_elements<I>(index(x, {All, tensor({true, false, true})}), {2, 2}, {0, 2, 3, 5});
  expect_elements<I>(index(x, {tensor({true, true}), tensor({2, 0})}), {2}, {2, 3});
  EXPECT_EQ(index(counting({4, 2, 3}), {Slice{1, 3}, all}).shape(), (Shape{2, 3}));
  EXPECT_EQ(index(x, {zeros({2, 3}, boolean)}).shape(), (Shape{0}));
  EXPECT_THROW(index(x, {tensor({true, false, true})}), ShapeError);
  EXPECT_THROW(index(x, {tensor(true)}), ShapeError);
}

TEST(AdvancedIndex, RefusesBadTensors) {
  const Tensor x = counting({3, 4});
  expect_throws<IndexError>([&] { index(x, {tensor({0, 3})}); }, {"3"});
  EXPECT_THROW(index(x, {tensor({0}), tensor({-5})}), IndexError);
  EXPECT_THROW(index(x, {tensor({0.5})}), DTypeError);
  EXPECT_THROW(index(x, {tensor({0}), tensor({0}, uint8)}), DTypeError);
  EXPECT_THROW(index(x, {Tensor()}), EmptyTensorError);
  const Tensor gone = tensor({0});
  gone.dispose();
  EXPECT_THROW(index(x, {gone}), DisposedError);
  x.dispose();
  expect_throws<DisposedError>([&] { index(x, {0}); }, {"index"});
}

TEST(AdvancedIndex, UsesUpAMovedTensor) {
  Tensor x = counting({3, 4});
  const Tensor view = index(std::move(x), {1});
  EXPECT_FALSE(x.defined());
  expect_elements<I>(view, {4}, {4, 5, 6, 7});
  Tensor y = counting({3});
  EXPECT_THROW(index(std::move(y), {tensor({7})}), IndexError);
  EXPECT_TRUE(y.defined());
}

TEST(IndexUpdate, PutsValuesAndLeavesX) {
  const Tensor x = zeros({2, 3}, int64);
  expect_elements<I>(index_update(x, {1}, tensor({1, 2, 3})), {2, 3}, {0, 0, 0, 1, 2, 3});
  expect_elements<I>(index_update(x, {All, Slice{.step = 2}}, 7), {2, 3}, {7, 0, 7, 7, 0, 7});
  expect_elements<I>(index_update(x, {All, 0}, tensor({4, 5})), {2, 3}, {4, 0, 0, 5, 0, 0});
  expect_elements<I>(index_update(x, {tensor({1, 0}), tensor({2, 1})}, tensor({8, 9})), {2, 3},
                     {0, 9, 0, 0, 0, 8});
  expect_elements<I>(index_update(x, {All, tensor({2, 2, 0})}, tensor({1, 2, 3})), {2, 3},
                     {3, 0, 2, 3, 0, 2});
  expect_elements<I>(index_update(x, {Ellipsis, NewAxis}, tensor({{{1}, {2}, {3}}})), {2, 3},
                     {1, 2, 3, 1, 2, 3});
  expect_elements<I>(index_update(x, {}, 1), {2, 3}, {1, 1, 1, 1, 1, 1});
  expect_elements<I>(x, {2, 3}, {0, 0, 0, 0, 0, 0});
}

TEST(IndexUpdate, PlacesValuesLikeTheResultOfIndex) {
  const Tensor x = zeros({2, 3, 4}, int64);
  const Tensor i = tensor({2, 0});
  const Tensor j = tensor({3, 1});
  const Tensor values = tensor({{1, 2}, {3, 4}});  // [first axis, chosen]
  const Tensor y = index_update(x, {All, i, j}, values);
  expect_elements<I>(index(y, {All, i, j}), {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(index(y, {1, 0, 1}).item<I>(), 4);
  const Tensor z = index_update(x, {NewAxis, 1, All, j}, tensor({{{5}}, {{6}}}));
  EXPECT_EQ(index(z, {1, 2, 3}).item<I>(), 5);  // separated: [chosen, new, rest]
  EXPECT_EQ(index(z, {1, 0, 1}).item<I>(), 6);
}

TEST(IndexUpdate, TakesMasks) {
  const Tensor x = counting({2, 3});
  const Tensor mask = tensor({{true, false, true}, {false, true, false}});
  expect_elements<I>(index_update(x, {mask}, -1), {2, 3}, {-1, 1, -1, 3, -1, 5});
  expect_elements<I>(index_update(x, {mask}, tensor({7, 8, 9})), {2, 3}, {7, 1, 8, 3, 9, 5});
  expect_elements<I>(index_update(x, {tensor({false, true})}, 0), {2, 3}, {0, 1, 2, 0, 0, 0});
  expect_elements<I>(index_add(x, {mask}, 10), {2, 3}, {10, 1, 12, 3, 14, 5});
  EXPECT_THROW(index_update(x, {mask}, tensor({1, 2})), ShapeError);
}

TEST(IndexUpdate, ComputesInPlaceInAMovedTensor) {
  const Tensor rows = tensor({0, 2});
  const Tensor mask = tensor({true, false, true});
  for (const std::vector<Index>& list :
       {std::vector<Index>{1}, std::vector<Index>{rows}, std::vector<Index>{mask, 0}}) {
    Tensor x = zeros({3, 4});
    const float* const data = x.span<float>().data();
    x = index_update(std::move(x), list, 2);
    EXPECT_EQ(x.span<float>().data(), data);
    x = index_add(std::move(x), list, 2);
    EXPECT_EQ(x.span<float>().data(), data);
  }
  Tensor x = zeros({3});
  const float* const data = x.span<float>().data();
  x = index_update(std::move(x), {mask}, 2);
  EXPECT_EQ(x.span<float>().data(), data);
  const Tensor one = tensor(1.0);
  const std::int64_t allocations = memory().allocations;
  x = index_update(std::move(x), {1}, one);
  EXPECT_EQ(memory().allocations, allocations);
}

TEST(IndexUpdate, DoesNotReadWhatItOverwrites) {
  Tensor x = arange(4);
  x = index_update(std::move(x), {Slice{1}}, index(x, {Slice{0, 3}}));
  expect_elements<I>(x, {4}, {0, 0, 1, 2});
  Tensor y = arange(3);
  y = index_update(std::move(y), {Slice{{}, {}, -1}}, y);
  expect_elements<I>(y, {3}, {2, 1, 0});
  Tensor z = tensor({2, 0, 1});
  z = scatter(std::move(z), 0, z, tensor({7, 8, 9}));
  expect_elements<I>(z, {3}, {8, 9, 7});
  Tensor w = tensor({2, 0, 1});
  w = index_update(std::move(w), {w}, w);
  expect_elements<I>(w, {3}, {0, 1, 2});
}

TEST(IndexUpdate, KeepsAMovedTensorOnErrors) {
  Tensor x = arange(4);
  EXPECT_THROW(index_update(std::move(x), {tensor({0, 9})}, 5), IndexError);
  EXPECT_THROW(index_update(std::move(x), {tensor({0, 1})}, tensor({1, 2, 3})), ShapeError);
  EXPECT_THROW(index_update(std::move(x), {0}, 2.5), DTypeError);
  EXPECT_THROW(index_update(std::move(x), {0}, tensor(2.5)), DTypeError);
  EXPECT_THROW(index_update(std::move(x), {7}, 1), IndexError);
  EXPECT_THROW(scatter(std::move(x), 0, tensor({4}), tensor({1})), IndexError);
  expect_elements<I>(x, {4}, {0, 1, 2, 3});
}

TEST(IndexUpdate, ConvertsValuesThatFit) {
  const Tensor x = zeros({2}, float64);
  EXPECT_EQ(index_update(x, {0}, tensor({3}, int32)).dtype(), float64);
  EXPECT_EQ(index_update(x, {0}, 3).to_vector<double>()[0], 3);
  EXPECT_THROW(index_update(zeros({2}, uint8), {0}, 300), ValueError);
  EXPECT_EQ(index_update(zeros({2}, boolean), {0}, 1).to_vector<bool>()[0], true);
  EXPECT_THROW(index_update(zeros({2}, boolean), {0}, 2), DTypeError);
}

TEST(IndexAdd, CountsEveryOccurrence) {
  const Tensor x = zeros({3}, int64);
  expect_elements<I>(index_add(x, {tensor({0, 2, 0, 0})}, 1), {3}, {3, 0, 1});
  expect_elements<I>(index_add(arange(4), {Slice{1, 3}}, tensor({10, 20})), {4}, {0, 11, 22, 3});
  expect_elements<I>(index_add(counting({2, 2}), {1}, 5), {2, 2}, {0, 1, 7, 8});
}

/// A sum in 16 bits would stop growing at 256 times its terms, or at 2048 times.
TEST(IndexGradients, AddUpWhatWasTakenOften) {
  const Tensor often = zeros({3000}, int64);
  for (const DType dtype : {float32, float16, bfloat16}) {
    SCOPED_TRACE(name_of(dtype));
    const auto expect_gradient = [&](const Tensor& x, const auto& choose) {
      GradientTape tape;
      tape.watch(x);
      const Tensor gradient = tape.gradient(sum(choose(x)), x);
      EXPECT_EQ(gradient.dtype(), dtype);
      EXPECT_NEAR(max(gradient).item<double>(), 3000, 8);
    };
    expect_gradient(ones({2, 3}, dtype), [&](const Tensor& x) { return take(x, often); });
    expect_gradient(ones({2, 3}, dtype), [&](const Tensor& x) { return embedding(often, x); });
    expect_gradient(ones({2}, dtype), [&](const Tensor& x) { return gather(x, 0, often); });
    expect_gradient(ones({2, 3}, dtype), [&](const Tensor& x) { return index(x, {often, often}); });
    EXPECT_NEAR(bincount(often, ones({3000}, dtype), 1).item<double>(), 3000, 8);
  }
}

TEST(Take, TakesSlices) {
  const Tensor x = counting({2, 3});
  expect_elements<I>(take(x, tensor({1, 1, -2})), {3, 3}, {3, 4, 5, 3, 4, 5, 0, 1, 2});
  expect_elements<I>(take(x, tensor({{2}, {0}}, int32), 1), {2, 2, 1}, {2, 0, 5, 3});
  expect_elements<I>(take(x, tensor(1), 1), {2}, {1, 4});
  EXPECT_THROW(take(x, tensor({2})), IndexError);
  EXPECT_THROW(take(x, tensor({0}), 2), IndexError);
  EXPECT_THROW(take(x, tensor({0.0})), DTypeError);
  EXPECT_THROW(take(tensor(1), tensor({0})), IndexError);
}

TEST(Gather, AndScatterAreInverse) {
  const Tensor x = tensor({{5, 3, 4}, {0, 9, 1}});
  const Tensor order = argsort(x);
  expect_elements<I>(gather(x, 1, order), {2, 3}, {3, 4, 5, 0, 1, 9});
  EXPECT_EQ(scatter(zeros({2, 3}, int64), 1, order, gather(x, 1, order)).to_vector<I>(),
            x.to_vector<I>());
  EXPECT_THROW(gather(x, 1, tensor({0})), ShapeError);
  EXPECT_THROW(gather(x, 1, zeros({3, 1}, int64)), ShapeError);
  EXPECT_THROW(gather(x, 1, tensor({{3}})), IndexError);
}

TEST(Scatter, Combines) {
  const Tensor x = tensor({10, 20, 30});
  const Tensor at = tensor({0, 0, -1});
  const Tensor by = tensor({2, 3, 4});
  expect_elements<I>(scatter(x, 0, at, by), {3}, {3, 20, 4});
  expect_elements<I>(scatter(x, 0, at, by, ScatterMode::add), {3}, {15, 20, 34});
  expect_elements<I>(scatter(x, 0, at, by, ScatterMode::multiply), {3}, {60, 20, 120});
  expect_elements<I>(scatter(x, 0, at, by, ScatterMode::minimum), {3}, {2, 20, 4});
  expect_elements<I>(scatter(x, 0, at, 25, ScatterMode::maximum), {3}, {25, 20, 30});
  EXPECT_THROW(scatter(x, 0, at, tensor({1, 2})), ShapeError);
  EXPECT_THROW(scatter(x, 0, at, tensor({1.5, 2, 3})), DTypeError);
  Tensor y = zeros({3});
  const float* const data = y.span<float>().data();
  y = scatter(std::move(y), 0, at, 1.5, ScatterMode::add);
  EXPECT_EQ(y.span<float>().data(), data);
  expect_elements<float>(y, {3}, {3, 0, 1.5});
}

TEST(Masks, SelectAndFind) {
  const Tensor x = tensor({{0, 3}, {5, 0}});
  expect_elements<I>(nonzero(x), {2, 2}, {0, 1, 1, 0});
  EXPECT_EQ(nonzero(tensor(1)).shape(), (Shape{1, 0}));
  expect_elements<I>(mask_select(x, greater(x, 3)), {1}, {5});
  EXPECT_THROW(mask_select(x, x), DTypeError);
  EXPECT_THROW(mask_select(x, tensor({true, false})), ShapeError);
}

TEST(Pad, ExtendsAndCuts) {
  const Tensor x = tensor({1, 2, 3});
  expect_elements<I>(pad(x, {{1, 2}}), {6}, {0, 1, 2, 3, 0, 0});
  expect_elements<I>(pad(x, {{1, -1}}, PadMode::constant, 9), {3}, {9, 1, 2});
  expect_elements<I>(pad(x, {{2, 1}}, PadMode::edge), {6}, {1, 1, 1, 2, 3, 3});
  expect_elements<I>(pad(x, {{2, 1}}, PadMode::reflect), {6}, {3, 2, 1, 2, 3, 2});
  EXPECT_EQ(pad(counting({2, 3}), {{0, 1}, {2, 0}}).shape(), (Shape{3, 5}));
  EXPECT_THROW(pad(x, {{1, 1}, {1, 1}}), ShapeError);
  EXPECT_THROW(pad(x, {{-2, -2}}), ShapeError);
  EXPECT_THROW(pad(x, {{1, 1}}, PadMode::constant, 0.5), DTypeError);
  EXPECT_THROW(pad(tensor({1}, uint8), {{1, 1}}, PadMode::constant, 256), ValueError);
  EXPECT_THROW(pad(zeros({0}), {{1, 1}}, PadMode::edge), ValueError);
  EXPECT_THROW(pad(x, {{INT64_MAX, 1}}), ShapeError);
}

TEST(Arrange, TilesRepeatsAndRolls) {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  expect_elements<I>(tile(x, {1, 2}), {2, 4}, {1, 2, 1, 2, 3, 4, 3, 4});
  expect_elements<I>(tile(tensor({1, 2}), {2, 1}), {2, 2}, {1, 2, 1, 2});
  expect_elements<I>(repeat(x, 2, 1), {2, 4}, {1, 1, 2, 2, 3, 3, 4, 4});
  expect_elements<I>(roll(x, 1, 1), {2, 2}, {2, 1, 4, 3});
  expect_elements<I>(roll(x, {1, -3}, {0, 1}), {2, 2}, {4, 3, 2, 1});
  expect_elements<I>(roll(arange(3), INT64_MIN, 0), {3}, {2, 0, 1});
  EXPECT_THROW(tile(x, {-1}), ValueError);
  EXPECT_THROW(repeat(x, -1, 0), ValueError);
  EXPECT_THROW(repeat(x, INT64_MAX, 0), ShapeError);
  EXPECT_THROW(roll(x, {1}, {0, 1}), ValueError);
}

TEST(Arrange, TrianglesComputeInPlace) {
  Tensor x = ones({2, 3});
  const float* const data = x.span<float>().data();
  expect_elements<float>(triu(x, 1), {2, 3}, {0, 1, 1, 0, 0, 1});
  const std::int64_t allocations = memory().allocations;
  x = tril(std::move(x));
  EXPECT_EQ(memory().allocations, allocations);
  EXPECT_EQ(x.span<float>().data(), data);
  expect_elements<float>(x, {2, 3}, {1, 0, 0, 1, 1, 0});
  EXPECT_THROW(tril(arange(3)), ShapeError);
}

TEST(Index, KnowsWhereItWasMade) {
  const Tensor x = counting({2, 3, 4});
  const Tensor i = tensor({0, 1});
  for (const Tensor& y : {
           index(x, {0}),
           index(x, {i}),
           index(x, {All, i, i}),
           index_update(x, {i}, 1),
           index_add(x, {0}, 1),
       }) {
    EXPECT_GE(y.created().line(), static_cast<unsigned>(__LINE__ - 6));
    EXPECT_LE(y.created().line(), static_cast<unsigned>(__LINE__ - 3));
    EXPECT_STREQ(y.created().file_name(), __FILE__);
  }
}

TEST(Index, LeavesNoTemporaries) {
  const Tensor x = counting({2, 3});
  const Tensor mask = tensor({true, false});
  const MemoryRegion region;
  const Tensor y = index(x, {mask, Slice{1}});
  EXPECT_EQ(region.left_tensors(), 1);
  EXPECT_EQ(region.left_bytes(), static_cast<std::int64_t>(y.nbytes()));
}

}  // namespace
}  // namespace tenure
