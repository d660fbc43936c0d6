#include "tenure/graph/variable.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "tenure/graph/function.h"
#include "tenure/graph/session.h"
#include "tenure/tenure.h"

namespace tenure {
namespace {

TEST(Variable, OutlivesScopesAndCountsAsParameter) {
  const MemoryStats before = memory();
  {
    std::vector<Variable> kept;
    tidy([&] { kept.emplace_back(ones({4}), "w"); });
    EXPECT_EQ(kept[0].value().to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
    EXPECT_EQ(memory()[Category::parameter].bytes - before[Category::parameter].bytes, 16);
    EXPECT_EQ(memory().bytes - before.bytes, 16);
    kept[0].assign(kept[0].value() * 3.f);
    EXPECT_EQ(memory()[Category::parameter].bytes - before[Category::parameter].bytes, 16);
    const Tensor old = kept[0].value();
    kept[0].assign_add(ones({4}));
    EXPECT_EQ(old.to_vector<float>(), (std::vector<float>{3, 3, 3, 3}));
    EXPECT_EQ(kept[0].value().to_vector<float>(), (std::vector<float>{4, 4, 4, 4}));
    EXPECT_THROW(kept[0].assign(ones({5})), ShapeError);
    EXPECT_THROW(kept[0].assign(ones({4}, float64)), DTypeError);
  }
  EXPECT_EQ(memory().bytes, before.bytes);
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().storages, before.storages);
}

TEST(Variable, FunctionsReadAndAssign) {
  const Variable count(zeros({}), "count", false);
  const Variable w(tensor({1.f, 2.f}), "w");
  const auto step = function([&](const Tensor& x) {
    count.assign(count.value() + 1.f);
    w.assign(w.value() - x * 0.5f);
    return sum(w.value() * x);
  });
  const Tensor x = tensor({2.f, 2.f});
  EXPECT_EQ(step(x).item<float>(), 2.f);
  EXPECT_EQ(w.value().to_vector<float>(), (std::vector<float>{0, 1}));
  EXPECT_EQ(step(x).item<float>(), -2.f);
  EXPECT_EQ(count.value().item<float>(), 2);
  EXPECT_EQ(step.traces().size(), 1u);
}

TEST(Variable, SessionsReadAndAssign) {
  const Variable w(tensor({1.f, 2.f}), "w");
  Graph g("g");
  const Tensor x = g.placeholder("x", float32, {2});
  const Tensor update = g.assign(w, g.read(w) + x);
  Session session(g);
  EXPECT_EQ(session.run(g.read(w)).to_vector<float>(), (std::vector<float>{1, 2}));
  const Tensor got = session.run(update, {{x, ones({2})}});
  got.dispose();
  EXPECT_EQ(w.value().to_vector<float>(), (std::vector<float>{2, 3}));
  w.dispose();
  EXPECT_THROW(session.run(update, {{x, ones({2})}}), DisposedError);
}

TEST(Variable, FunctionsOnAGraphAssignByUpdates) {
  const Variable v(ones({2}), "v");
  const Variable count(zeros({}), "count", false);
  const auto body = [&](const Tensor& x) {
    v.assign(v.value() * x);
    count.assign_add(1);
    count.assign_add(1);
    return v.value() + count.value();
  };
  const auto f = function(body);
  Graph graph("g");
  const Tensor x = graph.placeholder("x", DType::float32, {2});
  const Tensor y = f(x);
  static_cast<void>(f(x));
  ASSERT_EQ(graph.updates().size(), 2u);
  Session session(graph);
  const auto run = [&](const std::vector<Tensor>& fetches) {
    return session.run(fetches, {{x, full({2}, 3.0)}}).back().to_vector<float>()[0];
  };
  EXPECT_EQ(run({y}), 5) << "it sees what it assigned";
  EXPECT_EQ(v.value().to_vector<float>()[0], 1);
  EXPECT_EQ(run({graph.updates()[0], graph.updates()[1], y}), 5);
  EXPECT_EQ(v.value().to_vector<float>()[0], 3);
  EXPECT_EQ(count.value().item<float>(), 2);
  EXPECT_EQ(run({graph.read(v)}), 3);
  const Tensor other = graph.placeholder("other", DType::float32, {2});
  EXPECT_THROW(static_cast<void>(f(other)), GraphError);
}

TEST(VariableScope, NamesAndCollisions) {
  Container model("model");
  const auto init = [] { return zeros({3}); };
  {
    const VariableScope encoder("encoder", model);
    EXPECT_EQ(get_variable("w", init).name(), "encoder/w");
    try {
      static_cast<void>(get_variable("w", init));
      FAIL();
    } catch (const GraphError& error) {
      EXPECT_NE(std::string(error.what()).find("variable_test.cpp"), std::string::npos);
    }
  }
  {
    const VariableScope again("encoder", model, VariableScope::Reuse::always);
    EXPECT_EQ(get_variable("w", init).name(), "encoder/w");
    EXPECT_THROW(static_cast<void>(get_variable("b", init)), GraphError);
  }
  EXPECT_EQ(model.bytes(), 12);
  EXPECT_EQ(model.clear(), 12);
  EXPECT_EQ(model.variables().size(), 0u);
}

TEST(VariableScope, MayEndInAnyOrderAndOnAnotherThread) {
  Container container;
  auto outer = std::make_unique<VariableScope>("outer", container);
  auto inner = std::make_unique<VariableScope>("inner");
  const auto make = [](const char* name) { return get_variable(name, [] { return ones({1}); }); };
  outer.reset();
  EXPECT_EQ(make("a").name(), "outer/inner/a");
  std::thread([&] { inner.reset(); }).join();
  const VariableScope last("last", container);
  EXPECT_EQ(make("a").name(), "last/a");
  EXPECT_EQ(container.variables().size(), 2u);
}

TEST(Variable, LeakGuardNamesTheLine) {
  std::vector<Variable> leaked;
  LeakGuard guard("loop");
  try {
    for (int i = 0; i < 100; ++i) {
      leaked.emplace_back(ones({2}), "w");
      guard.mark();
    }
    FAIL();
  } catch (const LeakError& error) {
    EXPECT_NE(std::string(error.what()).find("variable_test.cpp"), std::string::npos);
  }
}

/// A variable that a callable makes when it is first called is there before the function runs.
TEST(Variable, MayBeMadeWhileSomethingIsTraced) {
  Container model("model");
  const auto f = function([&](const Tensor& x) {
    const VariableScope scope("layer", model, VariableScope::Reuse::automatic);
    const Variable w = get_variable("w", [] { return full({2}, 2.0) + 1; });
    w.assign_add(ones({2}));
    return x * w.value();
  });
  const Tensor x = ones({2});
  EXPECT_EQ(f(x).to_vector<float>(), (std::vector<float>{4, 4}));
  EXPECT_EQ(f(x).to_vector<float>(), (std::vector<float>{5, 5}));
  ASSERT_EQ(model.variables().size(), 1u);
  GradientTape tape;
  static_cast<void>(f(ones({2})));
  const Tensor y = f(x);
  EXPECT_EQ(tape.gradient(y, model.variables()[0]).to_vector<float>(), (std::vector<float>{1, 1}));
}

}  // namespace
}  // namespace tenure
