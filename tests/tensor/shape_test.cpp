#include "tenure/tensor/shape.h"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/tensor/sizes.h"
#include "tenure/tensor/strided.h"
#include "tests/support/expect.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

using test::expect_throws;

TEST(Dims, HoldUpToEight) {
  const Dims empty;
  EXPECT_EQ(empty.size(), 0);
  EXPECT_TRUE(empty.empty());
  Dims full{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(full.size(), 8);
  EXPECT_EQ(full.back(), 8);
  expect_throws<ShapeError>([&] { full.push_back(9); }, {"rank 9 is above the limit of 8"});
  expect_throws<ShapeError>([&] { full.insert(0, 9); }, {"rank 9"});
  expect_throws<ShapeError>([] { Dims({1, 2, 3, 4, 5, 6, 7, 8, 9}); }, {"rank 9"});
  expect_throws<ShapeError>([] { Dims(std::vector<std::int64_t>(1000)); }, {"rank 1000"});
  EXPECT_THROW(Dims::filled(9, 1), ShapeError);
  EXPECT_THROW(Dims::filled(-1, 1), ShapeError);
  EXPECT_EQ(full, (Dims{1, 2, 3, 4, 5, 6, 7, 8})) << "a refusal changed it";
}

TEST(Dims, EditAndCompare) {
  Dims dims{1, 3};
  dims.insert(1, 2);
  dims.insert(3, 4);
  dims.insert(0, 0);
  EXPECT_EQ(dims, (Dims{0, 1, 2, 3, 4}));
  dims.erase(0);
  dims.erase(3);
  dims.erase(1);
  EXPECT_EQ(dims, (Dims{1, 3}));
  EXPECT_NE(dims, (Dims{1}));
  EXPECT_NE(dims, (Dims{1, 4}));
  EXPECT_EQ(Dims::filled(3, 7), (Dims{7, 7, 7}));
  EXPECT_EQ(dims.to_vector(), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(to_string(dims), "[1, 3]");
  EXPECT_EQ(to_string(Dims{}), "[]");
  std::ostringstream out;
  out << dims;
  EXPECT_EQ(out.str(), "[1, 3]");
}

TEST(Shape, CountsAndChecks) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(check_shape({}, 4, "op"), 1);
  EXPECT_EQ(check_shape({2, 3}, 4, "op"), 6);
  EXPECT_EQ(check_shape({2, 0, 3}, 4, "op"), 0);
  EXPECT_EQ(check_shape({huge}, 1, "op"), huge);
  expect_throws<ShapeError>([] { check_shape({2, -1}, 4, "op"); }, {"op: shape [2, -1]"});
  expect_throws<ShapeError>([] { check_shape({0, -1}, 4, "op"); }, {"negative"});
  expect_throws<ShapeError>([] { check_shape({huge}, 2, "op"); }, {"63 bits"});
  expect_throws<ShapeError>([] { check_shape({huge, huge}, 1, "op"); }, {"63 bits"});
  // Nothing to store, but the strides would overflow.
  expect_throws<ShapeError>([] { check_shape({huge, huge, 0}, 1, "op"); }, {"63 bits"});
  expect_throws<ShapeError>([] { check_shape({0, huge, huge}, 1, "op"); }, {"63 bits"});
}

TEST(Shape, ContiguousStrides) {
  EXPECT_EQ(contiguous_strides({}), (Strides{}));
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_TRUE(is_contiguous({2, 3}, {3, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
  EXPECT_FALSE(is_contiguous({2, 3}, {6, 2}));
  EXPECT_FALSE(is_contiguous({2}, {0}));
  EXPECT_FALSE(is_contiguous({2}, {-1}));
  EXPECT_TRUE(is_contiguous({1, 3}, {99, 1})) << "a dimension of one may have any stride";
  EXPECT_TRUE(is_contiguous({0, 3}, {5, 7})) << "nothing has no gaps";
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{5, 1, 2}, Shape{3, 0, 2}}) {
    EXPECT_TRUE(is_contiguous(shape, contiguous_strides(shape)));
  }
}

TEST(Shape, Broadcasts) {
  EXPECT_EQ(broadcast({2, 3}, {3}, "op"), (Shape{2, 3}));
  EXPECT_EQ(broadcast({3}, {2, 1}, "op"), (Shape{2, 3}));
  EXPECT_EQ(broadcast({}, {2, 1}, "op"), (Shape{2, 1}));
  EXPECT_EQ(broadcast({1, 0}, {5, 1}, "op"), (Shape{5, 0}));
  EXPECT_EQ(broadcast({0}, {1}, "op"), (Shape{0}));
  expect_throws<ShapeError>([] { broadcast({2}, {3}, "add"); },
                            {"add: shapes [2] and [3] do not broadcast"});
  EXPECT_THROW(broadcast({0}, {2}, "op"), ShapeError);
  EXPECT_EQ(broadcast({kUnknown, 3}, {kUnknown, 1}, "op"), (Shape{kUnknown, 3}));
  EXPECT_EQ(broadcast({kUnknown}, {1}, "op"), (Shape{kUnknown}));
  EXPECT_EQ(broadcast({1}, {2, kUnknown}, "op"), (Shape{2, kUnknown}));
  EXPECT_EQ(broadcast({kUnknown}, {4}, "op"), (Shape{4}));
  EXPECT_EQ(broadcast({4}, {kUnknown}, "op"), (Shape{4}));
  expect_throws<ShapeError>(
      [] {
        broadcast({kUnknown, 2}, {3}, "add");
      },
      {"add: shapes [?, 2] and [3] do not broadcast"});
  EXPECT_EQ(broadcast_strides({3, 1}, {1, 1}, {2, 3, 4}), (Strides{0, 1, 0}));
  EXPECT_EQ(broadcast_strides({}, {}, {2, 2}), (Strides{0, 0}));
}

TEST(Shape, NormalizesAxes) {
  EXPECT_EQ(normalize_axis(-1, 3, "op"), 2);
  EXPECT_EQ(normalize_axis(0, 3, "op"), 0);
  for (const std::int64_t axis : {std::int64_t{3}, std::int64_t{-4}, std::int64_t{1} << 40}) {
    try {
      normalize_axis(axis, 3, "op");
      ADD_FAILURE() << axis;
    } catch (const IndexError& error) {
      EXPECT_EQ(error.index(), axis);
      EXPECT_EQ(error.size(), 3);
    }
  }
  EXPECT_THROW(normalize_axis(0, 0, "op"), IndexError);
  EXPECT_EQ(normalize_axes({-1, 0}, 3, "op"), (Axes{0, 2}));
  EXPECT_EQ(normalize_axes({}, 2, "op"), (Axes{0, 1}));
  expect_throws<ValueError>([] { normalize_axes({1, -1}, 2, "op"); }, {"one axis twice"});
}

TEST(Strided, VisitsInRowMajorOrder) {
  const auto offsets = [](const Shape& shape, const Strides& strides) {
    std::vector<std::int64_t> seen;
    for_each_offset(shape, strides, [&](std::int64_t offset) { seen.push_back(offset); });
    return seen;
  };
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(offsets({}, {}), (List{0}));
  EXPECT_EQ(offsets({2, 3}, {3, 1}), (List{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(offsets({3, 2}, {1, 3}), (List{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(offsets({2, 2}, {0, -1}), (List{0, -1, 0, -1}));
  EXPECT_EQ(offsets({2, 0, 5}, {1, 1, 1}), (List{}));
  EXPECT_EQ(offsets({1, 1, 1}, {9, 9, 9}), (List{0}));
}

}  // namespace
}  // namespace tenure
