#include "tenure/graph/control.h"

#include <gtest/gtest.h>

#include "tenure/graph/passes/prepare.h"
#include "tenure/tenure.h"
#include "tests/support/lowered_program.h"
#include "tests/support/placeholders.h"

namespace tenure {
namespace {

using Pair = std::pair<Tensor, Tensor>;

/// Runs f eagerly, as a function and in a session; all agree to the last bit, and the plans hold.
template <class F>
std::vector<Tensor> in_all_modes(const F& f, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> expected = f(inputs);
  const auto same = [&](const std::vector<Tensor>& got) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].shape(), expected[i].shape());
      EXPECT_EQ(got[i].template to_vector<double>(), expected[i].template to_vector<double>());
    }
  };
  const auto traced = function(f);
  same(traced(inputs));
  {
    const Plan plan = traced.plan(inputs);
    const MemoryRegion region;
    const std::vector<Tensor> got = traced(inputs);
    EXPECT_EQ(region.peak_bytes(), plan.peak);
  }
  Graph graph;
  const auto [symbols, feeds] = test::Placeholders(graph, inputs);
  const std::vector<Tensor> fetches = f(symbols);
  Session session(graph);
  same(session.run(fetches, feeds));
  return expected;
}

TEST(Cond, TakesOneBranch) {
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{cond(
        sum(in[0]) > 0, [](const Tensor& x) { return tanh(x) * 2; },
        [](const Tensor& x) { return matmul(x, transpose(x, 0, 1)); }, in[0])};
  };
  EXPECT_NE(in_all_modes(f, {full({3, 3}, 0.5)})[0].to_vector<float>()[0], 0.75f);
  EXPECT_EQ(in_all_modes(f, {full({3, 3}, -0.5)})[0].to_vector<float>()[0], 0.75f);
}

TEST(Cond, CapturesAndNests) {
  const Tensor weight = tensor({2.f, 3.f});
  const Variable v(tensor({10.f, 20.f}), "v");
  const auto f = [&](const std::vector<Tensor>& in) {
    const Tensor doubled = in[0] * 2;  // a symbol outside, read inside
    const auto inner = [&](const Tensor& x) {
      return cond(
          max(x) > 5, [&] { return x + weight; }, [&] { return doubled - x; });
    };
    const Pair both = cond(
        in[1], [&](const Tensor& x) { return Pair(inner(x), x); },
        [&](const Tensor& x) { return Pair(x * weight, doubled); }, in[0]);
    return std::vector<Tensor>{both.first, both.second + doubled};
  };
  for (const bool flag : {false, true}) {
    for (const float first : {1.f, 9.f}) {
      in_all_modes(f, {tensor({first, 2.f}), full({}, flag)});
    }
  }
  const auto g = function([&](const Tensor& x) {
    return cond(
        sum(x) > 0, [&] { return v.value() + x; }, [&] { return v.value(); });
  });
  EXPECT_EQ(g(ones({2})).to_vector<float>(), (std::vector<float>{11, 21}));
  v.assign(ones({2}));
  EXPECT_EQ(g(ones({2})).to_vector<float>(), (std::vector<float>{2, 2}));
}

