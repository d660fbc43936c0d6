#include "tenure/tensor/tree.h"

#include <gtest/gtest.h>

#include <any>
#include <array>
#include <complex>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <stack>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tenure/memory/ledger.h"
#include "tenure/tensor/introspect.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

namespace tenure {
namespace user {

/// A type with secrets joins by a visitor in its own namespace.
class Secretive {
 public:
  explicit Secretive(Tensor tensor) : tensor_(std::move(tensor)) {}
  const Tensor& get() const { return tensor_; }
  template <class F>
  friend void visit_tree(Secretive& s, const F& f) {
    f(s.tensor_);
  }
  template <class F>
  friend void visit_tree(const Secretive& s, const F& f) {
    f(s.tensor_);
  }

 private:
  Tensor tensor_;
};

}  // namespace user

namespace {

using test::room;

struct Pair {
  Tensor a;
  Tensor b;
};
struct Output {
  Tensor logits;
  std::vector<Tensor> states;
  std::map<std::string, Tensor> named;
  Pair pair;
  int step = 0;
  std::string text;
  std::array<Tensor, 2> both;
  double loss = 0;
};

template <class T>
int alive(const T& tree) {
  int n = 0;
  for_each_tensor(tree, [&](const Tensor& t) { n += t.defined() && !t.is_disposed() ? 1 : 0; });
  return n;
}

/// What `make` returns survives tidy(); what else it makes does not.
template <class F>
void expect_survives(int tensors, const F& make) {
  const MemoryStats before = memory();
  {
    auto result = tidy([&] {
      const Tensor temporary = room(1000);
      return make();
    });
    EXPECT_EQ(alive(result), tensors);
    EXPECT_EQ(memory().tensors, before.tensors + tensors);
  }
  EXPECT_EQ(memory().tensors, before.tensors);
}

TEST(Tree, ContainersSurvive) {
  expect_survives(1, [] { return room(1); });
  expect_survives(3, [] { return std::vector<Tensor>{room(1), room(2), room(3)}; });
  expect_survives(2, [] { return std::list<Tensor>{room(1), room(2)}; });
  expect_survives(2, [] { return std::array<Tensor, 2>{room(1), room(2)}; });
  expect_survives(2, [] { return std::pair<Tensor, Tensor>(room(1), room(2)); });
  expect_survives(2, [] { return std::tuple<Tensor, int, Tensor>(room(1), 5, room(2)); });
  expect_survives(1, [] { return std::optional<Tensor>(room(1)); });
  expect_survives(0, [] { return std::optional<Tensor>(); });
  expect_survives(2, [] { return std::map<std::string, Tensor>{{"a", room(1)}, {"b", room(2)}}; });
  expect_survives(1, [] { return std::unordered_map<int, Tensor>{{1, room(1)}}; });
  expect_survives(0, [] { return std::vector<Tensor>(); });
  expect_survives(0, [] { return Tensor(); });
  expect_survives(0, [] { return 5; });
  expect_survives(0, [] { return std::string("text"); });
  expect_survives(0, [] { return std::vector<float>{1, 2}; });
}

TEST(Tree, NestedContainersSurvive) {
  using Inner = std::vector<std::optional<Tensor>>;
  expect_survives(3, [] {
    return std::map<int, Inner>{{1, {room(1), std::nullopt}}, {2, {room(2), room(3)}}};
  });
  expect_survives(2, [] {
    return std::tuple<std::vector<Pair>, std::string>({{room(1), room(2)}}, "x");
  });
}

TEST(Tree, StructsSurvive) {
  expect_survives(2, [] { return Pair{room(1), room(2)}; });
  expect_survives(9, [] {
    return Output{.logits = room(1),
                  .states = {room(2), room(3)},
                  .named = {{"x", room(4)}, {"y", room(5)}},
                  .pair = {room(6), room(7)},
                  .step = 3,
                  .text = "text",
                  .both = {room(8), room(9)},
                  .loss = 0.5};
  });
}

TEST(Tree, StructsOfOtherThingsSurvive) {
  struct Mixed {
    std::optional<Tensor> maybe;
    std::unique_ptr<int> pointer;
    void (*function)() = nullptr;
    Tensor tensor;
  };
  struct Lonely {
    std::optional<Tensor> maybe;
  };
  expect_survives(2, [] {
    return Mixed{.maybe = room(1), .pointer = nullptr, .function = nullptr, .tensor = room(2)};
  });
  expect_survives(1, [] { return Lonely{room(1)}; });
}

TEST(Tree, TypesWithAVisitorSurvive) {
  const user::Secretive result = tidy([] { return user::Secretive(room(1)); });
  EXPECT_FALSE(result.get().is_disposed());
  const std::vector<user::Secretive> many =
      tidy([] { return std::vector<user::Secretive>{user::Secretive(room(1))}; });
  EXPECT_FALSE(many[0].get().is_disposed());
}

TEST(Tree, OneTensorTwiceInAResult) {
  expect_survives(2, [] {
    const Tensor tensor = room(1);
    const Tensor other = room(1);
    return std::vector<Tensor>{tensor, other};
  });
  const Pair twice = tidy([] {
    const Tensor tensor = room(1);
    return Pair{tensor, tensor};
  });
  EXPECT_FALSE(twice.a.is_disposed());
  EXPECT_EQ(twice.a.id(), twice.b.id());
}

TEST(Tree, ResultsOfReferenceTypeAreCopiedOut) {
  const Tensor outer = room(1);
  const Tensor same = tidy([&]() -> const Tensor& { return outer; });
  EXPECT_EQ(same.id(), outer.id());
  EXPECT_FALSE(same.is_disposed());
}

TEST(Tree, MemberCounts) {
  struct None {};
  struct One {
    int a;
  };
  struct Eight {
    Tensor a, b, c, d, e, f, g, h;
  };
  EXPECT_EQ(tree::member_count<None>(), 0u);
  EXPECT_EQ(tree::member_count<One>(), 1u);
  EXPECT_EQ(tree::member_count<Pair>(), 2u);
  EXPECT_EQ(tree::member_count<Eight>(), 8u);
  EXPECT_EQ(tree::member_count<Output>(), 8u);
  expect_survives(8, [] {
    return Eight{room(1), room(1), room(1), room(1), room(1), room(1), room(1), room(1)};
  });
}

struct Chain {
  Tensor tensor;
  std::unique_ptr<Chain> rest;
};

TEST(Tidy, FindsTensorsBehindOwners) {
  const auto unique = tidy([] { return std::make_unique<Tensor>(test::counting({2})); });
  EXPECT_FALSE(unique->is_disposed());
  const auto shared = tidy([] { return std::make_shared<const Tensor>(test::counting({2})); });
  EXPECT_FALSE(shared->is_disposed());
  const Chain chain = tidy([] {
    return Chain{test::counting({1}), std::make_unique<Chain>(Chain{test::counting({2}), nullptr})};
  });
  EXPECT_FALSE(chain.tensor.is_disposed());
  EXPECT_FALSE(chain.rest->tensor.is_disposed());
  EXPECT_EQ(tidy([] { return std::unique_ptr<Tensor>(); }), nullptr);
}

TEST(Tidy, FindsTensorsInVariantsAndArrays) {
  using Result = std::variant<int, std::vector<Tensor>, Tensor>;
  const Result tensor = tidy([]() -> Result { return test::counting({2}); });
  EXPECT_FALSE(std::get<Tensor>(tensor).is_disposed());
  const Result list = tidy([]() -> Result { return std::vector{test::counting({2})}; });
  EXPECT_FALSE(std::get<1>(list)[0].is_disposed());
  EXPECT_EQ(std::get<int>(tidy([]() -> Result { return 3; })), 3);
  int found = 0;
  Tensor pair[2] = {test::counting({1}), test::counting({2})};
  for_each_tensor(pair, [&](const Tensor&) { ++found; });
  EXPECT_EQ(found, 2);
}

struct Base {
  Tensor tensor;
};
struct Derived : Base {
  int number;
};
struct WithArray {
  int number;
  Tensor tensors[2];
  int last;
};
struct NoDefault {
  explicit NoDefault(int) {}
};
struct Plain {
  Tensor tensor;
  NoDefault number;
  std::array<Tensor, 2> pair;
  std::vector<Tensor> list;
};
struct Nine {
  int a, b, c, d, e, f, g, h, i;
};

TEST(Tree, KnowsWhichStructsItCannotTakeApart) {
  static_assert(tree::has_base<Derived>() && !tree::has_base<Plain>());
  static_assert(tree::has_array_member<WithArray, 4>(std::make_index_sequence<4>{}));
  static_assert(tree::member_count<Plain>() == 4);
  static_assert(!tree::has_array_member<Plain, 4>(std::make_index_sequence<4>{}));
  static_assert(tree::takes<Nine>(std::make_index_sequence<9>{}));
  static_assert(!tree::takes<Plain>(std::make_index_sequence<9>{}));
}

/// Some of each kind of tree, with one tensor at least.
struct Large {
  int a = 0;
  double b = 0;
  std::string c;
  std::vector<bool> d;
  Tensor e;
  Tensor f;
  Tensor g;
  Tensor h;
  Tensor i;
  Tensor j;
  Tensor k;
  Tensor last;
};

struct WithReference {
  Tensor& tensor;
  int number;
};
struct WithPointer {
  Tensor* tensor;
};

TEST(Tree, RefusesWhatOnlyPointsToTensors) {
  using Tensors = std::vector<Tensor>;
  EXPECT_TRUE(tree::is_opaque<Tensor*>());
  EXPECT_TRUE(tree::is_opaque<const Tensor*>());
  EXPECT_TRUE(tree::is_opaque<Tensors*>());
  EXPECT_TRUE(tree::is_opaque<Tensors::iterator>());
  EXPECT_TRUE(tree::is_opaque<std::list<Tensor>::const_iterator>());
  EXPECT_FALSE(tree::is_opaque<const char*>());
  EXPECT_FALSE(tree::is_opaque<void*>());
  EXPECT_FALSE(tree::is_opaque<const std::string*>());
  EXPECT_FALSE(tree::is_countable<WithReference>());  // it would count as one without members
  EXPECT_TRUE(tree::is_countable<WithPointer>());
}

TEST(Tree, StructsOfManyMembersKeepAllOfThem) {
  const Large kept = tidy([] {
    const Tensor gone = room(1);
    Large large;
    large.d = {true, false};
    large.e = room(2);
    large.last = room(3);
    return large;
  });
  EXPECT_FALSE(kept.e.is_disposed());
  EXPECT_FALSE(kept.last.is_disposed());
}

TEST(Tree, QueuesAndStacksKeepTheirs) {
  const auto filled = [](auto adaptor) {
    for (int i = 0; i < 3; ++i) adaptor.push(room(8));
    return adaptor;
  };
  auto queue = tidy([&] { return filled(std::queue<Tensor>()); });
  auto stack = tidy([&] { return filled(std::stack<Tensor, std::vector<Tensor>>()); });
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(queue.front().is_disposed());
    queue.pop();
    EXPECT_FALSE(stack.top().is_disposed());
    stack.pop();
  }
}

TEST(Tree, WhatAReferenceRefersToIsKept) {
  std::vector<Tensor> outside;
  const std::reference_wrapper<std::vector<Tensor>> same = tidy([&] {
    outside.push_back(room(4));
    return std::ref(outside);
  });
  EXPECT_FALSE(same.get()[0].is_disposed());
}

TEST(Tree, ResultsWithoutTensorsAreFine) {
  EXPECT_EQ(tidy([] { return std::vector<bool>{true, false}; }).size(), 2u);
  EXPECT_GT(tidy([] {
              const Tensor x = room(4);
              return memory();
            }).tensors,
            0);
  EXPECT_FALSE(tidy([] {
                 const Tensor x = room(4);
                 return live_tensors();
               }).empty());
  EXPECT_EQ(tidy([] { return std::filesystem::path("a/b"); }), std::filesystem::path("a/b"));
  EXPECT_EQ(tidy([] { return std::vector<std::string>{"a"}; })[0], "a");
}

/// Nobody sees into these: the compiler refuses them, with advice.
static_assert(tree::is_opaque<std::any>());
static_assert(tree::is_opaque<std::function<Tensor()>>());
static_assert(tree::is_opaque<std::shared_ptr<void>>());
static_assert(tree::is_opaque<std::weak_ptr<Tensor>>());
static_assert(tree::is_opaque<user::Secretive>(), "had it no visitor");
static_assert(!tree::is_opaque<std::string>());
static_assert(!tree::is_opaque<std::vector<bool>>());
static_assert(!tree::is_opaque<std::filesystem::path>());
static_assert(!tree::is_opaque<std::complex<double>>());

}  // namespace
}  // namespace tenure
