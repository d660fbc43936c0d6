#include <gtest/gtest.h>

#include "tenure/graph/function.h"
#include "tenure/graph/session.h"
#include "tenure/tenure.h"
#include "tests/support/share.h"
#include "tests/support/update_op.h"

// Results in the memory of what ends with the call: donated arguments, and what variables held.

namespace tenure {
namespace {

using test::data_of;

TEST(Donation, AMovedArgumentCarriesTheResult) {
  const auto f = function([](const Tensor& x) { return tanh(x * 2) + 1; });
  Tensor x = ones({1000});
  const Tensor expected = tanh(x * 2) + 1;
  const void* const memory = data_of(x);
  const MemoryRegion region;
  const Tensor y = f(std::move(x));
  EXPECT_EQ(region.peak_bytes(), 0);
  EXPECT_FALSE(x.defined());
  EXPECT_EQ(data_of(y), memory);
  EXPECT_EQ(y.to_vector<float>(), expected.to_vector<float>());
  EXPECT_TRUE(y.is_sole_holder());
  EXPECT_EQ(f.plan(donate(spec({1000}))).peak, 0);
  EXPECT_EQ(f.plan(spec({1000})).peak, 4000);
}

TEST(Donation, MemoryOfADeadArgumentServesOthers) {
  const Tensor w = uniform({32, 32});
  // The product cannot be computed in place; the second one begins when x is read no more.
  const auto f = function([&](const Tensor& x) { return matmul(matmul(x, w), w); });
  Tensor x = uniform({32, 32});
  const Tensor expected = matmul(matmul(x, w), w);
  const Plan plan = f.plan(donate(spec({32, 32})));
  EXPECT_EQ(plan.peak, 4096);
  EXPECT_TRUE(plan.inputs[0].reused);
  const MemoryRegion region;
  const Tensor y = f(donate(x));
  EXPECT_EQ(region.peak_bytes(), plan.peak);
  EXPECT_EQ(y.to_vector<float>(), expected.to_vector<float>());
}

TEST(Donation, TemporariesLiveInItToo) {
  const auto f = function([](const Tensor& x) { return sum(softmax(x * 2, 0)); });
  Tensor x = uniform({512});
  const float expected = f(x).item<float>();
  const Plan plan = f.plan(donate(spec({512})));
  EXPECT_LT(plan.peak, f.plan(spec({512})).peak);
  const MemoryRegion region;
  EXPECT_EQ(f(donate(x)).item<float>(), expected);
  EXPECT_EQ(region.peak_bytes(), plan.peak);
}

TEST(Donation, OthersKeepTheirData) {
  const auto f = function([](const Tensor& x) { return x * 2; });
  Tensor x = ones({8});
  const Tensor copy = x;
  const Tensor doubled = f(std::move(x));
  EXPECT_EQ(copy.to_vector<float>()[0], 1);
  EXPECT_EQ(doubled.to_vector<float>()[0], 2);
  Tensor y = ones({8});
  const Tensor view = reshape(y, {2, 4});
  static_cast<void>(f(std::move(y)));
  EXPECT_EQ(view.to_vector<float>()[0], 1);
}

TEST(Donation, RefusalsSayWhy) {
  const auto text_of = [](const auto& f, Tensor& x) {
    try {
      static_cast<void>(f(donate(x)));
      return std::string("no error");
    } catch (const DonationError& error) {
      return std::string(error.what());
    }
  };
  const auto f = function([](const Tensor& x) { return x * 2; }, {.name = "double"});
  Tensor x = ones({8});
  const Tensor view = reshape(x, {2, 4});
  const std::string held = text_of(f, x);
  EXPECT_NE(held.find("function \"double\": tensor 0"), std::string::npos) << held;
  EXPECT_NE(held.find("donation_test.cpp"), std::string::npos) << held;
  EXPECT_NE(held.find("view"), std::string::npos) << held;
  EXPECT_EQ(x.to_vector<float>()[0], 1);

  Tensor lone = ones({8});
  const Tensor copy = lone;
  EXPECT_NE(text_of(f, lone).find("copies of its handle"), std::string::npos);
  Tensor part = slice(ones({8}), 0, 0, 4);
  EXPECT_NE(text_of(f, part).find("part of a larger"), std::string::npos);
  const auto count = function([](const Tensor& t) { return sum(t); });
  Tensor unused = ones({8});
  EXPECT_NE(text_of(count, unused).find("can be put into these 32 B"), std::string::npos);
  EXPECT_EQ(unused.to_vector<float>()[0], 1);
}

TEST(Donation, AFailedCallLosesNothing) {
  const auto f = function([](const Tensor& x, const Tensor& i) { return take(x * 2, i, 0); });
  Tensor x = ones({4});
  EXPECT_THROW(static_cast<void>(f(std::move(x), tensor({0, 9}))), IndexError);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  std::vector<Tensor> both{ones({2}), ones({3})};
  const auto add_all = function([](const std::vector<Tensor>& v) { return v[0] + v[1]; });
  EXPECT_THROW(static_cast<void>(add_all(std::move(both))), ShapeError);
  EXPECT_EQ(both[1].to_vector<float>().size(), 3u);
}

TEST(Donation, OneTensorInSeveralArguments) {
  const auto sum_of = function([](const Tensor& a, const Tensor& b) { return a + b; });
  Tensor x = ones({4});
  EXPECT_THROW(static_cast<void>(sum_of(donate(x), donate(x))), DonationError);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_THROW(static_cast<void>(sum_of(donate(x), x)), DonationError);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  // Moved, it is read twice and ends, as in eager calls.
  EXPECT_EQ(sum_of(std::move(x), std::move(x)).to_vector<float>()[3], 2);
  EXPECT_FALSE(x.defined());
  x = ones({4});
  EXPECT_EQ(sum_of(std::move(x), x).to_vector<float>()[3], 2);
  EXPECT_FALSE(x.defined());
  x = ones({4});
  EXPECT_EQ(sum_of(x, std::move(x)).to_vector<float>()[3], 2);
  EXPECT_FALSE(x.defined());
  x = ones({4});
  const Tensor other = ones({3});
  const auto three =
      function([](const Tensor& a, const Tensor& b, const Tensor& c) { return a + b + c; });
  EXPECT_THROW(static_cast<void>(three(std::move(x), std::move(x), other)), ShapeError);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  std::vector<Tensor> list{x, x};
  const auto all = function([](const std::vector<Tensor>& v) { return v[0] * v[1]; });
  EXPECT_EQ(all(std::move(list)).to_vector<float>()[0], 1);
  EXPECT_EQ(x.to_vector<float>()[0], 1) << "a handle of the caller's stays";
}

class DonatedFeed : public testing::Test {
 protected:
  Graph graph_{"g"};
  const Tensor x_ = graph_.placeholder("x", DType::float32, {1000});
  const Tensor y_ = tanh(x_ * 2) + 1;
  Session session_{graph_};
};

TEST_F(DonatedFeed, AMovedOneCarriesTheResult) {
  Tensor x = ones({1000});
  const Tensor expected = session_.run(y_, {{x_, x}});
  EXPECT_EQ(x.to_vector<float>()[0], 1) << "an lvalue stays";
  const void* const memory = data_of(x);
  const MemoryRegion region;
  const Tensor y = session_.run(y_, {{x_, std::move(x)}});
  EXPECT_EQ(region.peak_bytes(), 0);
  EXPECT_EQ(data_of(y), memory);
  EXPECT_EQ(y.to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(session_.programs(), 2u);

  Tensor shared = ones({1000});
  const Tensor view = reshape(shared, {10, 100});
  static_cast<void>(session_.run(y_, {{"x", std::move(shared)}}));
  EXPECT_EQ(view.to_vector<float>()[0], 1);
  Tensor state = ones({1000});
  for (int i = 0; i < 3; ++i) state = session_.run(y_, {{x_, std::move(state)}});
  EXPECT_EQ(region.peak_bytes(), 8000) << "those of shared and state";
}

TEST_F(DonatedFeed, AListThatStaysKeepsItsValues) {
  const std::vector<Feed> feeds{{x_, ones({1000})}};
  static_cast<void>(session_.run(y_, feeds));
  EXPECT_EQ(feeds[0].value.to_vector<float>()[0], 1);
  std::vector<Feed> given = feeds;
  const Tensor x = graph_.placeholder("other", DType::float32, {1});
  EXPECT_THROW(static_cast<void>(session_.run(x, std::move(given))), GraphError);
  EXPECT_EQ(given[0].value.to_vector<float>()[0], 1);
}

TEST_F(DonatedFeed, WhatAListWasGivenIsBackWhenTheRunThrows) {
  const Tensor i = graph_.placeholder("i", DType::int64, {1});
  const Tensor taken = take(y_, i, 0);
  Tensor x = ones({1000});
  const void* const memory = data_of(x);
  const auto is_back = [&] { return x.defined() && data_of(x) == memory; };
  EXPECT_THROW(static_cast<void>(session_.run(taken, {{x_, std::move(x)}})), GraphError);
  EXPECT_TRUE(is_back());
  EXPECT_THROW(static_cast<void>(session_.run(
                   taken, {{x_, std::move(x)}, {"i", tensor(std::vector<std::int64_t>{5000})}})),
               IndexError);
  EXPECT_TRUE(is_back());
  EXPECT_THROW(static_cast<void>(session_.run({taken, y_}, {{"x", std::move(x)}, {"z", x}})),
               EmptyTensorError);
  EXPECT_TRUE(is_back());
  EXPECT_THROW(static_cast<void>(session_.run(taken, {{x_, std::move(x)}, {"i", std::move(x)}})),
               EmptyTensorError);
  EXPECT_TRUE(is_back());
  // A list that was made before knows no more where its values came from.
  std::vector<Feed> feeds;
  feeds.emplace_back(x_, std::move(x));
  feeds.emplace_back("i", tensor(std::vector<std::int64_t>{5000}));
  x = zeros({2});
  EXPECT_THROW(static_cast<void>(session_.run(taken, std::move(feeds))), IndexError);
  EXPECT_EQ(x.size(), 2);
  EXPECT_EQ(data_of(feeds[0].value), memory);
}

TEST_F(DonatedFeed, DonatesOrSaysWhyNot) {
  Tensor x = ones({1000});
  EXPECT_EQ(session_.plan({y_}, {{x_, donate(x)}}).peak, 0);
  EXPECT_EQ(session_.plan({y_}, {{x_, x}}).peak, 4000);
  EXPECT_TRUE(x.defined());
  {
    const Tensor copy = x;
    try {
      static_cast<void>(session_.run(y_, {{x_, donate(x)}}));
      FAIL();
    } catch (const DonationError& error) {
      EXPECT_NE(std::string(error.what()).find("graph \"g\": feed 0, float32[1000]"),
                std::string::npos)
          << error.what();
    }
  }
  EXPECT_THROW(static_cast<void>(session_.run(sum(x_), {{x_, donate(x)}})), DonationError);
  const Tensor z = graph_.placeholder("z", DType::float32, {1000});
  EXPECT_THROW(static_cast<void>(session_.run(x_ + z, {{x_, donate(x)}, {z, donate(x)}})),
               GraphError);
  EXPECT_EQ(x.to_vector<float>()[0], 1);
  const void* const memory = data_of(x);
  EXPECT_EQ(data_of(session_.run(y_, {{"x", donate(x)}})), memory);
  EXPECT_FALSE(x.defined());
}

TEST(Donation, CompilesAgainWithoutTracing) {
  int traces = 0;
  const auto f = function([&](const Tensor& x) { return ++traces, x * 2; });
  const Tensor kept = ones({4});
  static_cast<void>(f(kept));
  static_cast<void>(f(ones({4})));
  static_cast<void>(f(ones({4})));
  static_cast<void>(f(kept));
  EXPECT_EQ(traces, 1);
  ASSERT_EQ(f.traces().size(), 2u);
  EXPECT_EQ(f.traces()[1].signature, "float32[4] donated");
}

TEST(VariableInPlace, AStepTakesNoSecondCopy) {
  const std::int64_t n = 25 << 20;
  const Variable v(full({n}, 1.0), "v");  // 100 MiB
  const auto step = function([&](const Tensor& rate) {
    v.assign(v.value() - v.value() * rate);
    return rate * 2;
  });
  const Plan plan = step.plan(spec({}));
  EXPECT_EQ(plan.peak, 4);
  const Tensor rate = full({}, 0.5);
  const MemoryRegion region;
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(step(rate));
    EXPECT_EQ(region.peak_bytes(), plan.peak);
  }
  const Tensor now = v.value();
  EXPECT_EQ(now.to_vector<float>()[n - 1], 0.125f);
  // Somebody reads what it holds: that stays, and the run takes new memory.
  static_cast<void>(step(rate));
  EXPECT_EQ(now.to_vector<float>()[n - 1], 0.125f);
  EXPECT_EQ(region.peak_bytes(), 4 * n + 4);
}

TEST(VariableInPlace, NotWhileTheOldValueIsRead) {
  const Variable v(tensor({1.f, 2.f}), "v");
  const auto f = function([&](const Tensor& x) {
    const Tensor old = v.value();
    v.assign(old + x);
    return std::vector<Tensor>{old, old * v.value()};
  });
  const std::vector<Tensor> results = f(ones({2}));
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(results[1].to_vector<float>(), (std::vector<float>{2, 6}));
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{2, 3}));
}

