#include <gtest/gtest.h>

#include <map>

#include "tenure/graph/function.h"
#include "tenure/tenure.h"

namespace tenure {
namespace {

TEST(Function, ComputesWhatItsCallableDoes) {
  const Tensor w = uniform({4, 4});
  const auto f = function([&](const Tensor& x) { return tanh(matmul(x, w) * 0.5f + 1.f); });
  const Tensor x = uniform({3, 4});
  const Tensor expected = tanh(matmul(x, w) * 0.5f + 1.f);
  EXPECT_EQ(f(x).to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(f(x).to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(f.traces().size(), 1u);
  static_cast<void>(f(uniform({5, 4})));
  EXPECT_EQ(f.traces().size(), 2u);
}

TEST(Function, TakesAndGivesTrees) {
  const auto f = function([](const std::vector<Tensor>& v, int n) {
    return std::pair(v[0] + v[1], std::vector<Tensor>{v[0] * n});
  });
  const Tensor a = tensor({1.f, 2.f});
  const auto [s, p] = f(std::vector<Tensor>{a, a}, 3);
  EXPECT_EQ(s.to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(p.at(0).to_vector<float>(), (std::vector<float>{3, 6}));
}

TEST(Function, PlansWithoutAllocating) {
  const auto f = function([](const Tensor& a, const Tensor& b) { return tanh(a * b) + a; });
  const MemoryRegion region;
  const Plan plan = f.plan(spec({1000}), spec({1000}));
  EXPECT_EQ(region.peak_bytes(), 0);
  EXPECT_EQ(plan.arena, 0);
  EXPECT_EQ(plan.peak, 4000);
  EXPECT_EQ(plan.steps.size(), 1u);
}

TEST(Function, ConstantsThatItComputesAreInItsPlanAndBudget) {
  const auto model = [](const Tensor& x) {
    return sum(matmul(x, tanh(reshape(arange(1024, float32), {32, 32}))));
  };
  const Tensor x = ones({32, 32});
  const MemoryRegion all;
  auto f = function(model);
  const Plan plan = f.plan(x);
  EXPECT_GE(plan.constants, 4096);
  EXPECT_EQ(all.left_bytes(), plan.constants);
  {
    const MemoryRegion run;
    static_cast<void>(f(x));
    EXPECT_EQ(run.peak_bytes(), plan.peak);
  }
  EXPECT_EQ(all.left_bytes(), plan.constants);
  EXPECT_NE(to_string(plan).find("of constants between runs"), std::string::npos);
  f.clear();
  EXPECT_EQ(all.left_bytes(), 0);

  const std::int64_t needed = static_cast<std::int64_t>(x.nbytes()) + plan.constants + plan.peak;
  static_cast<void>(function(model, {.budget = needed})(x));
  const auto tight = function(model, {.budget = needed - 1});
  try {
    static_cast<void>(tight(x));
    FAIL();
  } catch (const planner::BudgetError& error) {
    EXPECT_EQ(error.least(), needed);
  }
}

TEST(Function, OneTraceServesEveryBatch) {
  int traces = 0;
  const Tensor w = uniform({4, 3});
  const auto model = [&](const Tensor& x, const Tensor& b) {
    ++traces;
    return softmax(tanh(matmul(x, w) + b), 1);
  };
  const auto f = function(model, {.name = "model", .batched = {0}});
  const Tensor b = uniform({3});
  for (const std::int64_t n : {1, 8, 3, 0, 8}) {
    const Tensor x = uniform({n, 4});
    traces = 0;
    const Plan plan = f.plan(spec({n, 4}), b);
    const MemoryRegion region;
    const Tensor y = f(x, b);
    EXPECT_EQ(region.peak_bytes(), plan.peak) << n;
    EXPECT_EQ(traces, n == 1 ? 1 : 0);
    EXPECT_EQ(y.to_vector<float>(), model(x, b).to_vector<float>());
  }
  EXPECT_EQ(f.traces().size(), 4u);
  EXPECT_THROW(static_cast<void>(f(uniform({2, 5}), b)), ShapeError);
  EXPECT_THROW(static_cast<void>(f(full({}, 1.0), b)), ShapeError);
  const auto third = function([](const Tensor& x) { return x; }, {.batched = {2}});
  EXPECT_THROW(static_cast<void>(third(b)), ValueError);
  const auto wrong = function([&](const Tensor& x) { return matmul(x, b + x); }, {.batched = {0}});
  try {
    static_cast<void>(wrong(uniform({2, 5})));
    ADD_FAILURE();
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("[?, 5]"), std::string::npos) << error.what();
  }
  const auto product = function(
      [&](const Tensor& x) {
        return matmul(x, ones({4, 2}));
      },
      {.batched = {0}});
  try {
    static_cast<void>(product(uniform({2, 5})));
    ADD_FAILURE();
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("8191 stands for a size"), std::string::npos);
  }
}

struct Scaled {
  Tensor x;
  int factor = 1;
};

TEST(Function, TellsCallsApartByAllThatIsNoTensor) {
  const Tensor one = ones({1});
  const auto scaled = function([](const Scaled& s) { return s.x * s.factor; });
  EXPECT_EQ(scaled(Scaled{one, 2}).item<float>(), 2);
  EXPECT_EQ(scaled(Scaled{one, 3}).item<float>(), 3);

  using Lists = std::vector<std::vector<Tensor>>;
  const auto first = function(
      [](const Lists& lists) { return sum(stack(OperandList(lists[0], Site::current()))); });
  EXPECT_EQ(first(Lists{{one, one}, {one}}).item<float>(), 2);
  EXPECT_EQ(first(Lists{{one}, {one, one}}).item<float>(), 1);

  using Map = std::map<std::string, Tensor>;
  const auto same = function([](const auto& tree) { return tree; });
  EXPECT_EQ(same(Map{{"a", one}}).begin()->first, "a");
  EXPECT_EQ(same(Map{{"b", one}}).begin()->first, "b");
  EXPECT_EQ(same(one).item<float>(), 1);  // another type with as many tensors
  EXPECT_EQ(same(std::vector<Tensor>{one}).at(0).item<float>(), 1);

  const auto by_name = function([](const Tensor& x, const std::string& op, double factor) {
    return op == "neg" ? -x * factor : x * factor;
  });
  EXPECT_EQ(by_name(one, std::string("neg"), 0.5).item<float>(), -0.5f);
  EXPECT_EQ(by_name(one, std::string("pos"), 0.5).item<float>(), 0.5f);
  EXPECT_EQ(by_name.traces().size(), 2u);
  EXPECT_EQ(by_name.traces()[0].signature, "float32[1], 0.5");
}

TEST(Function, ATraceTakesInCallsWithoutSymbols) {
  const Variable v(ones({1}), "v");
  const Tensor c = full({1}, 2.0);
  const auto inner = function([&](const Tensor& x) { return x * v.value(); });
  const auto nothing = function([&] { return v.value() * 10; });
  const auto outer = function([&](const Tensor& x) { return x + inner(c) + nothing(); });
  EXPECT_EQ(outer(zeros({1})).item<float>(), 12);
  v.assign(full({1}, 3.0));
  EXPECT_EQ(outer(zeros({1})).item<float>(), 36);
  const auto giving = function([&](const Tensor& x) {
    Tensor gift = ones({1});
    return x + inner(donate(gift));
  });
  EXPECT_EQ(giving(zeros({1})).item<float>(), 3);  // in a trace, ones() is a symbol
  Tensor data = ones({1});
  const auto giving_data = function([&](const Tensor& x) { return x + inner(donate(data)); });
  EXPECT_THROW(static_cast<void>(giving_data(zeros({1}))), DonationError);
  EXPECT_EQ(data.item<float>(), 1);
}

TEST(Function, OnAGraphReadsAndDrawsWhenThatRuns) {
  const Variable v(ones({1}), "v");
  const auto f = function([&](const Tensor& x) { return x * v.value() + uniform({1}, 0, 0.5); });
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {1});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  EXPECT_EQ(graph.bytes(), 0);
  const std::vector<Tensor> fetches{y, tape.gradient(y, x)};
  Session session(graph);
  const std::vector<Feed> feeds{{x, ones({1})}};
  const float first = session.run(y, feeds).item<float>();
  EXPECT_NE(session.run(y, feeds).item<float>(), first);
  v.assign(full({1}, 8.0));
  const std::vector<Tensor> later = session.run(fetches, feeds);
  EXPECT_GE(later[0].item<float>(), 8);
  EXPECT_EQ(later[1].item<float>(), 8);

  const auto counts = function([&](const Tensor& t) {
    v.assign_add(ones({1}));
    return t;
  });
  static_cast<void>(counts(x));
  EXPECT_EQ(v.value().item<float>(), 8) << "it waits for a run";
  static_cast<void>(session.run(graph.updates()));
  EXPECT_EQ(v.value().item<float>(), 9);
}

TEST(Session, DropsOtherElementsInEveryRun) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {64});
  const Tensor y = dropout(x, 0.5);
  Session session(graph);
  const std::vector<Feed> feeds{{x, ones({64})}};
  EXPECT_NE(session.run(y, feeds).to_vector<float>(), session.run(y, feeds).to_vector<float>());
}

TEST(Function, DrawsForABatchOfAnySize) {
  const auto f = function([](const Tensor& x) { return dropout(x, 0.5); }, {.batched = {0}});
  std::uint64_t before = default_generator().state().offset;
  for (int i = 0; i < 5; ++i) {
    static_cast<void>(f(ones({2, 10})));
    const std::uint64_t now = default_generator().state().offset;
    EXPECT_GE(now - before, 5u);
    EXPECT_LT(now - before, std::uint64_t{1} << 32);  // it does not come round
    before = now;
  }
}

TEST(Graph, DrawsABranchThatGivesNothing) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {1});
  const auto nothing = [](const Tensor&) { return std::vector<Tensor>(); };
  EXPECT_TRUE(cond(sum(x) > 0, nothing, nothing, x).empty());
  EXPECT_NE(graph.to_dot().find("nothing"), std::string::npos);
}

TEST(Function, CacheIsBounded) {
  const auto f =
      function([](const Tensor& x) { return x + 1; }, {.cache_limit = 1, .warn_after = 0});
  for (std::int64_t n = 1; n <= 10; ++n) static_cast<void>(f(ones({n})));
  EXPECT_EQ(f.traces().size(), 1u);
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

}  // namespace
}  // namespace tenure
