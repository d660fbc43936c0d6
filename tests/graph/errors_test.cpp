#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "tenure/tenure.h"

// Wrong use of graphs, sessions and functions: a typed error that names what and where, and nothing
// is lost.

namespace tenure {
namespace {

template <class F>
std::string text_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class GraphErrors : public testing::Test {
 protected:
  void TearDown() override {
    // Whatever went wrong, the session still works.
    EXPECT_EQ(session_.run(y_, {{x_, ones({2})}}).to_vector<float>(), (std::vector<float>{2, 2}));
  }

  Graph graph_{"g"};
  Tensor x_ = graph_.placeholder("x", float32, {2});
  Tensor y_ = x_ + 1;
  Session session_{graph_};
};

TEST_F(GraphErrors, Feeds) {
  const auto run = [&](std::vector<Feed> feeds) {
    return text_of([&] { session_.run(y_, feeds); });
  };
  EXPECT_TRUE(contains(run({}), "placeholder \"x\", made at errors_test.cpp"));
  EXPECT_TRUE(contains(run({{x_, ones({2})}, {"x", ones({2})}}), "\"x\" is fed twice"));
  EXPECT_TRUE(contains(run({{"z", ones({2})}}), "has no placeholder \"z\""));
  EXPECT_TRUE(contains(run({{y_, ones({2})}}), "only placeholders can be fed, not add"));
  EXPECT_TRUE(contains(run({{x_, ones({3})}}), "is float32[3], not float32[2]"));
  EXPECT_THROW(session_.run(y_, {{x_, ones({3})}}), ShapeError);
  EXPECT_THROW(session_.run(y_, {{x_, ones({2}, float64)}}), DTypeError);
  EXPECT_THROW(session_.run(y_, {{x_, Tensor()}}), EmptyTensorError);
  const Tensor gone = ones({2});
  gone.dispose();
  EXPECT_THROW(session_.run(y_, {{x_, gone}}), DisposedError);
  const std::int64_t nodes = graph_.nodes();
  EXPECT_TRUE(contains(run({{x_, x_}}), "placeholder \"x\" of graph \"g\" has no data"));
  EXPECT_THROW(session_.run(y_, {{x_, spec({2})}}), SymbolError);
  EXPECT_EQ(graph_.nodes(), nodes);
}

TEST_F(GraphErrors, Fetches) {
  Graph other("other");
  const Tensor z = other.placeholder("z", float32, {2});
  EXPECT_THROW(session_.run(z), SymbolError);
  EXPECT_THROW(session_.run(ones({2})), GraphError);
  EXPECT_THROW(session_.run(Tensor()), EmptyTensorError);
  EXPECT_THROW(static_cast<void>(x_ + z), SymbolError);
}

TEST_F(GraphErrors, Symbols) {
  EXPECT_THROW(y_.item<float>(), Error);
  EXPECT_THROW(y_.to_vector<float>(), SymbolError);
  EXPECT_THROW(static_cast<void>(y_.span<float>()), Error);
  EXPECT_FALSE(y_.is_disposed());
  y_.dispose();  // it has nothing to give up
  Tensor lost;
  {
    Graph short_lived("short");
    lost = short_lived.placeholder("p", float32, {2});
  }
  const std::string text = text_of([&] { static_cast<void>(lost * 2); });
  EXPECT_TRUE(contains(text, "placeholder \"p\" of graph \"short\" is used after its graph"));
  EXPECT_TRUE(contains(text, "created at errors_test.cpp"));
}

TEST_F(GraphErrors, Shapes) {
  const Tensor u = graph_.placeholder("u", float32, {kUnknown, 3});
  EXPECT_THROW(static_cast<void>(matmul(u, ones({4, 2}))), ShapeError);
  EXPECT_THROW(static_cast<void>(x_ + ones({3})), ShapeError);
  EXPECT_THROW(static_cast<void>(nonzero(x_)), GraphError);
  EXPECT_THROW(graph_.placeholder("x", float32, {2}), GraphError);
  EXPECT_THROW(graph_.placeholder("v", float32, {-7}), ShapeError);
  EXPECT_EQ(sum(u, {1}).shape(), (Shape{kUnknown}));
}

TEST_F(GraphErrors, InsideARun) {
  const Tensor i = graph_.placeholder("i", int64, {2});
  const Tensor quotient = floor_divide(tensor({4, 6}), i);
  EXPECT_EQ(session_.run(quotient, {{i, tensor({2, 3})}}).to_vector<int>(),
            (std::vector<int>{2, 2}));
  const std::string text = text_of([&] { session_.run(quotient, {{i, tensor({1, 0})}}); });
  EXPECT_TRUE(contains(text, "floor_divide, made at errors_test.cpp")) << text;
}

TEST_F(GraphErrors, EveryAllocationMayFail) {
  const Tensor big = tanh(matmul(reshape(x_, {2, 1}), reshape(x_, {1, 2})));
  const std::vector<Feed> feeds{{x_, ones({2})}};
  static_cast<void>(session_.run({big, y_}, feeds));
  const MemoryStats before = memory();
  int failures = 0;
  for (int n = 1;; ++n) {
    const FaultInjection fault(n);
    try {
      static_cast<void>(session_.run({big, y_}, feeds));
    } catch (const OutOfMemory&) {
      ++failures;
      continue;
    }
    break;
  }
  EXPECT_GE(failures, 4);
  EXPECT_EQ(memory().bytes, before.bytes);
  EXPECT_EQ(memory().tensors, before.tensors);
}

TEST(Session, ClosesOnce) {
  std::optional<Graph> graph(std::in_place, "g");
  const Tensor x = graph->placeholder("x", float32, {2});
  Session session(*graph);
  graph.reset();  // the session keeps it
  EXPECT_EQ(session.run(x, {{x, ones({2})}}).shape(), Shape{2});
  session.close();
  session.close();
  EXPECT_TRUE(session.is_closed());
  EXPECT_THROW(session.run(x, {{x, ones({2})}}), ClosedError);
  EXPECT_THROW(static_cast<void>(x + 1), SymbolError);
}

TEST(Graph, FinalTakesWhatItHasAndNothingElse) {
  Graph graph("g");
  const Tensor x = graph.placeholder("x", float32, {2});
  const Tensor y = x + 1;
  graph.finalize();
  const std::int64_t nodes = graph.nodes();
  EXPECT_NO_THROW(static_cast<void>(x + 1));
  EXPECT_TRUE(contains(text_of([&] { static_cast<void>(x + 2); }), "is final since errors_test"));
  EXPECT_THROW(graph.placeholder("z", float32, {2}), GraphError);
  EXPECT_EQ(graph.nodes(), nodes);
}

TEST(Graph, ManyNodesInADeepChain) {
  Graph graph("deep");
  const Tensor x = graph.placeholder("x", float32, {2});
  Tensor y = x;
  for (int i = 0; i < 50'000; ++i) y = relu(y) + 1;
  EXPECT_EQ(graph.nodes(), 100'001);
  Session session(graph);
  EXPECT_EQ(session.run(y, {{x, zeros({2})}}).to_vector<float>(),
            (std::vector<float>{50'000, 50'000}));
}

TEST(Function, TracesCannotEscape) {
  Tensor escaped;
  const auto f = function([&](const Tensor& x) { return escaped = x * 2; });
  EXPECT_EQ(f(ones({2})).to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_THROW(static_cast<void>(escaped + 1), SymbolError);
  EXPECT_THROW(escaped.to_vector<float>(), SymbolError);
}

TEST(Function, ACallableThatThrowsLeavesNothing) {
  bool fail = true;
  const auto f = function([&](const Tensor& x) {
    const Tensor y = x + 1;
    if (fail) throw ValueError("no");
    return y;
  });
  const MemoryStats before = memory();
  EXPECT_THROW(f(ones({2})), ValueError);
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(f.traces().size(), 0u);
  fail = false;
  EXPECT_EQ(f(ones({2})).to_vector<float>(), (std::vector<float>{2, 2}));
}

TEST(Function, CannotCallItself) {
  std::function<Tensor(const Tensor&)> self;
  const auto f = function([&](const Tensor& x) { return self(x) + 1; }, {.name = "loop"});
  self = f;
  EXPECT_TRUE(contains(text_of([&] { f(ones({2})); }), "function \"loop\" calls itself"));
}

TEST(Function, CannotCallItselfFromABranch) {
  std::function<Tensor(const Tensor&)> again;
  const auto f = function([&](const Tensor& x) {
    return cond(
        sum(x) > 0, [&] { return again(x); }, [&] { return x; });
  });
  again = [&](const Tensor& x) { return f(x); };
  EXPECT_THROW(static_cast<void>(f(ones({2}))), GraphError);
  again = [](const Tensor& x) { return x * 3; };
  EXPECT_EQ(f(ones({2})).to_vector<float>()[0], 3);
}

TEST(Function, WhatItAssignsToACaptureIsASymbol) {
  Tensor state = ones({2});
  const auto f = function([&](const Tensor& x) { return state = state + x; });
  EXPECT_EQ(f(ones({2})).to_vector<float>()[0], 2);
  EXPECT_THROW(static_cast<void>(state.to_vector<float>()), SymbolError);
  // The next trace would build on the last one's symbol.
  EXPECT_THROW(static_cast<void>(f(ones({1}))), SymbolError);
  EXPECT_EQ(f(ones({2})).to_vector<float>()[0], 2);
}

TEST(Variable, FailedAllocationsLoseNoUpdate) {
  const Variable v(ones({4}), "v");
  const Variable w(ones({4}), "w");
  const auto step = function([&](const Tensor& x) {
    v.assign(v.value() * 2);
    w.assign(v.value() + softmax(x, 0));
    return std::vector<Tensor>{v.value(), sum(w.value())};
  });
  const Tensor x = ones({4});
  static_cast<void>(step(x));
  const auto before = v.value().to_vector<float>();
  const auto other = w.value().to_vector<float>();
  for (int n = 1;; ++n) {
    const MemoryRegion region;
    bool failed = false;
    {
      const FaultInjection fault(n);
      try {
        static_cast<void>(step(x));
      } catch (const OutOfMemory&) {
        failed = true;
      }
    }
    if (!failed) break;
    EXPECT_EQ(v.value().to_vector<float>(), before) << n;
    EXPECT_EQ(w.value().to_vector<float>(), other) << n;
    EXPECT_EQ(region.left_bytes(), 0) << n;
  }
  EXPECT_EQ(v.value().to_vector<float>()[0], before[0] * 2);
}

TEST(Function, DrawsInTheOrderOfItsText) {
  // The sum is computed first, whatever order its parts come in.
  const auto draws = [](const Tensor& x) {
    const Tensor a = uniform({64}) + x;
    const Tensor b = uniform({64}) * 2;
    return std::vector<Tensor>{sum(b), a};
  };
  const auto f = function(draws);
  seed(3);
  const auto expected = draws(zeros({64}));
  seed(3);
  const auto got = f(zeros({64}));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(got[i].to_vector<float>(), expected[i].to_vector<float>());
  }
}

TEST(Function, DisposedCapture) {
  const Tensor w = ones({2});
  const auto f = function([&](const Tensor& x) { return x + w; });
  static_cast<void>(f(ones({2})));
  w.dispose();
  EXPECT_THROW(f(ones({2})), DisposedError);
}

TEST(Function, WarnsWhenItIsTracedTooOften) {
  std::vector<std::string> warnings;
  const auto f = function([](const Tensor& x) { return x + 1; },
                          {.name = "f", .warn_after = 2, .warn = [&](const std::string& text) {
                             warnings.push_back(text);
                           }});
  for (std::int64_t n = 1; n <= 4; ++n) static_cast<void>(f(ones({n})));
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_TRUE(
      contains(warnings[1], "traced 4 times, now because: tensor 0 has shape [4], had [3]"));
}

TEST(Function, WarnsLessOftenTheMoreItIsTraced) {
  std::vector<std::string> warnings;
  const auto f = function([](const Tensor& x) { return x + 1; },
                          {.name = "f", .warn_after = 4, .warn = [&](const std::string& text) {
                             warnings.push_back(text);
                           }});
  for (std::int64_t n = 1; n <= 100; ++n) static_cast<void>(f(ones({n})));
  // Of the first one too many, then of the 8th, 16th, 32nd and 64th.
  ASSERT_EQ(warnings.size(), 5u);
  EXPECT_TRUE(contains(warnings[0], "traced 5 times"));
  EXPECT_TRUE(contains(warnings[1], "traced 8 times"));
  EXPECT_TRUE(contains(warnings[4], "traced 64 times"));
}

TEST(Function, BeginsToCountAnewWhenItIsCleared) {
  std::vector<std::string> warnings;
  auto f = function([](const Tensor& x) { return x + 1; },
                    {.name = "f", .warn_after = 2, .warn = [&](const std::string& text) {
                       warnings.push_back(text);
                     }});
  for (int i = 0; i < 20; ++i) {
    static_cast<void>(f(ones({2})));
    static_cast<void>(f(ones({3})));
    f.clear();
  }
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  for (std::int64_t n = 1; n <= 3; ++n) static_cast<void>(f(ones({n})));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(contains(warnings[0], "traced 3 times"));
}

TEST(Function, AdvisesABatchOnlyWhereItHelps) {
  std::string warning;
  const auto make = [&](std::vector<int> batched) {
    return function([](const Tensor& x) { return x + 1; },
                    {.batched = std::move(batched), .warn_after = 1, .warn = [&](auto& text) {
                       warning = text;
                     }});
  };
  const auto advises = [&](const Shape& first, const Shape& second, std::vector<int> batched) {
    const auto f = make(std::move(batched));
    warning.clear();
    static_cast<void>(f(ones(first)));
    static_cast<void>(f(ones(second)));
    EXPECT_TRUE(contains(warning, "traced 2 times")) << warning;
    return contains(warning, ".batched");
  };
  EXPECT_TRUE(advises({2, 3}, {4, 3}, {}));
  EXPECT_FALSE(advises({2, 3}, {2, 4}, {}));
  EXPECT_FALSE(advises({2, 3}, {4, 4}, {0}));
  EXPECT_FALSE(advises({2, 3}, {2, 3, 1}, {}));
  // The first call under a tape is the first of its kind: there is nothing that it differs from.
  const auto f = make({});
  const Tensor x = ones({4, 3});
  warning.clear();
  static_cast<void>(f(x));
  GradientTape tape;
  tape.watch(x);
  static_cast<void>(f(x));
  EXPECT_TRUE(contains(warning, "called under a gradient tape")) << warning;
  EXPECT_FALSE(contains(warning, ".batched")) << warning;
}

TEST(Function, CacheIsBounded) {
  const auto f =
      function([](const Tensor& x) { return x + 1; }, {.cache_limit = 1, .warn_after = 0});
  for (std::int64_t n = 1; n <= 10; ++n) static_cast<void>(f(ones({n})));
  EXPECT_EQ(f.traces().size(), 1u);
}

TEST(Function, NestsAndDrawsAnew) {
  const auto inner = function([](const Tensor& x) { return x + uniform({4}); });
  const auto outer = function([&](const Tensor& x) { return inner(x) * 2; });
  const auto a = outer(zeros({4})).to_vector<float>();
  const auto b = outer(zeros({4})).to_vector<float>();
  EXPECT_NE(a, b);
  seed(7);
  const auto c = outer(zeros({4})).to_vector<float>();
  seed(7);
  const Tensor drawn = uniform({4}) * 2;
  EXPECT_EQ(c, drawn.to_vector<float>());
}

TEST(Graph, ACallThatFailsAddsNothing) {
  Graph graph("g");
  Graph other("other");
  const Tensor x = graph.placeholder("x", float32, {2, 3});
  const Tensor foreign = other.placeholder("x", float32, {2, 3});
  const Variable v(ones({2}), "v");
  const Tensor mask = x > 0;
  const Tensor flag = sum(x) > 0;
  const Tensor bad = full({4, 5}, 7.0);
  const Tensor fits = full({2, 3}, 8.0);
  Tensor gone = ones({2, 3});
  gone.dispose();
  const std::int64_t nodes = graph.nodes();
  const std::int64_t bytes = graph.bytes();
  EXPECT_THROW(static_cast<void>(matmul(x, bad)), ShapeError);
  EXPECT_THROW(static_cast<void>(x + bad), ShapeError);
  EXPECT_THROW(static_cast<void>(concat({x, bad}, 0)), ShapeError);
  EXPECT_THROW(static_cast<void>(where(mask, fits, foreign)), SymbolError);
  EXPECT_THROW(static_cast<void>(where(mask, fits, gone)), DisposedError);
  EXPECT_THROW(static_cast<void>(graph.assign(v, bad)), ShapeError);
  EXPECT_THROW(cond(
                   flag, [&] { return x + fits; }, [&] { return full({2}, 9.0); }),
               ShapeError);
  EXPECT_EQ(graph.nodes(), nodes);
  EXPECT_EQ(graph.bytes(), bytes);
}

TEST(Session, ManyRunsHoldNothing) {
  Graph graph("g");
  const Tensor x = graph.placeholder("x", float32, {8});
  const Tensor y = softmax(tanh(x) * 2 + 1);
  Session session(graph);
  const auto f = function([](const Tensor& a) { return softmax(tanh(a) * 2 + 1); });
  const Tensor value = ones({8});
  static_cast<void>(session.run(y, {{x, value}}));
  static_cast<void>(f(value));
  const MemoryStats before = memory();
  for (int i = 0; i < 20'000; ++i) {
    static_cast<void>(session.run(y, {{x, value}}));
    static_cast<void>(f(value));
  }
  EXPECT_EQ(memory().bytes, before.bytes);
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().metadata_bytes, before.metadata_bytes);
}

std::string leak_in(const std::function<void(int)>& iteration) {
  LeakGuard guard("loop");
  try {
    for (int i = 0; i < 100; ++i) {
      iteration(i);
      guard.mark();
    }
  } catch (const LeakError& error) {
    return error.what();
  }
  return "none";
}

TEST(Function, OptionsOutOfTheirDomainAreRefusedWhenItIsMade) {
  const auto refused = [](const FunctionOptions& options, const std::string& problem) {
    const std::string text =
        text_of([&] { static_cast<void>(function([](const Tensor& x) { return x; }, options)); });
    EXPECT_TRUE(contains(text, problem) && contains(text, "errors_test.cpp")) << text;
  };
  refused({.batched = {0, -1}}, "batched is -1; it is at least 0");
  refused({.cache_limit = -1}, "cache_limit is -1; it is at least 0");
  refused({.warn_after = -1}, "warn_after is -1; it is at least 0");
  refused({.packed_limit = -1}, "packed_limit is -1; it is at least 0");
  refused({.recompute = -1}, "recompute is -1; it is at least 0");
  refused({.effort = 0}, "effort is 0; it is at least 1");
  const Graph graph;
  const auto session = [&](Session::Options options) {
    return text_of([&] { const Session made(graph, options); });
  };
  EXPECT_TRUE(contains(session({.cache_limit = -1}), "Session: cache_limit is -1"));
  EXPECT_TRUE(contains(session({.packed_limit = -1}), "Session: packed_limit is -1"));
}

TEST(Function, ATraceAfterFailedOnesIsNotTheFirst) {
  std::string warning;
  bool fails = true;
  const auto f = function(
      [&](const Tensor& x) {
        if (fails) throw ValueError("not yet");
        return x + 1;
      },
      {.warn_after = 1, .warn = [&](const std::string& text) { warning = text; }});
  for (int i = 0; i < 2; ++i) EXPECT_THROW(f(ones({2})), ValueError);
  EXPECT_TRUE(contains(warning, "traced 2 times, now because: no call before succeeded"))
      << warning;
  fails = false;
  EXPECT_EQ(f(ones({2})).to_vector<float>(), (std::vector<float>{2, 2}));
  f(ones({3}));
  EXPECT_TRUE(contains(f.explain(), "had [2]")) << f.explain();
}

TEST(LeakGuardOnGraphs, NamesNodesFunctionsAndVariables) {
  Graph graph("g");
  const Tensor x = graph.placeholder("x", float32, {2});
  EXPECT_EQ(leak_in([&](int) { static_cast<void>(x * 2 + 1); }), "none");
  const std::string nodes = leak_in([&](int i) { static_cast<void>(x * i); });
  EXPECT_NE(nodes.find("graph nodes made at errors_test.cpp"), std::string::npos) << nodes;
  const auto make = [] { return function([](const Tensor& t) { return t + 1; }); };
  std::vector<decltype(make())> functions;
  const std::string many = leak_in([&](int) {
    functions.push_back(make());
    static_cast<void>(functions.back()(ones({1})));
  });
  EXPECT_NE(many.find("functions made at errors_test.cpp"), std::string::npos) << many;
  std::vector<Variable> kept;
  const std::string variables = leak_in([&](int) { kept.push_back(Variable(ones({1}), "v")); });
  EXPECT_NE(variables.find("variables made at errors_test.cpp"), std::string::npos) << variables;
}

/// Traces have a bound, that of the function's cache, with all that they hold.
TEST(LeakGuardOnGraphs, TracesOfAFunctionAreNoLeak) {
  const auto f = function([](const Tensor& t) { return t * tensor({2.f}) + exp(ones(t.shape())); },
                          {.warn_after = 0});
  EXPECT_EQ(leak_in([&](int i) { static_cast<void>(f(ones({1 + i}))); }), "none");
  EXPECT_EQ(f.traces().size(), 100u);
}

}  // namespace
}  // namespace tenure
