#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

using test::expect_elements;
using test::expect_throws;

TEST(DisposedInput, IsNamedWithOpAndLine) {
  const Tensor x = ones({2, 2});
  const Tensor y = ones({2, 2});
  x.dispose();
  const std::string disposed = test::here(x.body("test").disposed());
  const auto line = [](Site site = Site::current()) { return "used      " + test::here(site); };
  expect_throws<DisposedError>([&] { y + x; }, {"was used by add", line()});
  expect_throws<DisposedError>([&] { x.dispose(), matmul(y, x); }, {"was used by matmul", line()});
  expect_throws<DisposedError>([&] { reshape(x, {4}); }, {"was used by reshape", line()});
  expect_throws<DisposedError>([&] { sum(x); }, {"was used by sum", line()});
  expect_throws<DisposedError>([&] { concat({y, x}); }, {"was used by concat", line()});
  expect_throws<DisposedError>([&] { clone(x); }, {"was used by clone", line()});
  expect_throws<DisposedError>([&] { where(y > 0, x, y); }, {"was used by where", line()});
  expect_throws<DisposedError>(
      [&] { softmax(x); },
      {"created   " + test::here(x.created()) + " by ones", "disposed  " + disposed});
}

TEST(DisposedInput, NeverCascadesToInputsOrResults) {
  const Tensor a = ones({3});
  const Tensor b = a + 1;
  const Tensor copy = clone(b);
  b.dispose();
  expect_elements<float>(a, {3}, {1, 1, 1});
  expect_elements<float>(copy, {3}, {2, 2, 2});
  a.dispose();
  expect_elements<float>(copy, {3}, {2, 2, 2});
}

TEST(DisposedInput, ViewsKeepTheData) {
  const Tensor base = arange(12, float32);
  std::vector<Tensor> views{reshape(base, {3, 4}),       transpose(reshape(base, {3, 4})),
                            slice(base, 0, 2, 10, 3),    select(base, 0, 5),
                            broadcast_to(base, {2, 12}), contiguous(base)};
  base.dispose();
  EXPECT_EQ(views[0].to_vector<float>()[11], 11);
  EXPECT_EQ(views[1].to_vector<float>()[1], 4);
  expect_elements<float>(views[2], {3}, {2, 5, 8});
  EXPECT_EQ(views[3].item<float>(), 5);
  EXPECT_EQ(views[4].to_vector<float>()[23], 11);
  EXPECT_EQ(holders(base).size(), 6u);
  const MemoryStats before = memory();
  for (std::size_t i = 0; i + 1 < views.size(); ++i) views[i].dispose();
  EXPECT_EQ(memory().bytes, before.bytes);
  views.back().dispose();
  EXPECT_EQ(memory().bytes, before.bytes - 48);
  EXPECT_TRUE(holders(base).empty());
}

TEST(DisposedInput, LikesReadOnlyMetadata) {
  const Tensor x = ones({2, 3}, int32);
  x.dispose();
  EXPECT_EQ(zeros_like(x).shape(), (Shape{2, 3}));
  EXPECT_EQ(ones_like(x).dtype(), int32);
}

// jax's array tests: a deleted input fails in the first and in every later call.
TEST(DisposedInput, FailsEveryTime) {
  const Tensor x = ones({2});
  const auto f = [](const Tensor& t) { return sum(t * 2); };
  EXPECT_EQ(f(x).item<float>(), 4);
  x.dispose();
  for (int i = 0; i < 3; ++i) EXPECT_THROW(f(x), DisposedError);
}

TEST(DisposedInput, ManyInputsOfOneCall) {
  std::vector<Tensor> parts;
  for (int i = 0; i < 40; ++i) parts.push_back(full({1}, i, float32));
  EXPECT_EQ(concat(parts).to_vector<float>()[39], 39);
  parts[33].dispose();
  const MemoryStats before = memory();
  EXPECT_THROW(concat(parts), DisposedError);
  EXPECT_EQ(memory().bytes, before.bytes);
  EXPECT_EQ(parts[0].item<float>(), 0);
  parts[33] = full({1}, 33, float32);
  const Tensor all = concat(std::move(parts));
  EXPECT_EQ(all.to_vector<float>()[33], 33);
}

TEST(EmptyInput, IsNamedWithOpAndLine) {
  const Tensor x = ones({2});
  expect_throws<EmptyTensorError>([&] { x + Tensor(); }, {"add at dispose_test.cpp:"});
  expect_throws<EmptyTensorError>([&] { matmul(Tensor(), x); }, {"matmul at dispose_test.cpp:"});
  expect_throws<EmptyTensorError>([&] { concat({x, Tensor()}); }, {"concat at dispose_test.cpp:"});
  expect_throws<EmptyTensorError>([&] { zeros_like(Tensor()); }, {"at dispose_test.cpp:"});
}

// tfjs, engine tests: results of a scope that was left early are gone, inputs are not.
TEST(Tidy, WithOps) {
  const Tensor x = ones({10});
  const MemoryStats before = memory();
  const Tensor y = tidy([&] {
    const Tensor a = x * 2;
    const Tensor b = a + x;
    return b / a;
  });
  EXPECT_EQ(memory().tensors, before.tensors + 1);
  EXPECT_EQ(memory().bytes, before.bytes + 40);
  expect_elements<float>(y, {10}, std::vector<float>(10, 1.5F));
  EXPECT_THROW(tidy([&]() -> Tensor { return (x + 1) + ones({3}); }), ShapeError);
  EXPECT_EQ(memory().tensors, before.tensors + 1);
}

}  // namespace
}  // namespace tenure
