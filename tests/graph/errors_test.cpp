#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

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

TEST(Function, DisposedCapture) {
  const Tensor w = ones({2});
  const auto f = function([&](const Tensor& x) { return x + w; });
  static_cast<void>(f(ones({2})));
  w.dispose();
  EXPECT_THROW(f(ones({2})), DisposedError);
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

}  // namespace
}  // namespace tenure
