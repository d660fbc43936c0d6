#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tenure/tenure.h"

// Sizes that no machine has. Each is refused by an exception of Tenure's, whatever is computed with
// them does not overflow, and everything goes on.

namespace tenure {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 62;
constexpr std::int64_t kLarge = std::int64_t{1} << 40;

class Absurd : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(memory().bytes, before_.bytes);
    EXPECT_EQ(memory().tensors, before_.tensors);
    EXPECT_EQ(sum(ones({10})).item<float>(), 10);
  }

 private:
  MemoryStats before_ = memory();
};

TEST_F(Absurd, Creation) {
  EXPECT_THROW(zeros({kLarge, 1 << 10}, uint8), OutOfMemory);
  EXPECT_THROW(zeros({kHuge}, uint8), OutOfMemory);
  EXPECT_THROW(ones({kHuge}), ShapeError) << "more bytes than 63 bits";
  EXPECT_THROW(zeros({kHuge, kHuge}, uint8), ShapeError);
  EXPECT_THROW(full({kHuge, kHuge, 0}, 1), ShapeError);
  EXPECT_THROW(zeros({-1}), ShapeError);
  EXPECT_THROW(arange(kHuge), Error);
  EXPECT_THROW(arange(1e30), Error);
  EXPECT_THROW(arange(0.0, 1.0, 1e-300), Error);
  EXPECT_THROW(eye(kLarge), Error);
  EXPECT_THROW(eye(kHuge, kHuge), Error);
  EXPECT_THROW(linspace(0, 1, kHuge), Error);
  EXPECT_THROW(linspace(0, 1, -1), Error);
  EXPECT_THROW(one_hot(tensor({0, 1}), kHuge), Error);
}

TEST_F(Absurd, Views) {
  const Tensor x = ones({1});
  EXPECT_THROW(broadcast_to(x, {kHuge, kHuge}), ShapeError);
  EXPECT_THROW(broadcast_to(x, {kHuge}), ShapeError);
  const Tensor wide = broadcast_to(x, {kLarge});
  EXPECT_EQ(wide.size(), kLarge);
  EXPECT_EQ(to_string(wide), "[1., 1., 1., ..., 1., 1., 1.] float32[1099511627776]");
  EXPECT_THROW(broadcast_to(wide, {kLarge, kLarge}), ShapeError);
  EXPECT_THROW(reshape(wide, {kLarge, kLarge}), ShapeError);
  EXPECT_THROW(clone(wide), OutOfMemory);
  EXPECT_THROW(wide + 1, OutOfMemory);
  const Tensor column = reshape(broadcast_to(x, {kLarge}), {kLarge, 1});
  EXPECT_THROW(column + wide, ShapeError) << "the result would have 2^80 elements";
  EXPECT_EQ(slice(x, 0, -kHuge, kHuge).size(), 1);
  EXPECT_EQ(slice(x, 0, 0, 1, kHuge).size(), 1);
  EXPECT_EQ(slice(x, 0, std::nullopt, std::nullopt, -kHuge).size(), 1);
  EXPECT_THROW(select(x, 0, kHuge), IndexError);
}

TEST_F(Absurd, Copies) {
  const Tensor wide = broadcast_to(ones({1}), {kLarge});
  EXPECT_THROW(concat({wide, wide}), OutOfMemory);
  const Tensor widest = broadcast_to(ones({1}, uint8), {kHuge >> 3});
  const std::vector<Tensor> many(20, widest);
  EXPECT_THROW(concat(many), Error) << "the sum of the sizes overflows";
  EXPECT_THROW(stack(many), Error);
  EXPECT_THROW(cast(widest, float64), Error);
  EXPECT_THROW(matmul(reshape(wide, {kLarge, 1}), reshape(wide, {1, kLarge})), Error);
  EXPECT_THROW(einsum("i,j->ij", {wide, wide}), Error);
}

TEST_F(Absurd, Ranks) {
  const Tensor deep = reshape(ones({1}), {1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_EQ(deep.rank(), 8);
  EXPECT_THROW(expand_dims(deep, 0), ShapeError);
  EXPECT_THROW(stack({deep, deep}), ShapeError);
  EXPECT_THROW(reshape(deep, std::vector<std::int64_t>(9, 1)), ShapeError);
  EXPECT_THROW(tensor({{{{{{{{{1}}}}}}}}}), ShapeError);
  EXPECT_EQ((deep + deep).rank(), 8);
  EXPECT_EQ(squeeze(deep).rank(), 0);
}

}  // namespace
}  // namespace tenure
