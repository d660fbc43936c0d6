#include "tenure/memory/scope.h"

#include <gtest/gtest.h>

#include <vector>

#include "tenure/memory/ledger.h"
#include "tenure/tensor/tree.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

using test::on_thread;
using test::room;
using test::share;

TEST(Scope, DisposesWhatWasMadeInside) {
  const Tensor before = room(1);
  Tensor inside;
  Tensor after;
  const MemoryStats start = memory();
  {
    const Scope scope;
    inside = room(100);
    EXPECT_FALSE(inside.is_disposed());
  }
  after = room(1);
  EXPECT_TRUE(inside.is_disposed());
  EXPECT_FALSE(before.is_disposed());
  EXPECT_FALSE(after.is_disposed());
  EXPECT_EQ(memory().tensors, start.tensors + 1);
  test::expect_throws<DisposedError>([&] { inside.to_vector<float>(); },
                                     {"the end of its scope", "scope_test.cpp"});
}

TEST(Scope, Nests) {
  Tensor a;
  Tensor b;
  Tensor c;
  {
    const Scope outer;
    a = room(1);
    {
      const Scope inner;
      b = room(1);
    }
    EXPECT_TRUE(b.is_disposed());
    EXPECT_FALSE(a.is_disposed());
    c = room(1);
    EXPECT_FALSE(c.is_disposed());
  }
  EXPECT_TRUE(a.is_disposed());
  EXPECT_TRUE(c.is_disposed());
}

TEST(Scope, ViewsOfOuterTensorsGoTheTensorsStay) {
  const Tensor base = test::counting({4});
  Tensor view;
  {
    const Scope scope;
    view = share(base);
  }
  EXPECT_TRUE(view.is_disposed());
  EXPECT_EQ(base.to_vector<float>()[3], 3);
}

TEST(Scope, AReturnedViewKeepsTheDataOfADisposedBase) {
  const Tensor view = tidy([] { return share(test::counting({4})); });
  EXPECT_EQ(view.to_vector<float>(), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_TRUE(view.is_sole_holder());
}

TEST(Scope, DisposedInsideIsNoProblem) {
  Tensor tensor;
  {
    const Scope scope;
    tensor = room(1);
    tensor.dispose();
  }
  test::expect_throws<DisposedError>([&] { tensor.item<float>(); }, {"by dispose()"});
}

// tensorflow/tfjs#69: keep() in a nested tidy() holds in the outer one too.
TEST(Scope, KeepHoldsInEveryScope) {
  Tensor kept;
  {
    const Scope outer;
    {
      const Scope inner;
      kept = keep(room(1));
      const Tensor not_kept = room(1);
    }
    EXPECT_FALSE(kept.is_disposed());
    const Tensor returned = tidy([&] { return kept; });
    EXPECT_FALSE(returned.is_disposed());
  }
  EXPECT_FALSE(kept.is_disposed());
  kept.dispose();
  EXPECT_TRUE(kept.is_disposed()) << "keep() is about scopes alone";
}

TEST(Scope, KeepOfADisposedOrEmptyTensor) {
  Tensor tensor = room(1);
  tensor.dispose();
  EXPECT_NO_THROW(keep(tensor));
  EXPECT_THROW(keep(Tensor()), EmptyTensorError);
}

TEST(Scope, WhatReturnsGoesToTheOuterScope) {
  Tensor seen;
  {
    const Scope outer;
    seen = tidy([] { return tidy([] { return room(7); }); });
    EXPECT_FALSE(seen.is_disposed());
  }
  EXPECT_TRUE(seen.is_disposed());
}

TEST(Scope, ReturningAnOuterTensorLeavesItWhereItWas) {
  Tensor outer_tensor;
  {
    const Scope outer;
    outer_tensor = room(1);
    tidy([&] { return outer_tensor; });
    tidy([&] { tidy([&] { return outer_tensor; }); });
    EXPECT_FALSE(outer_tensor.is_disposed());
  }
  EXPECT_TRUE(outer_tensor.is_disposed());
}

TEST(Scope, IsOfItsThread) {
  Tensor elsewhere;
  {
    const Scope scope;
    on_thread([&] { elsewhere = room(1); });
  }
  EXPECT_FALSE(elsewhere.is_disposed());
}

TEST(Scope, ThreadsHaveTheirOwn) {
  Tensor theirs;
  const Scope scope;
  const Tensor mine = room(1);
  on_thread([&] { tidy([&] { theirs = room(1); }); });
  EXPECT_TRUE(theirs.is_disposed());
  EXPECT_FALSE(mine.is_disposed());
}

TEST(Scope, TensorsMayEndOnAnotherThread) {
  const MemoryStats before = memory();
  {
    const Scope scope;
    for (int i = 0; i < 100; ++i) {
      std::vector<Tensor> some;
      for (int j = 0; j < 10; ++j) some.push_back(room(100));
      on_thread([moved = std::move(some)]() mutable { moved.clear(); });
    }
    EXPECT_EQ(memory().bytes, before.bytes);
    EXPECT_EQ(memory().tensors, before.tensors);
  }
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_LE(memory().metadata_bytes, before.metadata_bytes + 2 * 65536)
      << "records that other threads ended were not reused";
}

TEST(Scope, TemporariesOfALongScopeDoNotPileUp) {
  const Scope scope;
  for (int i = 0; i < 1000; ++i) const Tensor warm_up = room(16);
  const MemoryStats before = memory();
  for (int i = 0; i < test::rounds(1'000'000); ++i) const Tensor temporary = room(16);
  EXPECT_EQ(memory().metadata_bytes, before.metadata_bytes);
  EXPECT_EQ(memory().reserved_bytes, before.reserved_bytes);
}

TEST(Scope, DestructionInAnyOrderKeepsTheList) {
  test::Random random(3);
  std::vector<Tensor> live;
  {
    const Scope scope;
    for (int i = 0; i < 2000; ++i) {
      live.push_back(room(8));
      if (random.below(3) != 0) continue;
      std::swap(
          live[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(live.size())))],
          live.back());
      live.pop_back();
    }
  }
  for (const Tensor& tensor : live) EXPECT_TRUE(tensor.is_disposed());
}

}  // namespace
}  // namespace tenure
