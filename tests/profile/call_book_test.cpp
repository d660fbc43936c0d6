#include "tenure/profile/call_book.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "tenure/tenure.h"
#include "tests/profile/scratch.h"

// What errors say of calls while call stacks are on. What is called here is outside of the
// library's namespace, as a program is.

namespace owner {

using tenure::Tensor;

[[gnu::noinline]] Tensor make(std::int64_t n) {
  Tensor x = tenure::ones({n});
  return x;
}
[[gnu::noinline]] Tensor acquire() {
  Tensor x = make(100);
  return x;
}
[[gnu::noinline]] int let_go(const Tensor& x) {
  x.dispose();
  return x.dim(0) > 0 ? 1 : 0;
}
[[gnu::noinline]] Tensor increase(const Tensor& x) {
  Tensor y = x + 1;
  return y;
}
[[gnu::noinline]] int fill(std::vector<Tensor>& list) {
  while (list.size() < 100) list.push_back(make(64));
  return static_cast<int>(list.size());
}

[[gnu::noinline]] Tensor begin_input(tenure::Graph& graph) {
  Tensor x = graph.placeholder("x", tenure::DType::float32, {2});
  return x;
}
[[gnu::noinline]] int look_at(const Tensor& x) {
  const int n = static_cast<int>(x.to_vector<float>().size());
  return n + 1;
}
[[gnu::noinline]] int shut(tenure::Session& session) {
  session.close();
  return session.is_closed() ? 1 : 0;
}
[[gnu::noinline]] int go(tenure::Session& session, const Tensor& what) {
  const auto n = static_cast<int>(session.run({what}, {{"x", tenure::ones({2})}}).size());
  return n + 1;
}

}  // namespace owner

namespace tenure {
namespace {

/// Call stacks, on while it lives.
class Stacks {
 public:
  Stacks() : profile_(file_.path(), {.stacks = true}) {}

