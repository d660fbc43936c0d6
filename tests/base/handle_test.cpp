#include "tenure/base/handle.h"

#include <gtest/gtest.h>

#include "tenure/tenure.h"

// What was moved from is empty: using it is an error that says so, whatever class it is of.

namespace tenure {
namespace {

/// Each use of what was moved from throws.
template <class T, class... Uses>
void expect_empty(T original, const Uses&... uses) {
  const T taken = std::move(original);
  const auto check = [&](const auto& use) {
    static_cast<void>(use(taken));
    EXPECT_THROW(static_cast<void>(use(original)), EmptyHandleError);  // NOLINT
    T again = taken;
    original = again;  // it can be given a new one
    static_cast<void>(use(original));
    const T away = std::move(original);
  };
  (check(uses), ...);
}

TEST(Handle, ErrorsSayWhatWasMovedAway) {
  Variable v(ones({2}), "v");
  const int made = __LINE__ - 1;
  const Variable w = std::move(v);
  try {
    static_cast<void>(v.value());  // NOLINT
    FAIL();
  } catch (const EmptyHandleError& error) {
    const std::string text = error.what();
    const auto line = [](int n) { return "handle_test.cpp:" + std::to_string(n); };
    EXPECT_EQ(text, "the variable made at " + line(made) +
                        " was moved away from here; use the one that it was moved to\n  in value() "
                        "at " +
                        line(made + 4));
  }
}

TEST(Handle, OfEveryPublicClass) {
  expect_empty(
      Variable(ones({2}), "v"), [](const Variable& v) { return v.value(); },
      [](const Variable& v) { return v.name(); }, [](const Variable& v) { return v.shape(); },
      [](const Variable& v) { return v.is_disposed(); },
      [](const Variable& v) {
        v.assign(ones({2}));
        v.assign_add(ones({2}));
        return 0;
      },
      [](const Variable& v) {
        GradientTape tape;
        tape.watch(v);
        return 0;
      },
      [](const Variable& v) {
        Graph graph;
        return graph.assign(v, graph.read(v) + 1);
      },
      [](const Variable& v) {
        return function([&](const Tensor& x) { return x + v.value(); })(ones({2}));
      });
  int placeholders = 0;
  expect_empty(
      Graph("g"), [](const Graph& g) { return g.name(); }, [](const Graph& g) { return g.nodes(); },
      [](const Graph& g) { return g.to_string(); }, [](const Graph& g) { return g.to_dot(); },
      [](const Graph& g) { return g.updates(); },
      [](const Graph& g) {
        Session session(g);
        return 0;
      },
      [&](Graph g) { return g.placeholder(std::to_string(placeholders++), float32, {2}); },
      [](Graph g) { return g.constant(ones({2})); });
  expect_empty(
      function([](const Tensor& x) { return x + 1; }), [](const auto& f) { return f(ones({2})); },
      [](const auto& f) { return f.plan(spec({2})); }, [](const auto& f) { return f.traces(); },
      [](const auto& f) { return f.explain(); });
  expect_empty(
      nn::Dense(2, 3),
      [](const nn::Dense& l) {
        return l(ones({1, 2}));
      },
      [](const nn::Dense& l) { return l.parameters(); },
      [](const nn::Dense& l) { return l.kind(); },
      [](const nn::Dense& l) { return l.is_training(); },
      [](const nn::Dense& l) { return nn::Sequential(l); });
  expect_empty(
      nn::Sequential(nn::Dense(2, 3), nn::Relu()),
      [](const nn::Sequential& l) {
        return l(ones({1, 2}));
      },
      [](const nn::Sequential& l) { return l.parameter_count(); });
  expect_empty(
      data::from_tensors({ones({4, 2})}), [](const data::Dataset& d) { return d.size(); },
      [](const data::Dataset& d) { return d.at(0); },
      [](const data::Dataset& d) { return d.batch(2); },
      [](const data::Dataset& d) { return d.shuffle(1); },
      [](const data::Dataset& d) {
        for (const data::Batch& batch : d) static_cast<void>(batch);
        return 0;
      });
  expect_empty(
      data::from_tensors({ones({4, 2})}).epoch(0), [](const data::Pass& p) { return p.position(); },
      [](data::Pass p) { return p.next(); });
  const nn::Sequential empty;
  EXPECT_THROW(static_cast<void>(empty[0]), IndexError);
}

TEST(Handle, AMovedFunctionGivesBackWhatItWasGiven) {
  auto f = function([](const Tensor& x) { return x + 1; });
  const auto g = std::move(f);
  Tensor x = ones({2});
  EXPECT_THROW(static_cast<void>(f(std::move(x))), EmptyHandleError);  // NOLINT
  EXPECT_EQ(g(x).to_vector<float>()[0], 2);
}

TEST(Print, SymbolsSayWhatTheyStandFor) {
  Graph graph("g");
  const Tensor x = graph.placeholder("x", float32, {2});
  EXPECT_EQ(to_string(x), "float32[2], placeholder \"x\" of graph \"g\"");
  EXPECT_EQ(to_string(x + 1), "float32[2], the result of add in graph \"g\"");
}

}  // namespace
}  // namespace tenure