TEST(VariableInPlace, AllOrNothing) {
  const Variable v(ones({4}), "v");
  const Variable w(ones({4}), "w");
  const auto f = function([&](const Tensor& i) {
    v.assign(v.value() * 2);
    w.assign(take(v.value(), i, 0));
    return sum(w.value());
  });
  static_cast<void>(f(tensor({0, 1, 2, 3})));
  EXPECT_THROW(static_cast<void>(f(tensor({0, 1, 2, 7}))), IndexError);
  EXPECT_EQ(v.value().to_vector<float>()[0], 2);
  EXPECT_EQ(w.value().to_vector<float>()[0], 2);
}

TEST(VariableInPlace, TwoGetTheSameValue) {
  const Variable v(zeros({64}), "v");
  const Variable w(zeros({64}), "w");
  const auto f = function([&](const Tensor& x) {
    const Tensor y = x * 3;
    v.assign(y);
    w.assign(y);
    return y;
  });
  const Tensor x = ones({64});
  const Plan plan = f.plan(x);
  static_cast<void>(f(x));
  const MemoryRegion region;
  const Tensor y = f(x);
  EXPECT_EQ(region.peak_bytes(), plan.peak);
  EXPECT_EQ(w.value().to_vector<float>()[5], 3);
  w.assign_add(1);
  EXPECT_EQ(v.value().to_vector<float>()[5], 3);
}

