#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tenure/ops/core/record.h"
#include "tenure/tenure.h"
#include "tests/support/expect.h"

// Results and errors name the op that the user called, not those that it is written in.

namespace tenure {
namespace {

using test::expect_elements;
using test::expect_throws;

void expect_made_by(const Tensor& tensor, const std::string& op, HolderKind kind,
                    Site site = Site::current()) {
  const ::testing::ScopedTrace trace(site.file_name(), static_cast<int>(site.line()), "made here");
  EXPECT_EQ(tensor.op(), op);
  bool found = false;
  for (const Holder& holder : holders(tensor)) {
    if (holder.tensor != tensor.id()) continue;
    EXPECT_EQ(holder.kind, kind);
    EXPECT_EQ(holder.op, op);
    found = true;
  }
  EXPECT_TRUE(found);
}

TEST(Names, Einsum) {
  const Tensor a = ones({3, 4});
  const Tensor b = ones({4, 5});
  expect_made_by(einsum("ij,jk->ik", {a, b}), "einsum", HolderKind::user);
  expect_made_by(einsum("ij,jk->ki", {a, b}), "einsum", HolderKind::user);
  expect_made_by(einsum("ij->ji", {a}), "einsum", HolderKind::user);
  expect_made_by(einsum("ij->", {a}), "einsum", HolderKind::user);
  const Tensor gone = ones({4, 5});
  gone.dispose();
  expect_throws<DisposedError>([&] { einsum("ij,jk->ik", {a, gone}); }, {"used by einsum"});
  Tensor moved = ones({4, 5});
  const Tensor c = einsum("ij,jk->ik", {a, std::move(moved)});
  EXPECT_FALSE(moved.defined());  // NOLINT(bugprone-use-after-move)
}

TEST(Names, ShapeOps) {
  const Tensor x = ones({2, 3, 4});
  expect_made_by(flatten(x), "flatten", HolderKind::view);
  expect_made_by(flatten(transpose(x)), "flatten", HolderKind::user);
  expect_made_by(stack({x, x}), "stack", HolderKind::user);
  for (const Tensor& piece : split(x, 2, 2)) expect_made_by(piece, "split", HolderKind::view);
  expect_throws<ShapeError>([&] { stack({x, ones({3})}); }, {"stack: shapes [2, 3, 4] and [3]"});
  expect_throws<IndexError>([&] { stack({x, x}, 4); }, {"stack: axis 4"});
  expect_throws<IndexError>([&] { flatten(x, 3); }, {"flatten: axis 3"});
  for (const char* name : {"stack", "split", "flatten"}) EXPECT_NE(ops::find_op(name), nullptr);
}

TEST(Names, Index) {
  const Tensor x = reshape(arange(24), {2, 3, 4});
  const Tensor some = tensor({1, 0});
  expect_made_by(index(x, {1}), "index", HolderKind::view);
  expect_made_by(index(x, {some}), "index", HolderKind::user);
  expect_made_by(index(x, {x > 3}), "index", HolderKind::user);
  expect_made_by(index(x, {some, some}), "index", HolderKind::user);
  expect_made_by(index(x, {All, some, some}), "index", HolderKind::user);
  const Tensor far = tensor({9});
  expect_throws<IndexError>([&] { index(x, {far}); }, {"index: index 9"});
  expect_throws<IndexError>([&] { index(x, {far, some}); }, {"index: index 9"});
  expect_throws<ValueError>([&] { index(x, {Slice{.step = 0}}); }, {"index: the step"});
  expect_throws<DTypeError>([&] { index(x, {tensor({1.5})}); }, {"index: indices are"});
  expect_throws<IndexError>([&] { take(x, far); }, {"take: index 9"});
  expect_throws<IndexError>([&] { index(x, {~std::uint64_t{0}}); }, {"index: index"});
}

TEST(Names, IndexUpdate) {
  const Tensor x = zeros({3, 4}, uint8);
  expect_made_by(index_update(x, {1}, 2), "index_update", HolderKind::user);
  expect_made_by(index_update(x, {x == 0}, 2), "index_update", HolderKind::user);
  expect_made_by(index_add(x, {tensor({1, 1})}, 2), "index_add", HolderKind::user);
  expect_throws<IndexError>([&] { index_update(x, {tensor({9})}, 0); }, {"index_update: index 9"});
  expect_throws<IndexError>([&] { index_add(x, {tensor({9})}, 0); }, {"index_add: index 9"});
  expect_throws<ValueError>([&] { index_update(x, {1}, 300); }, {"index_update: the number 300"});
  expect_throws<ValueError>([&] { index_update(x, {Slice{.step = 0}}, 1); },
                            {"index_update: the step"});
  expect_throws<ShapeError>(
      [&] {
        index_update(x, {NewAxis, 1}, ones({3}, uint8));
      },
      {"index_update: "});
  const Tensor after = ones({2});
  EXPECT_EQ(flatten(after).op(), "flatten") << "an error leaves no name behind";
}

/// Also what goes wrong before the op itself is called.
TEST(Names, Scatter) {
  const Tensor x = zeros({3, 4}, uint8);
  const Tensor at = tensor({{0, 1, 2, 0}});
  const std::string here = "\n  at names_test.cpp:";
  expect_throws<DTypeError>(
      [&] {
        scatter(x, 0, at, ones({1, 4}));
      },
      {"scatter: cannot put float32 into uint8; use cast()" + here});
  expect_throws<DTypeError>([&] { scatter(x, 0, at, 1.5); },
                            {"scatter: uint8 does not hold", here});
  expect_throws<ValueError>([&] { scatter(x, 0, at, 300); }, {"the number 300", here});
  expect_throws<ValueError>([&] { scatter(1, 0, at, 2); }, {"scatter: a number has no axes", here});
}

}  // namespace
}  // namespace tenure
