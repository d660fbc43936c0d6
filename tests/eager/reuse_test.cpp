#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/share.h"

// When a call computes in the memory of a moved input, and when it must not.

namespace tenure {
namespace {

using test::data_of;
using test::expect_elements;

TEST(Reuse, AChainAllocatesOnce) {
  const Tensor a = ones({8, 8});
  const Tensor b = ones({8, 8});
  const Tensor c = ones({8, 8});
  const MemoryRegion region;
  const Tensor result = tanh(matmul(a, b) + c);
  EXPECT_EQ(region.allocations(), 1);
  EXPECT_EQ(region.peak_bytes(), 256);
  EXPECT_EQ(region.left_tensors(), 1);
}

TEST(Reuse, ALongChainAllocatesOnce) {
  const Tensor x = full({100}, 0.5);
  const MemoryRegion region;
  const Tensor y = exp(-square(sigmoid(relu(x * 2 - 1) / 3)) + 1) * x;
  EXPECT_EQ(region.allocations(), 1);
  EXPECT_EQ(region.left_bytes(), 400);
}

TEST(Reuse, AMovedInputIsUsedUp) {
  Tensor x = ones({4});
  const void* const place = data_of(x);
  const std::uint64_t id = x.id();
  const Tensor y = neg(std::move(x));
  EXPECT_FALSE(x.defined());
  EXPECT_EQ(data_of(y), place);
  EXPECT_NE(y.id(), id) << "a new tensor in the old place";
  EXPECT_EQ(y.op(), "neg");
}

TEST(Reuse, LvaluesAreNeverOverwritten) {
  const Tensor x = tensor({1.0, 2.0});
  Tensor y = tensor({3.0, 4.0});
  const Tensor z = x + y;
  neg(y);
  softmax(y);
  cumsum(y, 0);
  expect_elements<float>(x, {2}, {1, 2});
  expect_elements<float>(y, {2}, {3, 4});
  EXPECT_NE(data_of(z), data_of(x));
  EXPECT_NE(data_of(z), data_of(y));
}

TEST(Reuse, ASecondHandlePreventsIt) {
  Tensor x = tensor({1.0, 2.0});
  const Tensor handle = x;
  const Tensor y = neg(std::move(x));
  EXPECT_FALSE(x.defined());
  expect_elements<float>(handle, {2}, {1, 2});
  expect_elements<float>(y, {2}, {-1, -2});
}

TEST(Reuse, AViewPreventsIt) {
  Tensor x = tensor({1.0, 2.0});
  const Tensor view = reshape(x, {2, 1});
  const Tensor y = neg(std::move(x));
  expect_elements<float>(view, {2, 1}, {1, 2});
  EXPECT_NE(data_of(y), data_of(view));
  Tensor base = tensor({1.0, 2.0});
  Tensor moved_view = reshape(base, {1, 2});
  neg(std::move(moved_view));
  expect_elements<float>(base, {2}, {1, 2});
}

TEST(Reuse, AViewWhoseBaseIsGoneIsReused) {
  Tensor x = tensor({1.0, 2.0, 3.0, 4.0});
  Tensor view = reshape(std::move(x), {2, 2});
  const void* const place = data_of(view);
  EXPECT_EQ(data_of(neg(std::move(view))), place);
}

TEST(Reuse, APartOfAStorageIsNotReused) {
  Tensor part = slice(tensor({1.0, 2.0, 3.0}), 0, 1);
  const MemoryRegion region;
  const Tensor y = neg(std::move(part));
  EXPECT_EQ(region.allocations(), 1) << "the result would hold more than it shows";
  expect_elements<float>(y, {2}, {-2, -3});
  EXPECT_EQ(region.left_bytes(), 8 - 12) << "and the base is gone";
}

TEST(Reuse, ForeignMemoryIsNeverOverwritten) {
  std::vector<float> mine{1, 2};
  bool deleted = false;
  Tensor x = from_memory(mine.data(), {2}, float32, 8, [&](void*) { deleted = true; });
  const Tensor y = neg(std::move(x));
  EXPECT_TRUE(deleted) << "the moved tensor was its last holder";
  EXPECT_EQ(mine, (std::vector<float>{1, 2}));
  expect_elements<float>(y, {2}, {-1, -2});
}

TEST(Reuse, OtherSizesAndTypesAreNotReused) {
  const Tensor big = ones({2, 3});
  Tensor small = tensor({1.0, 2.0, 3.0});
  const Tensor sum = std::move(small) + big;
  EXPECT_FALSE(small.defined()) << "used up, though not computed in";
  expect_elements<float>(sum, {2, 3}, {2, 3, 4, 2, 3, 4});
  Tensor integers = tensor({1, 2});
  const Tensor roots = sqrt(std::move(integers));
  EXPECT_EQ(roots.dtype(), float32);
  Tensor floats = tensor({1.0, 4.0});
  const void* const place = data_of(floats);
  const Tensor bits = std::move(floats) < 2;
  EXPECT_NE(data_of(bits), place);
  expect_elements<bool>(bits, {2}, {true, false});
}

TEST(Reuse, TheSecondInputToo) {
  const Tensor a = tensor({1.0, 2.0});
  Tensor b = tensor({10.0, 20.0});
  const void* const place = data_of(b);
  const Tensor y = a - std::move(b);
  EXPECT_EQ(data_of(y), place);
  expect_elements<float>(y, {2}, {-9, -18});
}

TEST(Reuse, OneTensorAsBothInputs) {
  Tensor x = tensor({3.0, 4.0});
  const Tensor y = mul(std::move(x), x);
  expect_elements<float>(y, {2}, {9, 16});
  EXPECT_FALSE(x.defined());
  Tensor z = tensor({3.0, 4.0});
  const Tensor twice = std::move(z) + std::move(z);
  expect_elements<float>(twice, {2}, {6, 8});
}

TEST(Reuse, AMovedMatrixAgainstItsOwnTranspose) {
  Tensor m = tensor({{1.0, 2.0}, {3.0, 4.0}});
  const Tensor transposed = transpose(m);
  const Tensor sum = std::move(m) + transposed;
  expect_elements<float>(sum, {2, 2}, {2, 5, 5, 8});
}

TEST(Reuse, CompoundAssignment) {
  Tensor x = tensor({1.0, 2.0});
  const void* const place = data_of(x);
  const MemoryRegion region;
  x += 1;
  x *= x;
  x -= tensor({1.0, 1.0});
  x /= 2;
  EXPECT_EQ(data_of(x), place);
  EXPECT_EQ(region.left_bytes(), 0);
  expect_elements<float>(x, {2}, {1.5F, 4});
  const Tensor before = x;
  x += 1;
  expect_elements<float>(before, {2}, {1.5F, 4});
}

TEST(Reuse, ACallThatThrowsLeavesTheMovedTensor) {
  Tensor x = tensor({1.0, 2.0});
  const std::uint64_t id = x.id();
  EXPECT_THROW(std::move(x) + ones({3}), ShapeError);
  EXPECT_THROW(matmul(std::move(x), ones({3})), ShapeError);
  EXPECT_THROW(bitwise_not(std::move(x)), DTypeError);
  EXPECT_THROW(softmax(std::move(x), 5), IndexError);
  EXPECT_THROW(reshape(std::move(x), {3}), ShapeError);
  EXPECT_THROW(concat({std::move(x), ones({2, 2})}), ShapeError);
  {
    const FaultInjection fault(1);
    EXPECT_THROW(neg(std::move(x)), OutOfMemory);
  }
  {
    const Budget budget("none", 0);
    EXPECT_THROW(sum(std::move(x)), OutOfMemory);
  }
  ASSERT_TRUE(x.defined());
  EXPECT_EQ(x.id(), id);
  expect_elements<float>(x, {2}, {1, 2});
  Tensor gone = ones({2});
  gone.dispose();
  EXPECT_THROW(std::move(x) + gone, DisposedError);
  EXPECT_THROW(std::move(x) + Tensor(), EmptyTensorError);
  EXPECT_THROW(x += ones({3}), ShapeError);
  expect_elements<float>(x, {2}, {1, 2});
}

TEST(Reuse, InAScopeTheResultBelongsToTheScopeThatMadeIt) {
  Tensor outer = ones({2});
  Tensor inner;
  {
    const Scope scope;
    inner = neg(std::move(outer));
  }
  EXPECT_TRUE(inner.is_disposed());
  Tensor made_inside = tidy([] { return ones({2}); });
  const Tensor y = neg(std::move(made_inside));
  EXPECT_FALSE(y.is_disposed());
}

TEST(Reuse, CountsInTheLedgerAsOneTensor) {
  const MemoryStats before = memory();
  {
    Tensor x = ones({1000});
    for (int i = 0; i < 10; ++i) {
      x = neg(std::move(x));
      EXPECT_EQ(memory().tensors, before.tensors + 1);
      EXPECT_EQ(memory().storages, before.storages + 1);
      EXPECT_EQ(memory().bytes, before.bytes + 4000);
    }
  }
  EXPECT_EQ(memory().tensors, before.tensors);
}

}  // namespace
}  // namespace tenure
