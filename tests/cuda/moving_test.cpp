#include <gtest/gtest.h>

#include <vector>

#include "tests/cuda/emulated.h"
#include "tests/cuda/layouts.h"
#include "tests/support/same_bits.h"

// Copies, conversions and elementwise ops go by vectors, by tiles or by elements, as layouts allow.
// Layouts that are drawn come out as on the CPU, to the bit.

namespace tenure {
namespace {

using test::Draws;
using test::emulated_gpu;
using test::expect_same_bits;
using test::Look;
using test::some_look;

constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 8, 9, 16, 24, 32, 33, 64, 70};
constexpr DType kTypes[] = {DType::boolean, DType::uint8,   DType::int16,
                            DType::int32,   DType::int64,   DType::bfloat16,
                            DType::float16, DType::float32, DType::float64};

/// Each mix is a kernel that is compiled for it.
constexpr DType kMixed[] = {DType::uint8, DType::bfloat16, DType::float32};

Shape some_shape(Draws& draws) {
  for (;;) {
    Shape shape;
    for (std::int64_t rank = draws.below(5); rank >= 0; --rank) {
      shape.push_back(draws.one_of(kSizes));
    }
    if (count(shape) <= 12000) return shape;
  }
}

Tensor numbers(const Shape& shape, DType type) {
  const Tensor all = reshape(arange(count(shape)), shape);
  return type == DType::boolean ? all % 3 == 0 : cast(all % 251, type);
}

TEST(Moving, CopiesAndConvertsAnyLayout) {
  const Device gpu = emulated_gpu();
  for (std::uint32_t seed = 0; seed < 250; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed);
    const Shape shape = some_shape(draws);
    const Look look = some_look(draws, shape);
    const DType from = draws.one_of(kTypes);
    const DType to = draws.coin() ? from : draws.one_of(kTypes);
    const Tensor here = numbers(look.whole, from);
    const Tensor seen = look(here);
    ASSERT_EQ(seen.shape(), shape);
    const Tensor there = look(copy_to(here, gpu));
    expect_same_bits(copy_to(cast(contiguous(there), to), cpu), cast(seen, to));
    expect_same_bits(copy_to(cast(there, to), cpu), cast(seen, to));
    const int axis = static_cast<int>(draws.below(shape.size()));
    expect_same_bits(copy_to(concat({there, there}, axis), cpu), concat({seen, seen}, axis));
    expect_same_bits(copy_to(repeat(there, 3, axis), cpu), repeat(seen, 3, axis));
  }
}

TEST(Moving, ComputesWithAnyLayout) {
  const Device gpu = emulated_gpu();
  for (std::uint32_t seed = 1000; seed < 1250; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed);
    const Shape shape = some_shape(draws);
    Tensor here[2];
    Tensor there[2];
    for (int i = 0; i < 2; ++i) {
      Shape own = shape;
      for (std::int64_t& size : own) {
        if (draws.below(3) == 0) size = 1;
      }
      const Look look = draws.coin() ? Look{.whole = own, .order = {}} : some_look(draws, own);
      const DType type = draws.one_of(kMixed);
      const Tensor whole = numbers(look.whole, type);
      here[i] = look.order.empty() ? whole : look(whole);
      there[i] = look.order.empty() ? copy_to(whole, gpu) : look(copy_to(whole, gpu));
    }
    expect_same_bits(copy_to(maximum(there[0], there[1]), cpu), maximum(here[0], here[1]));
    expect_same_bits(copy_to(there[0] * 3, cpu), here[0] * 3);
    expect_same_bits(copy_to(where(there[0] > 7, there[0], there[1]), cpu),
                     where(here[0] > 7, here[0], here[1]));
  }
}

/// More than one block, with a rest, and from where no vector begins.
TEST(Moving, GoesOverLongRows) {
  const Device gpu = emulated_gpu();
  for (const DType type : {DType::bfloat16, DType::float32, DType::uint8}) {
    const Tensor here = numbers({100003}, type);
    const Tensor there = copy_to(here, gpu);
    for (const std::int64_t begin : {0, 1, 8}) {
      const Tensor a = slice(here, 0, begin);
      const Tensor b = slice(there, 0, begin);
      expect_same_bits(copy_to(b + b, cpu), a + a);
      expect_same_bits(copy_to(cast(b, DType::float64), cpu), cast(a, DType::float64));
      expect_same_bits(copy_to(tile(b, {3}), cpu), tile(a, {3}));
    }
  }
}

/// Axes of outputs and of terms in any order, in blocks that share outputs and those that do not.
/// Of whole numbers every order has the same sum.
TEST(Moving, ReducesAnyLayout) {
  const Device gpu = emulated_gpu();
  for (std::uint32_t seed = 2000; seed < 2250; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed);
    Shape shape = some_shape(draws);
    if (draws.below(3) == 0) shape[static_cast<int>(draws.below(shape.size()))] = 700;
    const Look look = some_look(draws, shape);
    const DType type = draws.one_of(kTypes);
    if (count(shape) > 60000 || type == DType::boolean) continue;
    const Tensor here = numbers(look.whole, type);
    const Tensor seen = look(here);
    const Tensor there = look(copy_to(here, gpu));
    Axes axes;
    for (int d = 0; d < shape.size(); ++d) {
      if (draws.coin()) axes.push_back(d);
    }
    expect_same_bits(copy_to(max(there, axes), cpu), max(seen, axes));
    expect_same_bits(copy_to(sum(there, axes), cpu),
                     cast(sum(cast(seen, DType::float64), axes), sum(seen, axes).dtype()));
    const int axis = static_cast<int>(draws.below(shape.size()));
    expect_same_bits(copy_to(argmax(there, axis), cpu), argmax(seen, axis));
  }
}

}  // namespace
}  // namespace tenure
