#include "tenure/memory/scope.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tenure/memory/ledger.h"
#include "tenure/tensor/introspect.h"
#include "tenure/tensor/tree.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

// How scopes end: in any order, on any thread, and with code of the user in between.

namespace tenure {
namespace {

using test::on_thread;
using test::on_threads;
using test::room;
using test::share;

TEST(Scope, EndsByException) {
  const MemoryStats before = memory();
  std::vector<Tensor> seen;
  EXPECT_THROW(tidy([&]() -> Tensor {
                 seen.push_back(room(100));
                 seen.push_back(keep(room(50)));
                 tidy([&] { seen.push_back(room(10)); });
                 throw std::runtime_error("stop");
               }),
               std::runtime_error);
  EXPECT_TRUE(seen[0].is_disposed());
  EXPECT_FALSE(seen[1].is_disposed());
  EXPECT_TRUE(seen[2].is_disposed());
  EXPECT_EQ(memory().bytes, before.bytes + 50);
  const Tensor after = room(1);
  tidy([] {});
  EXPECT_FALSE(after.is_disposed()) << "the scope did not end";
}

// A deleter of foreign memory is code of the user's that runs in the middle of a scope's end.
TEST(Scope, ADeleterMayMakeAndEndTensors) {
  std::vector<float> memory_of_user(4);
  int deleted = 0;
  {
    const Scope outer;
    const Tensor survivor = room(8);
    Tensor foreign;
    {
      const Scope scope;
      foreign = test::borrow(memory_of_user, [&](void*) {
        ++deleted;
        tidy([] { return share(room(100)); });
        const Scope inner;
        const Tensor another = room(5);
      });
      const Tensor neighbour = room(1);
    }
    EXPECT_EQ(deleted, 1);
    EXPECT_FALSE(survivor.is_disposed());
  }
}

TEST(Scope, ADeleterMayHaveTheLastHandle) {
  std::vector<float> memory_of_user(4);
  const MemoryStats before = memory();
  {
    const Scope scope;
    const auto self = std::make_shared<Tensor>();
    *self = test::borrow(memory_of_user, [self](void*) {
      *self = Tensor();
      for (int i = 0; i < 10; ++i) const Tensor reuses_the_record = room(1);
    });
  }
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().foreign_bytes, before.foreign_bytes);
}

// Assignment makes the new one before it ends the old one.
TEST(Scope, MayBeReplacedInALoop) {
  std::vector<Tensor> seen;
  const Tensor before = room(1);
  std::unique_ptr<Scope> scope;
  for (int i = 0; i < test::rounds(10'000); ++i) {
    scope = std::make_unique<Scope>("request " + std::to_string(i));
    if (!seen.empty()) {
      EXPECT_TRUE(seen.back().is_disposed());
    }
    seen.push_back(room(8));
    EXPECT_EQ(seen.back().scope(), "request " + std::to_string(i));
    EXPECT_FALSE(seen.back().is_disposed());
  }
  scope.reset();
  EXPECT_TRUE(seen.back().is_disposed());
  const Tensor after = room(1);
  tidy([] {});
  EXPECT_FALSE(before.is_disposed());
  EXPECT_FALSE(after.is_disposed());
}

TEST(Scope, EndsInAnyOrder) {
  test::Random random(9);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::unique_ptr<Scope>> scopes;
    std::vector<Tensor> tensors;
    for (int i = 0; i < 6; ++i) {
      scopes.push_back(std::make_unique<Scope>());
      tensors.push_back(room(8));
    }
    while (!scopes.empty()) {
      const std::int64_t out = random.below(static_cast<std::int64_t>(scopes.size()));
      scopes.erase(scopes.begin() + out);
      EXPECT_TRUE(tensors[static_cast<std::size_t>(out)].is_disposed());
      tensors.erase(tensors.begin() + out);
      for (const Tensor& tensor : tensors) EXPECT_FALSE(tensor.is_disposed());
      const Tensor temporary = tidy([] { return room(4); });
    }
    const Tensor free = room(1);
    tidy([] {});
    EXPECT_FALSE(free.is_disposed());
  }
}

TEST(Scope, WhatEscapesGoesToTheNextThatHasNotEnded) {
  auto outer = std::make_unique<Scope>();
  auto middle = std::make_unique<Scope>();
  auto inner = std::make_unique<Scope>();
  const Tensor tensor = room(1);
  middle.reset();
  inner->escape(tensor.body("escape()"));
  inner.reset();
  EXPECT_FALSE(tensor.is_disposed());
  outer.reset();
  EXPECT_TRUE(tensor.is_disposed());
}

TEST(Scope, EndsOnAnotherThread) {
  Tensor inside;
  Tensor late;
  Tensor kept;
  const Scope outer;
  auto scope = std::make_unique<Scope>("moved");
  inside = room(8);
  kept = keep(room(8));
  on_thread([&] { scope.reset(); });
  late = room(8);
  tidy([] {});  // here its thread sees it
  EXPECT_TRUE(inside.is_disposed());
  EXPECT_FALSE(kept.is_disposed());
  EXPECT_FALSE(late.is_disposed()) << "it was made after the scope's end";
  { const NameScope name("next"); }
  EXPECT_EQ(room(1).scope(), "");
}

TEST(Scope, WhatWasMadeLateGoesToTheEnclosingOne) {
  Tensor late;
  {
    const Scope outer;
    auto scope = std::make_unique<Scope>();
    on_thread([&] { scope.reset(); });
    late = room(8);
    tidy([] {});
    EXPECT_FALSE(late.is_disposed());
  }
  EXPECT_TRUE(late.is_disposed());
}

TEST(Scope, EndsWithItsThread) {
  std::unique_ptr<Scope> scope;
  std::unique_ptr<NameScope> name;
  std::unique_ptr<CategoryScope> category;
  Tensor inside;
  on_thread([&] {
    scope = std::make_unique<Scope>();
    name = std::make_unique<NameScope>("name");
    category = std::make_unique<CategoryScope>(Category::cache);
    inside = room(8);
  });
  EXPECT_TRUE(inside.is_disposed());
  on_thread([&] {
    const std::int64_t cache = memory()[Category::cache].bytes;
    const Tensor next = room(8);
    EXPECT_EQ(next.scope(), "");
    EXPECT_EQ(memory()[Category::cache].bytes, cache) << "a later thread inherited it";
    scope.reset();
    EXPECT_FALSE(next.is_disposed());
  });
}

TEST(Scope, ThreadsEndEachOthers) {
  std::atomic<Scope*> scopes[4] = {};
  std::atomic<NameScope*> names[4] = {};
  std::atomic<CategoryScope*> categories[4] = {};
  const MemoryStats before = memory();
  on_threads(4, [&](int self) {
    std::vector<Tensor> some;
    for (int i = 0; i < test::rounds(5000); ++i) {
      const int slot = (self + i) % 4;
      delete scopes[slot].exchange(new Scope("scope"));
      delete names[slot].exchange(new NameScope("name"));
      delete categories[slot].exchange(new CategoryScope(Category::cache));
      some.push_back(room(100));
      if (some.size() > 10) some.clear();
    }
  });
  for (int i = 0; i < 4; ++i) {
    delete scopes[i].load();
    delete names[i].load();
    delete categories[i].load();
  }
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().bytes, before.bytes);
}

