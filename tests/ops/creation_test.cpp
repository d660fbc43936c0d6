#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "tenure/tenure.h"

namespace tenure {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int64_t>;

TEST(Fills, HaveTheirValuesTypesAndShapes) {
  const Tensor z = zeros({2, 3});
  EXPECT_EQ(z.shape(), (Shape{2, 3}));
  EXPECT_EQ(z.dtype(), float32);
  EXPECT_EQ(z.to_vector<float>(), Floats(6, 0));
  EXPECT_EQ(ones({3}, uint8).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 1, 1}));
  EXPECT_EQ(ones({2}, boolean).to_vector<bool>(), (std::vector<bool>{true, true}));
  EXPECT_EQ(full({2}, 7).dtype(), int64);
  EXPECT_EQ(full({2}, 1.5).dtype(), float32);
  EXPECT_EQ(full({2}, true).dtype(), boolean);
  EXPECT_EQ(full({2}, 7, float16).to_vector<float>(), (Floats{7, 7}));
  EXPECT_EQ(full({2, 0, 5}, 1).size(), 0);
  EXPECT_EQ(full({}, 3).item<std::int64_t>(), 3);
  EXPECT_EQ(zeros({1}).op(), "zeros");
}

TEST(Fills, RefuseWhatTheyCannotHold) {
  EXPECT_THROW(full({2}, 300, uint8), ValueError);
  EXPECT_THROW(full({2}, -1, uint8), ValueError);
  EXPECT_THROW(zeros({2, -1}), ShapeError);
  EXPECT_THROW(zeros({std::int64_t{1} << 40, std::int64_t{1} << 40}), ShapeError);
}

TEST(Empty, IsRoomToWriteTo) {
  const std::int64_t bytes = memory().bytes;
  const Tensor x = empty({2, 3}, int16);
  EXPECT_EQ(memory().bytes, bytes + 12);
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.dtype(), int16);
  EXPECT_EQ(x.op(), "empty");
  EXPECT_TRUE(x.is_contiguous());
  std::fill_n(x.mutable_span<std::int16_t>().begin(), 6, std::int16_t{7});
  EXPECT_EQ(x.to_vector<std::int16_t>(), std::vector<std::int16_t>(6, 7));
  EXPECT_EQ(empty({0, 4}).size(), 0);
  EXPECT_THROW(empty({2, -1}), ShapeError);
}

TEST(Fills, LikeTakesShapeAndTypeAlsoOfDisposedTensors) {
  const Tensor x = zeros({2, 3}, int16);
  x.dispose();
  EXPECT_EQ(ones_like(x).shape(), (Shape{2, 3}));
  EXPECT_EQ(ones_like(x).dtype(), int16);
  EXPECT_EQ(zeros_like(x, float64).dtype(), float64);
  EXPECT_EQ(full_like(x, 9).to_vector<std::int16_t>(), std::vector<std::int16_t>(6, 9));
  EXPECT_THROW(zeros_like(Tensor()), EmptyTensorError);
}

TEST(Fills, KnowWhereTheyWereMade) {
  const Tensor x = zeros({1});
  EXPECT_EQ(x.created().line(), static_cast<unsigned>(__LINE__ - 1));
  const Tensor y = zeros_like(x);
  EXPECT_EQ(y.created().line(), static_cast<unsigned>(__LINE__ - 1));
  const Tensor z = tensor({1, 2});
  EXPECT_EQ(z.created().line(), static_cast<unsigned>(__LINE__ - 1));
  const Tensor r = arange(3);
  EXPECT_EQ(r.created().line(), static_cast<unsigned>(__LINE__ - 1));
}