TEST(Cond, RunsOnlyTheBranchThatIsTaken) {
  const auto f = function([](const Tensor& x, const Tensor& i) {
    return cond(
        sum(x) > 0, [&] { return take(x, i, 0); }, [&] { return x; });
  });
  const Tensor outside = tensor({0, 9});
  EXPECT_EQ(f(-ones({2}), outside).to_vector<float>()[0], -1);
  try {
    static_cast<void>(f(ones({2}), outside));
    FAIL();
  } catch (const IndexError& error) {
    EXPECT_NE(std::string(error.what()).find("in take"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("in cond"), std::string::npos) << error.what();
  }
  EXPECT_EQ(f(ones({2}), tensor({1, 1})).to_vector<float>()[0], 1);
}

TEST(WhileLoop, GoesOnWhileTheConditionHolds) {
  const auto f = [](const std::vector<Tensor>& in) {
    const Pair end = while_loop([](const Pair& s) { return max(s.first) < 100; },
                                [&](const Pair& s) { return Pair(s.first * 2, s.second + in[0]); },
                                Pair(in[0], in[1]));
    return std::vector<Tensor>{end.first, end.second};
  };
  const auto got = in_all_modes(f, {tensor({1.f, 3.f}), zeros({2})});
  EXPECT_EQ(got[0].to_vector<float>(), (std::vector<float>{64, 192}));
  EXPECT_EQ(got[1].to_vector<float>(), (std::vector<float>{6, 18}));
  in_all_modes(f, {tensor({100.f, 3.f}), zeros({2})});  // never
  in_all_modes(f, {tensor({50.f, 3.f}), zeros({2})});   // once
}

TEST(WhileLoop, AsksAGraphFromAStateWithData) {
  Graph graph;
  const Tensor n = graph.placeholder("n", float32, {});
  const Tensor end = while_loop([&](const Tensor& s) { return s < n; },
                                [](const Tensor& s) { return s + 1; }, zeros({}));
  Session session(graph);
  EXPECT_EQ(session.run(end, {{n, full({}, 2.5)}}).item<float>(), 3);
}

TEST(WhileLoop, SwapsItsState) {
  const auto f = [](const std::vector<Tensor>& in) {
    using State = std::vector<Tensor>;
    return while_loop([](const State& s) { return s[2] < 3; },
                      [](const State& s) {
                        return State{s[1], s[0], s[2] + 1};
                      },
                      State{in[0], in[1], in[2]}, 10);
  };
  const auto got = in_all_modes(f, {tensor({1.f}), tensor({2.f}), full({}, 0)});
  EXPECT_EQ(got[0].item<float>(), 2);
}

TEST(WhileLoop, RunawayIsAnError) {
  const auto forever = [](const Tensor& x) {
    return while_loop([](const Tensor& s) { return sum(s) > 0; },
                      [](const Tensor& s) { return s + 1; }, x, 7);
  };
  EXPECT_THROW(forever(ones({1})), ValueError);
  const auto f = function(forever);
  EXPECT_THROW(f(ones({1})), ValueError);
  EXPECT_EQ(f(-ones({1})).item<float>(), -1);
}

TEST(Scan, CarriesAndStacks) {
  const auto f = [](const std::vector<Tensor>& in) {
    const auto [last, all] = scan(
        [&](const Tensor& h, const Tensor& x) {
          const Tensor next = tanh(matmul(h, in[2]) + x);
          return Pair(next, next * 2);
        },
        in[0], in[1]);
    return std::vector<Tensor>{last, all};
  };
  const auto got = in_all_modes(f, {zeros({1, 4}), uniform({6, 1, 4}), uniform({4, 4})});
  EXPECT_EQ(got[1].shape(), (Shape{6, 1, 4}));
  in_all_modes(f, {zeros({1, 4}), uniform({1, 1, 4}), uniform({4, 4})});
  in_all_modes(f, {zeros({1, 4}), zeros({0, 1, 4}), uniform({4, 4})});
  // Strided operands are put in order first.
  const auto strided = [&](const std::vector<Tensor>& in) {
    return f({in[0], transpose(in[1], 0, 2), in[2]});
  };
  in_all_modes(strided, {zeros({1, 4}), uniform({4, 1, 6}), uniform({4, 4})});
}

TEST(Control, TakesUnknownSizes) {
  Graph graph("g");
  const Tensor x = graph.placeholder("x", float32, {kUnknown, 3});
  const Tensor y = cond(
      sum(x) > 0, [&] { return tanh(x); }, [&] { return x * 2; });
  const auto [last, all] =
      scan([](const Tensor& c, const Tensor& e) { return Pair(c + e, c * e); }, ones({3}), y);
  EXPECT_EQ(all.shape(), (Shape{kUnknown, 3}));
  Session session(graph);
  for (const std::int64_t n : {1, 4}) {
    const auto got = session.run({last, all}, {{x, full({n, 3}, -1.0)}});
    EXPECT_EQ(got[0].to_vector<float>()[0], 1 - 2 * n);
    EXPECT_EQ(got[1].shape(), (Shape{n, 3}));
  }
}

TEST(Control, ErrorsNameWhatDiffers) {
  Graph graph("g");
  const Tensor x = graph.placeholder("x", float32, {2});
  const auto same = [](const Tensor& t) { return t; };
  EXPECT_THROW(cond(
                   sum(x) > 0, same, [](const Tensor& t) { return sum(t); }, x),
               ShapeError);
  EXPECT_THROW(cond(
                   sum(x) > 0, same, [](const Tensor& t) { return cast(t, float64); }, x),
               DTypeError);
  EXPECT_THROW(cond(sum(x), same, same, x), DTypeError);
  EXPECT_THROW(cond(x > 0, same, same, x), ShapeError);
  EXPECT_THROW(cond(ones({2}) > 0, same, same, ones({2})), ShapeError);
  const auto always = [](const Tensor&) { return full({}, true); };
  EXPECT_THROW(while_loop(
                   always, [](const Tensor& t) { return sum(t); }, x),
               ShapeError);
  EXPECT_THROW(while_loop(
                   always, [](const Tensor& t) { return sum(t); }, ones({2})),
               ShapeError);
  EXPECT_THROW(while_loop(
                   always, [](const Tensor& t) { return cast(t, float16); }, x),
               DTypeError);
  const auto pair = [](const Tensor& c, const Tensor& e) { return Pair(c + e, e); };
  EXPECT_THROW(scan(pair, ones({1}), ones({})), ShapeError);
  EXPECT_THROW(scan(pair, ones({}), ones({3, 2})), ShapeError);
  const Variable v(ones({2}), "v");
  const auto assigning = function([&](const Tensor& t) {
    return cond(
        sum(t) > 0, [&] { return v.assign(t), t; }, [&] { return t; });
  });
  EXPECT_THROW(assigning(ones({2})), GraphError);
}

TEST(Control, BodiesDoNotEscape) {
  Tensor escaped;
  Graph graph("g");
  const Tensor x = graph.placeholder("x", float32, {2});
  const Tensor y = cond(
      sum(x) > 0, [&] { return escaped = x * 2; }, [&] { return x; });
  EXPECT_THROW(static_cast<void>(escaped + 1), SymbolError);
  Session session(graph);
  EXPECT_EQ(session.run(y, {{"x", ones({2})}}).to_vector<float>()[0], 2);
}

TEST(Control, BodiesCountInTheBytesOfCaches) {
  const auto chain = [](int ops) {
    return [ops](const Tensor& x) {
      const auto body = [ops](const Tensor& t) {
        Tensor y = t;
        for (int i = 0; i < ops; ++i) y = softmax(y);
        return y;
      };
      return while_loop([](const Tensor& t) { return sum(t) > 2; }, body, x);
    };
  };
  const auto function_bytes = [&](int ops) {
    const auto f = function(chain(ops));
    static_cast<void>(f(ones({4})));
    return f.traces()[0].bytes;
  };
  const auto session_bytes = [&](int ops) {
    Graph graph;
    const Tensor x = graph.placeholder("x", float32, {4});
    const Tensor y = chain(ops)(x);
    Session session(graph);
    static_cast<void>(session.run(y, {{x, ones({4})}}));
    return session.bytes();
  };
  constexpr std::int64_t kLeast = 40 * 500;  // a step with its buffers and places
  EXPECT_GT(function_bytes(41), function_bytes(1) + kLeast);
  EXPECT_GT(session_bytes(41), session_bytes(1) + kLeast);
}

/// What lowers and runs a program finds the bodies of its loops compiled, those inside them too.
TEST(Control, BodiesAreCompiledBeforeTheProgramIsLowered) {
  const auto f = [](const std::vector<Tensor>& in) {
    const auto step = [](const Tensor& carry, const Tensor& x) {
      const Tensor next = cond(
          sum(x) > 0, [&] { return softmax(carry + x); }, [&] { return carry; });
      return Pair(next, next * 2);
    };
    const auto [carry, rows] = scan(step, in[0], in[1]);
    return std::vector<Tensor>{carry, rows};
  };
  auto lowered = test::lower_ops({{DType::float32, {8}}, {DType::float32, {3, 8}}}, f);
  auto bodies = graph::compiled_bodies(lowered->request.program);
  ASSERT_EQ(bodies.size(), 1u);
  ASSERT_EQ(bodies[0]->programs.size(), 1u);
  const Plan& plan = bodies[0]->programs[0]->plan();
  EXPECT_GT(plan.arena, 0);  // with the arena of the branch
  int loops = 0;
  for (const graph::Unit& unit : lowered->units) {
    if (graph::bodies_in(*unit.node) == nullptr) continue;
    ++loops;
    EXPECT_EQ(graph::compiled_in(unit.node->attribute_list()), bodies[0]);
    EXPECT_GE(unit.workspace, static_cast<std::size_t>(plan.arena));
  }
  EXPECT_EQ(loops, 1);
  const std::weak_ptr<const graph::CompiledBodies> end = bodies[0];
  bodies.clear();
  EXPECT_FALSE(end.expired());
  lowered.reset();
  EXPECT_TRUE(end.expired());
}

TEST(Control, DrawsRandomNumbersAnew) {
  const auto f = function([](const Tensor& x) {
    return cond(
        sum(x) > 0, [&] { return x + uniform({64}); }, [&] { return x; });
  });
  const Tensor x = ones({64});
  EXPECT_NE(f(x).to_vector<float>(), f(x).to_vector<float>());
}

}  // namespace
}  // namespace tenure