TEST(NameScope, EndsInAnyOrder) {
  auto a = std::make_unique<NameScope>("a");
  auto b = std::make_unique<NameScope>("b");
  auto c = std::make_unique<NameScope>("c");
  const Tensor tensor = room(1);
  EXPECT_EQ(tensor.scope(), "a/b/c");
  b.reset();
  EXPECT_EQ(room(1).scope(), "a/c");
  a.reset();
  EXPECT_EQ(room(1).scope(), "c");
  c.reset();
  EXPECT_EQ(room(1).scope(), "");
  EXPECT_EQ(tensor.scope(), "a/b/c") << "it was made there";
}

TEST(NameScope, EndsOnAnotherThread) {
  auto a = std::make_unique<NameScope>("a");
  auto b = std::make_unique<NameScope>("b");
  on_thread([&] {
    a.reset();
    EXPECT_EQ(room(1).scope(), "");
  });
  const NameScope c("c");
  EXPECT_EQ(room(1).scope(), "b/c");
}

TEST(CategoryScope, EndsInAnyOrder) {
  const auto category = [] {
    const Tensor tensor = room(1);
    return live_tensors().back().category;
  };
  auto cache = std::make_unique<CategoryScope>(Category::cache);
  auto gradient = std::make_unique<CategoryScope>(Category::gradient);
  cache.reset();
  EXPECT_EQ(category(), Category::gradient);
  gradient.reset();
  EXPECT_EQ(category(), Category::activation);
  gradient = std::make_unique<CategoryScope>(Category::gradient);
  on_thread([&] { gradient.reset(); });
  { const CategoryScope next(Category::cache); }
  EXPECT_EQ(category(), Category::activation);
}

TEST(Scope, AThrowingDeleterIsSurvived) {
  std::vector<float> memory_of_user(4);
  const MemoryStats before = memory();
  {
    const Tensor foreign = test::borrow(
        memory_of_user, [](void*) { throw std::runtime_error("no deleter should do that"); });
  }
  EXPECT_EQ(memory().foreign_bytes, before.foreign_bytes);
  EXPECT_EQ(memory().tensors, before.tensors);
}

}  // namespace
}  // namespace tenure