TEST(Arange, CountsInTheTypeOfItsNumbers) {
  EXPECT_EQ(arange(4).to_vector<std::int64_t>(), (Ints{0, 1, 2, 3}));
  EXPECT_EQ(arange(4).dtype(), int64);
  EXPECT_EQ(arange(2.5).to_vector<float>(), (Floats{0, 1, 2}));
  EXPECT_EQ(arange(2.5).dtype(), float32);
  EXPECT_EQ(arange(1, 10, 3).to_vector<std::int64_t>(), (Ints{1, 4, 7}));
  EXPECT_EQ(arange(5, 0, -2).to_vector<std::int64_t>(), (Ints{5, 3, 1}));
  EXPECT_EQ(arange(0, 1, 0.25).to_vector<float>(), (Floats{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(arange(3, float64).dtype(), float64);
  EXPECT_EQ(arange(3, 3).size(), 0);
  EXPECT_EQ(arange(5, 3).size(), 0);
  EXPECT_EQ(arange(256, uint8).size(), 256);
}

TEST(Arange, RefusesBadRanges) {
  EXPECT_THROW(arange(0, 5, 0), ValueError);
  EXPECT_THROW(arange(0, 5, 0.0), ValueError);
  EXPECT_THROW(arange(257, uint8), ValueError);
  EXPECT_THROW(arange(-1, 3, 1, uint8), ValueError);
  EXPECT_THROW(arange(3, boolean), DTypeError);
  EXPECT_THROW(arange(0, std::numeric_limits<double>::infinity(), 1), ValueError);
  EXPECT_THROW(arange(std::numeric_limits<double>::quiet_NaN()), ValueError);
  EXPECT_THROW(arange(INT64_MIN, INT64_MAX, 1), ValueError);
  EXPECT_EQ(arange(INT64_MIN, INT64_MAX, INT64_MAX).to_vector<std::int64_t>(),
            (Ints{INT64_MIN, -1, INT64_MAX - 1}));
  EXPECT_EQ(arange(INT64_MAX, INT64_MIN, INT64_MIN).to_vector<std::int64_t>(),
            (Ints{INT64_MAX, -1}));
}

TEST(Linspace, HitsBothEnds) {
  EXPECT_EQ(linspace(0, 1, 5).to_vector<float>(), (Floats{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(linspace(0, 1, 4, float32, false).to_vector<float>(), (Floats{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(linspace(0, 5, 3, int32).to_vector<std::int64_t>(), (Ints{0, 2, 5}));
  EXPECT_EQ(linspace(3, 9, 1).to_vector<float>(), (Floats{3}));
  EXPECT_EQ(linspace(3, 9, 0).size(), 0);
  EXPECT_THROW(linspace(0, 1, -1), ValueError);
}

TEST(Eye, PutsOnesOnADiagonal) {
  EXPECT_EQ(eye(2).to_vector<float>(), (Floats{1, 0, 0, 1}));
  EXPECT_EQ(eye(2, 3, 1, int64).to_vector<std::int64_t>(), (Ints{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(eye(3, 2, -1).to_vector<float>(), (Floats{0, 0, 1, 0, 0, 1}));
  EXPECT_THROW(eye(-1), ShapeError);
}

TEST(OneHot, PutsAOneAtEachIndex) {
  const Tensor x = one_hot(tensor({1, -1}), 3);
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 1, 0, 0, 0, 1}));
  EXPECT_THROW(one_hot(tensor({3}), 3), IndexError);
  EXPECT_THROW(one_hot(tensor({0.5}), 3), DTypeError);
  EXPECT_THROW(one_hot(tensor({0}), -1), ValueError);
}

TEST(FromLists, TakesAnyDepth) {
  const Tensor m = tensor({{1, 2}, {3, 4}, {5, 6}});
  EXPECT_EQ(m.shape(), (Shape{3, 2}));
  EXPECT_EQ(m.dtype(), int64);
  EXPECT_EQ(m.to_vector<std::int64_t>(), (Ints{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(tensor({{{{1.5}}}}).shape(), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(tensor({{1}}).shape(), (Shape{1, 1}));
  EXPECT_EQ(tensor({7}).shape(), (Shape{1}));
  EXPECT_EQ(tensor(3.5).shape(), Shape{});
  EXPECT_EQ(tensor(3.5).item<float>(), 3.5f);
  EXPECT_EQ(tensor({}).shape(), (Shape{0}));
  EXPECT_EQ(tensor({}).dtype(), float32);
  EXPECT_EQ(tensor({{}, {}}).shape(), (Shape{2, 0}));
  EXPECT_EQ(tensor({{{{{{{{1}}}}}}}}).rank(), kMaxRank);
  EXPECT_THROW(tensor({{{{{{{{{1}}}}}}}}}), ShapeError);
}

TEST(FromLists, TakesTheWidestKindOfNumber) {
  EXPECT_EQ(tensor({true, false}).dtype(), boolean);
  EXPECT_EQ(tensor({true, 2}).dtype(), int64);
  EXPECT_EQ(tensor({1, 2.5}).dtype(), float32);
  EXPECT_EQ(tensor({1, 2}, float16).dtype(), float16);
  EXPECT_EQ(tensor({9007199254740993}).item<std::int64_t>(), 9007199254740993);
  EXPECT_EQ(tensor({0.1}, float64).item<double>(), 0.1);
  EXPECT_THROW(tensor({1, 300}, uint8), ValueError);
}

std::string raggedness(const NestedList& list) {
  try {
    tensor(list);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "";
}

TEST(FromLists, NamesTheRaggedPlace) {
  EXPECT_NE(raggedness({{1, 2}, {3}}).find("element [1] is a list of 1"), std::string::npos);
  EXPECT_NE(raggedness({{{1}, {2}}, {{3}, 4}}).find("element [1, 1] is a number"),
            std::string::npos);
  EXPECT_NE(raggedness({1, {2}}).find("element [1] is a list of 1, but the first one there is a "
                                      "number"),
            std::string::npos);
  EXPECT_NE(raggedness({{}, {1}}).find("element [1]"), std::string::npos);
}

TEST(FromRanges, KeepTheElementType) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const Tensor x = tensor(values, {2, 3});
  EXPECT_EQ(x.dtype(), float32);
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.to_vector<float>(), values);
  EXPECT_EQ(tensor(std::vector<std::int8_t>{1, 2}).dtype(), int8);
  EXPECT_EQ(tensor(std::span<const float>(values).subspan(4)).to_vector<float>(), (Floats{5, 6}));
  EXPECT_EQ(tensor(std::array<double, 2>{1, 2}).dtype(), float64);
  EXPECT_EQ(tensor(std::vector<bool>{true, false}, {2, 1}).shape(), (Shape{2, 1}));
  EXPECT_EQ(tensor(std::vector<bool>{true, false}).to_vector<bool>(),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(tensor(std::vector<Half>{Half(1.5f)}).item<float>(), 1.5f);
  EXPECT_EQ(tensor(std::vector<int>{4}, {}).item<std::int32_t>(), 4);
  EXPECT_EQ(tensor(std::vector<float>{}, {0, 3}).shape(), (Shape{0, 3}));
  EXPECT_THROW(tensor(values, {2, 2}), ShapeError);
  EXPECT_THROW(tensor(values, {-2, -3}), ShapeError);
}

class FromMemory : public testing::Test {
 protected:
  std::function<void(void*)> counting() {
    return [this](void* data) {
      EXPECT_EQ(data, values_);
      ++deleted_;
    };
  }
  alignas(8) float values_[6] = {1, 2, 3, 4, 5, 6};
  int deleted_ = 0;
};

TEST_F(FromMemory, SharesTheMemoryAndGivesItBackOnce) {
  {
    const Tensor x = from_memory(values_, {2, 3}, float32, sizeof(values_), counting());
    EXPECT_EQ(x.created().line(), static_cast<unsigned>(__LINE__ - 1));
    EXPECT_EQ(x.span<float>().data(), values_);
    Tensor row = select(x, 0, 1);
    x.dispose();
    EXPECT_EQ(deleted_, 0);
    EXPECT_EQ(row.to_vector<float>(), (Floats{4, 5, 6}));
    row.dispose();
    EXPECT_EQ(deleted_, 1);
  }
  EXPECT_EQ(deleted_, 1);
}

TEST_F(FromMemory, IsNeverOverwritten) {
  Tensor x = from_memory(values_, {6}, float32, sizeof(values_), counting());
  const Tensor y = neg(std::move(x));
  EXPECT_EQ(values_[0], 1);
  EXPECT_EQ(y.to_vector<float>()[0], -1);
  EXPECT_EQ(deleted_, 1);
}

TEST_F(FromMemory, LeavesTheMemoryWithTheCallerOnErrors) {
  EXPECT_THROW(from_memory(values_, {2, 3}, float32, 20, counting()), ValueError);
  EXPECT_THROW(from_memory(nullptr, {2, 3}, float32, 24, counting()), ValueError);
  EXPECT_THROW(from_memory(values_, {-6}, float32, 24, counting()), ShapeError);
  EXPECT_THROW(from_memory(reinterpret_cast<std::byte*>(values_) + 2, {2}, float32, 8, counting()),
               ValueError);
  for (int n = 1;; ++n) {
    const FaultInjection fault(n);
    try {
      from_memory(values_, {2, 3}, float32, sizeof(values_), counting());
      break;
    } catch (const OutOfMemory&) {
      EXPECT_EQ(deleted_, 0);
    }
  }
  EXPECT_EQ(deleted_, 1);
}

TEST_F(FromMemory, TakesNothingAndNoDeleter) {
  EXPECT_EQ(from_memory(nullptr, {0, 3}, float32, 0, nullptr).size(), 0);
  EXPECT_EQ(from_memory(values_, {6}, float32, sizeof(values_), nullptr).to_vector<float>()[5], 6);
}

}  // namespace
}  // namespace tenure