TEST(VariableInPlace, EagerUpdatesToo) {
  const Variable v(ones({1000}), "v");
  const Tensor x = full({1000}, 2.0);
  const MemoryRegion region;
  v.assign_add(x);
  v.assign_sub(1);
  v.assign(x);
  EXPECT_EQ(region.peak_bytes(), 0);
  EXPECT_EQ(v.value().to_vector<float>()[999], 2);
  EXPECT_THROW(v.assign_add(ones({2, 1000})), ShapeError);
  EXPECT_THROW(v.assign_add(ones({1000}, float64)), DTypeError);
  EXPECT_EQ(v.value().to_vector<float>()[999], 2);
}

TEST(VariableInPlace, SeveralResultsEachInItsOwn) {
  const Variable p(ones({256}), "p");
  const Variable m(zeros({256}), "m");
  const Tensor gradient = full({256}, 0.5);
  const auto step = function([&](const Tensor& g) {
    const auto [next, momentum] = test::momentum_update(p.value(), m.value(), g);
    p.assign(next);
    m.assign(momentum);
    return sum(g);
  });
  const Plan plan = step.plan(gradient);
  static_cast<void>(step(gradient));
  const MemoryRegion region;
  static_cast<void>(step(gradient));
  EXPECT_EQ(region.peak_bytes(), plan.peak);
  EXPECT_LT(plan.peak, 1024);
  EXPECT_EQ(m.value().to_vector<float>()[0], 0.75f);
  EXPECT_EQ(p.value().to_vector<float>()[0], 1 - 0.5f - 0.75f);
}

TEST(VariableInPlace, SessionsDoTheSame) {
  const Variable v(zeros({1000}), "v");
  Graph graph("g");
  const Tensor next = graph.assign(v, graph.read(v) + 1);
  Session session(graph);
  const Plan plan = session.plan({next});
  EXPECT_EQ(plan.peak, 0);
  const MemoryRegion region;
  for (int i = 0; i < 3; ++i) static_cast<void>(session.run(next));
  EXPECT_EQ(region.peak_bytes(), 0);
  EXPECT_EQ(v.value().to_vector<float>()[7], 3);
}

}  // namespace
}  // namespace tenure
