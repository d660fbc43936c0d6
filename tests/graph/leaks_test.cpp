#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tenure/tenure.h"

// What graphs, functions and variables hold from one iteration of a loop to the next, and what a
// LeakGuard says of those that hold more and more.

namespace tenure {
namespace {

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

TEST(LeakGuardOnGraphs, NamesNodesFunctionsAndVariables) {
  Graph graph("g");
  const Tensor x = graph.placeholder("x", float32, {2});
  EXPECT_EQ(leak_in([&](int) { static_cast<void>(x * 2 + 1); }), "none");
  const std::string nodes = leak_in([&](int i) { static_cast<void>(x * i); });
  EXPECT_NE(nodes.find("graph nodes made at leaks_test.cpp"), std::string::npos) << nodes;
  const auto make = [] { return function([](const Tensor& t) { return t + 1; }); };
  std::vector<decltype(make())> functions;
  const std::string many = leak_in([&](int) {
    functions.push_back(make());
    static_cast<void>(functions.back()(ones({1})));
  });
  EXPECT_NE(many.find("functions made at leaks_test.cpp"), std::string::npos) << many;
  std::vector<Variable> kept;
  const std::string variables = leak_in([&](int) { kept.push_back(Variable(ones({1}), "v")); });
  EXPECT_NE(variables.find("variables made at leaks_test.cpp"), std::string::npos) << variables;
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