 private:
  test::ScratchFile file_;
  Profile profile_;
};

template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// Whether `text` has these, in this order.
testing::AssertionResult has_in_order(const std::string& text,
                                      std::initializer_list<const char*> parts) {
  std::size_t from = 0;
  for (const char* const part : parts) {
    from = text.find(part, from);
    if (from == text.npos) return testing::AssertionFailure() << part << " is not in\n" << text;
  }
  return testing::AssertionSuccess();
}

TEST(CallBook, ADisposedErrorSaysWhoMadeDisposedAndUsedIt) {
  const Stacks stacks;
  const Tensor x = owner::acquire();
  owner::let_go(x);
  EXPECT_TRUE(has_in_order(
      error_of([&] { owner::increase(x); }),
      {"calls that created it\n    owner::make at call_book_test.cpp:", "owner::acquire at call_",
       "calls that disposed it\n    owner::let_go at call_book_test.cpp:",
       "calls that used it\n    owner::increase at call_book_test.cpp:"}));
}

TEST(CallBook, ScopesThatDisposeAreNamed) {
  const Stacks stacks;
  Tensor x;
  {
    const Scope scope;
    x = owner::acquire();
  }
  EXPECT_TRUE(has_in_order(error_of([&] { owner::increase(x); }),
                           {"calls that created it", "owner::make at", "calls that disposed it",
                            "calls that used it", "owner::increase at"}));
}

TEST(CallBook, OutOfMemorySaysWhoAskedAndWhoHolds) {
  const Stacks stacks;
  std::vector<Tensor> list;
  const std::string text = error_of([&] {
    const Budget budget("request", 4 * KiB);
    owner::fill(list);
  });
  EXPECT_TRUE(has_in_order(text, {"calls that led to most of ones at call_book_test.cpp:",
                                  "owner::make at", "owner::fill at", "in ones at",
                                  "calls that led here", "owner::make at", "owner::fill at"}));
}

TEST(CallBook, AWrongCallSaysWhoMadeIt) {
  const Stacks stacks;
  const std::string text = error_of([] { owner::make(-1); });
  EXPECT_TRUE(has_in_order(text, {"calls that led here\n    owner::make at call_book_test.cpp:"}));
}

TEST(CallBook, AnEmptyHandleSaysWhoUsedIt) {
  const Stacks stacks;
  EXPECT_TRUE(has_in_order(error_of([] { owner::increase(Tensor()); }),
                           {"got an empty handle", "calls that used it\n    owner::increase at "}));
}

TEST(CallBook, ASymbolErrorSaysWhoMadeAndUsedIt) {
  const Stacks stacks;
  Graph other("other");
  std::optional<Graph> graph("model");
  const Tensor x = owner::begin_input(*graph);
  const Tensor y = owner::begin_input(other) + 1;
  EXPECT_TRUE(has_in_order(error_of([&] { owner::look_at(x); }),
                           {"has no data outside a run", "calls that used it", "owner::look_at at",
                            "calls that created it", "owner::begin_input at"}));
  EXPECT_TRUE(has_in_order(error_of([&] {
                             Session session(other);
                             owner::go(session, x);
                           }),
                           {"is no symbol of", "calls that used it", "owner::go at",
                            "calls that created it", "owner::begin_input at"}));
  EXPECT_TRUE(
      has_in_order(error_of([&] {
                     Session session(other);
                     session.run({y}, {{"x", x}});
                   }),
                   {"has no data to be fed", "calls that created it", "owner::begin_input"}));
  graph.reset();
  EXPECT_TRUE(has_in_order(error_of([&] { owner::increase(x); }),
                           {"after its graph has gone", "calls that used it", "owner::increase at",
                            "calls that created it", "owner::begin_input at"}));
}

TEST(CallBook, AClosedErrorSaysWhoClosedAndUsedIt) {
  std::optional<Stacks> stacks(std::in_place);
  Graph graph("model");
  const Tensor y = owner::begin_input(graph) + 1;
  Session session(graph);
  owner::shut(session);
  EXPECT_TRUE(has_in_order(error_of([&] { owner::go(session, y); }),
                           {"is closed", "calls that used it", "owner::go at",
                            "calls that closed it", "owner::shut at"}));
  // What was forgotten is not taken for other calls that came since.
  stacks.reset();
  stacks.emplace();
  std::vector<Tensor> list;
  owner::fill(list);
  const std::string text = error_of([&] { owner::go(session, y); });
  EXPECT_TRUE(has_in_order(text, {"is closed", "calls that used it", "owner::go at"}));
  EXPECT_EQ(text.find("calls that closed it"), std::string::npos) << text;
}

TEST(CallBook, AGraphErrorSaysWhoAskedForIt) {
  const Stacks stacks;
  Graph graph("model");
  owner::begin_input(graph);
  const std::string text = error_of([&] { owner::begin_input(graph); });
  EXPECT_TRUE(has_in_order(text, {"already has a placeholder \"x\"",
                                  "calls that led here\n    owner::begin_input at "}));
  EXPECT_EQ(text.find("calls that", text.find("calls that") + 1), std::string::npos) << "once";
}

TEST(CallBook, AGuardNamesTheCallerThatLeaksThroughAHelper) {
  const Stacks stacks;
  LeakGuard guard("train");
  std::vector<Tensor> steady;
  for (int i = 0; i < 500; ++i) steady.push_back(owner::make(1000));
  std::vector<Tensor> leak;
  const std::string text = error_of([&] {
    for (int i = 0; i < 100; ++i) {
      leak.push_back(owner::acquire());
      guard.mark();
    }
  });
  EXPECT_TRUE(has_in_order(
      text, {"train grows 400 B a step at call_book_test.cpp:", ", called by owner::acquire at ",
             "calls that led to most of what grows\n    owner::make at", "owner::acquire at"}));
}

TEST(CallBook, SaysNothingWhereNobodyAsked) {
  const Tensor x = owner::acquire();
  owner::let_go(x);
  EXPECT_EQ(error_of([&] { owner::increase(x); }).find("calls"), std::string::npos);
  {
    const test::ScratchFile file;
    const Profile without(file.path());
    EXPECT_EQ(mem::callers(), nullptr);
  }
  {
    const Stacks stacks;
    EXPECT_NE(mem::callers(), nullptr);
  }
  EXPECT_EQ(mem::callers(), nullptr);
  EXPECT_EQ(error_of([&] { owner::increase(x); }).find("calls"), std::string::npos);
}

TEST(CallBook, ForgetsTensorsThatAreGone) {
  const Stacks stacks;
  std::optional<Tensor> x = owner::acquire();
  const std::uint64_t id = x->id();
  const mem::Callers& callers = *mem::callers();
  EXPECT_NE(callers.of(id).created, 0u);
  EXPECT_EQ(callers.of(id).disposed, 0u);
  x->dispose();
  EXPECT_NE(callers.of(id).disposed, 0u);
  x.reset();
  EXPECT_EQ(callers.of(id).created, 0u);
}

TEST(CallBook, EqualCallsHaveOneNumber) {
  const Stacks stacks;
  const mem::Callers& callers = *mem::callers();
  std::vector<Tensor> list;
  for (int i = 0; i < 10; ++i) list.push_back(owner::make(4));
  for (const Tensor& x : list) {
    EXPECT_EQ(callers.of(x.id()).created, callers.of(list[0].id()).created);
  }
  const Tensor other = owner::make(4);
  EXPECT_NE(callers.of(other.id()).created, callers.of(list[0].id()).created);
}

TEST(CallBook, ThreadsMakeAndDisposeAtOnce) {
  const Stacks stacks;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) {
        const Tensor x = owner::acquire();
        owner::let_go(x);
        EXPECT_NE(mem::callers()->of(x.id()).disposed, 0u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tenure
