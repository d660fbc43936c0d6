#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "tenure/memory/ledger.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/introspect.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"

namespace tenure {
namespace {

using test::counting;
using test::expect_elements;
using test::expect_throws;
using test::make;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

/// Whether two tensors share their data.
bool share(const Tensor& a, const Tensor& b) {
  const auto on_same = holders(a);
  for (const Holder& holder : on_same) {
    if (holder.tensor == b.id()) return true;
  }
  return false;
}

TEST(Reshape, IsAViewOfContiguousTensors) {
  const Tensor x = counting({2, 3});
  const Tensor y = reshape(x, {3, 2});
  expect_elements<float>(y, {3, 2}, {0, 1, 2, 3, 4, 5});
  EXPECT_TRUE(share(x, y));
  x.mutable_span<float>()[1] = 10;
  EXPECT_EQ(y.to_vector<float>()[1], 10);
}

TEST(Reshape, FindsTheOpenDimension) {
  const Tensor x = counting({2, 6});
  EXPECT_EQ(reshape(x, {-1}).shape(), (Shape{12}));
  EXPECT_EQ(reshape(x, {3, -1, 2}).shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(reshape(make<float>({0, 3}, {}), {-1, 3}).shape(), (Shape{0, 3}));
  EXPECT_EQ(reshape(make<float>({}, {1}), {1, -1}).shape(), (Shape{1, 1}));
  expect_throws<ShapeError>([&] { reshape(x, {5, -1}); }, {"reshape", "[2, 6]", "[5, -1]"});
  EXPECT_THROW(reshape(x, {-1, -1}), ShapeError);
  EXPECT_THROW(reshape(x, {-2, 6}), ShapeError);
  EXPECT_THROW(reshape(x, {2, 5}), ShapeError);
  EXPECT_THROW(reshape(x, {0, -1}), ShapeError);
  EXPECT_THROW(reshape(make<float>({0}, {}), {0, -1}), ShapeError);
  EXPECT_THROW(reshape(x, {kMost, kMost}), ShapeError);
}

TEST(Reshape, IsAViewWhereTheLayoutAllows) {
  const Tensor rows = slice(counting({4, 6}), 0, {}, {}, 2);
  const Tensor split_rows = reshape(rows, {2, 3, 2});
  EXPECT_TRUE(share(rows, split_rows));
  expect_elements<float>(split_rows, {2, 3, 2}, {0, 1, 2, 3, 4, 5, 12, 13, 14, 15, 16, 17});

  const Tensor backwards = flip(counting({6}));
  const Tensor table = reshape(backwards, {2, 1, 3});
  EXPECT_TRUE(share(backwards, table));
  expect_elements<float>(table, {2, 1, 3}, {5, 4, 3, 2, 1, 0});

  const Tensor repeated = broadcast_to(counting({2, 1}), {2, 6});
  const Tensor cut = reshape(repeated, {2, 2, 3});
  EXPECT_TRUE(share(repeated, cut));
  expect_elements<float>(cut, {2, 2, 3}, {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
}

TEST(Reshape, CopiesWhereItMust) {
  const Tensor turned = transpose(counting({2, 3}));
  const Tensor flat = reshape(turned, {6});
  EXPECT_FALSE(share(turned, flat));
  expect_elements<float>(flat, {6}, {0, 3, 1, 4, 2, 5});
  expect_elements<float>(reshape(slice(counting({2, 3}), 1, 1), {4}), {4}, {1, 2, 4, 5});
  // The repeated dimension is the inner one, then the outer.
  expect_elements<float>(reshape(broadcast_to(counting({2, 1}), {2, 3}), {6}), {6},
                         {0, 0, 0, 1, 1, 1});
  expect_elements<float>(reshape(broadcast_to(counting({3}), {2, 3}), {6}), {6},
                         {0, 1, 2, 0, 1, 2});
}

TEST(Flatten, MergesDimensions) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(flatten(x).shape(), (Shape{24}));
  EXPECT_EQ(flatten(x, 1).shape(), (Shape{2, 12}));
  EXPECT_EQ(flatten(x, 0, -2).shape(), (Shape{6, 4}));
  EXPECT_EQ(flatten(x, 1, 1).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(flatten(make<float>({}, {1})).shape(), (Shape{1}));
  EXPECT_EQ(flatten(make<float>({0, 3}, {})).shape(), (Shape{0}));
  EXPECT_THROW(flatten(x, 2, 1), ValueError);
  EXPECT_THROW(flatten(x, 0, 3), IndexError);
}

TEST(Transpose, ExchangesAxes) {
  const Tensor x = counting({2, 3});
  expect_elements<float>(transpose(x), {3, 2}, {0, 3, 1, 4, 2, 5});
  EXPECT_TRUE(share(x, transpose(x)));
  const Tensor y = counting({1, 2, 3});
  EXPECT_EQ(transpose(y, 0, -1).shape(), (Shape{3, 2, 1}));
  EXPECT_EQ(transpose(y, 1, 1).shape(), (Shape{1, 2, 3}));
  EXPECT_THROW(transpose(x, 0, 2), IndexError);
  EXPECT_THROW(transpose(counting({3})), IndexError);
}

TEST(Permute, OrdersAxes) {
  const Tensor x = counting({1, 2, 3});
  expect_elements<float>(permute(x, {2, 0, -2}), {3, 1, 2}, {0, 3, 1, 4, 2, 5});
  EXPECT_THROW(permute(x, {0, 1}), ShapeError);
  EXPECT_THROW(permute(x, {0, 1, 1}), ValueError);
  EXPECT_THROW(permute(x, {0, 1, -2}), ValueError);
  EXPECT_THROW(permute(x, {0, 1, 3}), IndexError);
  expect_elements<float>(permute(make<float>({}, {7}), {}), {}, {7});
}

TEST(Squeeze, DropsDimensionsOfOne) {
  const Tensor x = counting({1, 3, 1});
  EXPECT_EQ(squeeze(x).shape(), (Shape{3}));
  EXPECT_EQ(squeeze(x, {0}).shape(), (Shape{3, 1}));
  EXPECT_EQ(squeeze(x, {-1, 0}).shape(), (Shape{3}));
  expect_elements<float>(squeeze(counting({1, 1})), {}, {0});
  expect_throws<ShapeError>([&] { squeeze(x, {1}); }, {"squeeze", "axis 1", "[1, 3, 1]"});
  EXPECT_THROW(squeeze(x, {3}), IndexError);
  EXPECT_THROW(squeeze(x, {0, -3}), ValueError);
}

TEST(ExpandDims, AddsDimensions) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(expand_dims(x, 0).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(expand_dims(x, 2).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(expand_dims(x, -1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(expand_dims(x, -3).shape(), (Shape{1, 2, 3}));
  EXPECT_TRUE(expand_dims(x, 1).is_contiguous());
  EXPECT_THROW(expand_dims(x, 3), IndexError);
  EXPECT_THROW(expand_dims(counting({1, 1, 1, 1, 1, 1, 1, 1}), 0), ShapeError);
}

TEST(BroadcastTo, Repeats) {
  const Tensor x = counting({2, 1});
  const std::int64_t before = memory().bytes;
  expect_elements<float>(broadcast_to(x, {2, 2, 3}), {2, 2, 3},
                         {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1});
  EXPECT_EQ(memory().bytes, before);
  EXPECT_EQ(broadcast_to(x, {2, 0}).size(), 0);
  EXPECT_EQ(broadcast_to(make<float>({}, {1}), {4}).to_vector<float>(), std::vector<float>(4, 1));
  EXPECT_THROW(broadcast_to(x, {3, 1}), ShapeError);
  EXPECT_THROW(broadcast_to(x, {1, 1}), ShapeError);
  EXPECT_THROW(broadcast_to(x, {2}), ShapeError);
  EXPECT_THROW(broadcast_to(x, {2, -1}), ShapeError);
}

TEST(Slice, FollowsNumPy) {
  const Tensor x = counting({6});
  const auto values = [&](std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                          std::int64_t step = 1) {
    return slice(x, 0, start, stop, step).to_vector<float>();
  };
  using V = std::vector<float>;
  EXPECT_EQ(values(1, 4), (V{1, 2, 3}));
  EXPECT_EQ(values({}, {}, 2), (V{0, 2, 4}));
  EXPECT_EQ(values(1, {}, 2), (V{1, 3, 5}));
  EXPECT_EQ(values(-2, {}), (V{4, 5}));
  EXPECT_EQ(values({}, -4), (V{0, 1}));
  EXPECT_EQ(values({}, {}, -1), (V{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(values(4, 1, -2), (V{4, 2}));
  EXPECT_EQ(values({}, -7, -3), (V{5, 2}));
  EXPECT_EQ(values(0, {}, -1), (V{0}));
  EXPECT_EQ(values(4, 2), V{});
  EXPECT_EQ(values(2, 4, -1), V{});
  EXPECT_EQ(values(-100, 100), (V{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values(100, -100, -2), (V{5, 3, 1}));
  EXPECT_EQ(values(6, {}), V{});
}

TEST(Slice, TakesExtremeNumbers) {
  const Tensor x = counting({3});
  expect_elements<float>(slice(x, 0, kLeast, kMost, kMost), {1}, {0});
  expect_elements<float>(slice(x, 0, kMost, kLeast, kLeast), {1}, {2});
  expect_elements<float>(slice(x, 0, kLeast, kMost), {3}, {0, 1, 2});
  expect_elements<float>(slice(x, 0, {}, kLeast), {0}, {});
  expect_elements<float>(slice(x, 0, kLeast, {}, -1), {0}, {});
  expect_elements<float>(slice(x, 0, 1, {}, kLeast), {1}, {1});
  expect_throws<ValueError>([&] { slice(x, 0, 0, 2, 0); }, {"slice", "step"});
  EXPECT_THROW(slice(x, 1, 0), IndexError);
  EXPECT_EQ(slice(make<float>({0}, {}), 0, {}, {}, -1).size(), 0);
}

TEST(Slice, NestsInOtherViews) {
  const Tensor x = transpose(counting({3, 4}));
  const Tensor y = slice(slice(x, 0, 1), 1, {}, {}, -2);
  expect_elements<float>(y, {3, 2}, {9, 1, 10, 2, 11, 3});
  EXPECT_TRUE(share(x, y));
}

TEST(Select, TakesOneIndex) {
  const Tensor x = counting({2, 3});
  expect_elements<float>(select(x, 0, 1), {3}, {3, 4, 5});
  expect_elements<float>(select(x, -1, -3), {2}, {0, 3});
  expect_elements<float>(select(counting({3}), 0, 2), {}, {2});
  expect_throws<IndexError>([&] { select(x, 1, 3); }, {"select", "index 3", "size 3"});
  EXPECT_THROW(select(x, 0, -3), IndexError);
  EXPECT_THROW(select(x, 2, 0), IndexError);
}

TEST(Flip, Reverses) {
  const Tensor x = counting({2, 3});
  expect_elements<float>(flip(x), {2, 3}, {5, 4, 3, 2, 1, 0});
  expect_elements<float>(flip(x, {-1}), {2, 3}, {2, 1, 0, 5, 4, 3});
  expect_elements<float>(flip(flip(x, {0}), {0}), {2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(flip(make<float>({0, 2}, {})).size(), 0);
  EXPECT_THROW(flip(x, {1, -1}), ValueError);
}

TEST(Split, CutsIntoViews) {
  const Tensor x = counting({5, 2});
  const std::vector<Tensor> pieces = split(x, 2);
  ASSERT_EQ(pieces.size(), 3u);
  expect_elements<float>(pieces[1], {2, 2}, {4, 5, 6, 7});
  expect_elements<float>(pieces[2], {1, 2}, {8, 9});
  EXPECT_TRUE(share(x, pieces[2]));
  const std::vector<Tensor> columns = split(x, {0, 1, 1}, -1);
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_EQ(columns[0].shape(), (Shape{5, 0}));
  expect_elements<float>(columns[2], {5, 1}, {1, 3, 5, 7, 9});
  EXPECT_THROW(split(x, {2, 2}), ShapeError);
  EXPECT_THROW(split(x, {6, -1}), ShapeError);
  EXPECT_THROW(split(x, {kMost, kMost, 7}), ShapeError);
  EXPECT_THROW(split(x, 0), ValueError);
  EXPECT_THROW(split(x, 2, 2), IndexError);
}

TEST(Views, OutliveTheirBase) {
  const std::int64_t before = memory().bytes;
  Tensor view;
  {
    const Tensor x = counting({4, 4});
    view = select(transpose(x), 0, 1);
    const std::vector<Holder> held = holders(x);
    ASSERT_EQ(held.size(), 2u);  // The transpose is gone; the selection holds the data itself.
    EXPECT_EQ(held[0].kind, HolderKind::user);
    EXPECT_EQ(held[1].kind, HolderKind::view);
    EXPECT_EQ(held[1].op, "select");
    x.dispose();
    EXPECT_THROW(transpose(x), DisposedError);
  }
  expect_elements<float>(view, {4}, {1, 5, 9, 13});
  EXPECT_GT(memory().bytes, before);
  view.dispose();
  EXPECT_EQ(memory().bytes, before);
}

TEST(Views, LeaveTheirBaseWhenDisposed) {
  const Tensor x = counting({2, 2});
  const Tensor view = flip(x);
  view.dispose();
  expect_elements<float>(x, {2, 2}, {0, 1, 2, 3});
  EXPECT_EQ(holders(x).size(), 1u);
  EXPECT_EQ(view.shape(), (Shape{2, 2}));
  expect_throws<DisposedError>([&] { reshape(view, {4}); }, {"reshape", "flip"});
}

TEST(Views, TakeNumbers) {
  expect_elements<float>(flatten(2.5), {1}, {2.5});
  EXPECT_THROW(split(2.5, 1), IndexError);
  EXPECT_THROW(split(2.5, {1, 1}), IndexError);
}

TEST(Views, KnowWhereTheyComeFrom) {
  const Tensor x = counting({2, 2});
  const auto line = static_cast<unsigned>(__LINE__) + 1;
  const Tensor y = slice(x, 0, 1);
  EXPECT_EQ(y.op(), "slice");
  EXPECT_EQ(y.created().line(), line);
}

}  // namespace
}  // namespace tenure
