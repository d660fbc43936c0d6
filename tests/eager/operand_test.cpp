#include "tenure/ops/core/operand.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "tenure/ops/core/types.h"
#include "tenure/tenure.h"
#include "tests/support/expect.h"

namespace tenure {
namespace {

constexpr std::array<DType, kDTypes> kAll{boolean, uint8,   int8,     int16,   int32,
                                          int64,   float16, bfloat16, float32, float64};

DType meet(std::initializer_list<Operand> operands) {
  return ops::common_type(std::span(operands.begin(), operands.size()));
}

TEST(Operand, TensorsPromote) {
  for (const DType a : kAll) {
    for (const DType b : kAll) {
      const Tensor x = ones({1}, a);
      const Tensor y = ones({}, b);
      EXPECT_EQ(meet({x, y}), promote(a, b)) << "a tensor without dimensions counts too";
      EXPECT_EQ(equal(x, y).dtype(), boolean);
      if (promote(a, b) == boolean) continue;
      EXPECT_EQ((x + y).dtype(), promote(a, b)) << name_of(a) << " + " << name_of(b);
    }
  }
}

TEST(Operand, NumbersTakeTheTensorsType) {
  for (const DType a : kAll) {
    const Tensor x = ones({1}, a);
    const DType with_bool = a;
    const DType with_integer = a == boolean ? int64 : a;
    const DType with_fraction = is_floating(a) ? a : float32;
    EXPECT_EQ(meet({x, true}), with_bool);
    EXPECT_EQ(meet({x, 1}), with_integer);
    EXPECT_EQ(meet({x, std::uint8_t{1}}), with_integer) << "all integers are one kind";
    EXPECT_EQ(meet({x, 1.5}), with_fraction);
    EXPECT_EQ(meet({x, 1.5F}), with_fraction);
    EXPECT_EQ(meet({1.5, x}), with_fraction) << "order does not matter";
    EXPECT_EQ(meet({x, 1, 1.5}), with_fraction);
  }
}

TEST(Operand, NumbersAlone) {
  EXPECT_EQ(meet({true, false}), boolean);
  EXPECT_EQ(meet({1, 2}), int64);
  EXPECT_EQ(meet({1, 2.0}), float32);
  EXPECT_EQ(meet({true, 1}), int64);
  EXPECT_EQ(add(1, 2).dtype(), int64);
  EXPECT_EQ(add(1, 2).shape(), (Shape{}));
  EXPECT_EQ(add(1, 2.5).item<double>(), 3.5);
}

TEST(Operand, NumbersThatDoNotFitAreRefused) {
  EXPECT_THROW(ones({1}, uint8) + 256, ValueError);
  EXPECT_THROW(ones({1}, uint8) + -1, ValueError);
  EXPECT_THROW(ones({1}, int8) * 128, ValueError);
  EXPECT_EQ((ones({1}, int8) * -128).item<int>(), -128);
  EXPECT_EQ((ones({1}, int64) + std::numeric_limits<std::int64_t>::max() - 1).item<std::int64_t>(),
            std::numeric_limits<std::int64_t>::max());
}

TEST(Operand, KnowsWhetherItMayUseUpItsTensor) {
  Tensor x = ones({1});
  const Tensor& constant = x;
  EXPECT_FALSE(Operand(x).may_consume());
  EXPECT_FALSE(Operand(constant).may_consume());
  EXPECT_TRUE(Operand(std::move(x)).may_consume());
  EXPECT_TRUE(x.defined()) << "making an operand moves nothing";
  EXPECT_FALSE(Operand(2).may_consume());
  EXPECT_TRUE(Operand(2).is_scalar());
  Operand(std::move(x)).consume();
  EXPECT_FALSE(x.defined());
}

TEST(Operand, ListsOfVectors) {
  std::vector<Tensor> parts{ones({1}), ones({2})};
  EXPECT_EQ(concat(parts).size(), 3);
  EXPECT_TRUE(parts[0].defined());
  EXPECT_EQ(concat(std::move(parts)).size(), 3);
  EXPECT_FALSE(parts[0].defined());
}

TEST(Operand, SiteIsTheCallersLine) {
  const Tensor a = ones({1});
  const Tensor b = a + 1;
  const Tensor c = relu(a);
  const Tensor d = 2 * a;
  const std::uint_least32_t line = a.created().line();
  EXPECT_EQ(b.created().line(), line + 1);
  EXPECT_EQ(c.created().line(), line + 2);
  EXPECT_EQ(d.created().line(), line + 3);
  Tensor e = ones({1});
  e += 1;
  EXPECT_EQ(e.created().line(), line + 9);
}

}  // namespace
}  // namespace tenure
