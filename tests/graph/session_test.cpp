#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenure/graph/session.h"
#include "tenure/tenure.h"

namespace tenure {
namespace {

TEST(Session, RunsWhatWasWrittenDown) {
  Graph g("g");
  const Tensor x = g.placeholder("x", float32, {kUnknown, 2});
  const Tensor w = tensor({{1.f, 2.f}, {3.f, 4.f}});
  const Tensor y = relu(matmul(x, w) - 5.f) * 2.f + sum(x);
  EXPECT_TRUE(y.is_symbolic());
  EXPECT_EQ(y.shape(), (Shape{kUnknown, 2}));
  Session session(g);
  const Tensor a = tensor({{1.f, 1.f}, {2.f, 0.f}, {0.f, 3.f}});
  const Tensor expected = relu(matmul(a, w) - 5.f) * 2.f + sum(a);
  const Tensor got = session.run(y, {{x, a}});
  EXPECT_EQ(got.to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(session.run(y, {{"x", a}}).to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(session.programs(), 1u);
}

TEST(Session, PredictedPeakIsMeasuredPeak) {
  Graph g("g");
  const Tensor x = g.placeholder("x", float32, {64, 64});
  Tensor y = x;
  for (int i = 0; i < 5; ++i) y = tanh(matmul(y, x)) + transpose(y, 0, 1);
  Session session(g);
  const Tensor a = ones({64, 64});
  const Plan plan = session.plan({y}, {{x, a}});
  const MemoryRegion region;
  const Tensor r = session.run(y, {{x, a}});
  EXPECT_EQ(region.peak_bytes(), plan.peak);
  EXPECT_EQ(region.left_bytes(), static_cast<std::int64_t>(r.nbytes()));
  EXPECT_LE(plan.arena, 3 * 64 * 64 * 4);
}

TEST(Graph, EqualExpressionsAreOneNode) {
  Graph g("g");
  const Tensor x = g.placeholder("x", float32, {4});
  for (int i = 0; i < 100; ++i) static_cast<void>(relu(x * 2.f + tensor({1.f, 2.f, 3.f, 4.f})));
  EXPECT_EQ(g.nodes(), 5);
  EXPECT_EQ(g.bytes(), 16);
}

TEST(Session, ThoseThatPileUpAreALeak) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {2});
  const Tensor y = x * 2;
  std::vector<std::unique_ptr<Session>> sessions;
  LeakGuard guard;
  const auto step = [&] {
    sessions.emplace_back(new Session(graph));
    static_cast<void>(sessions.back()->run(y, {{x, ones({2})}}));
    guard.mark();
  };
  try {
    for (int i = 0; i < 100; ++i) step();
    FAIL() << "no leak was found";
  } catch (const LeakError& error) {
    const std::string line = "session_test.cpp:" + std::to_string(__LINE__ - 8);
    EXPECT_NE(std::string(error.what()).find("sessions made at " + line), std::string::npos)
        << error.what();
  }
  LeakGuard steady;
  for (int i = 0; i < 100; ++i) {
    sessions.clear();
    sessions.emplace_back(new Session(graph));
    steady.mark();
  }
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

TEST(Graph, TellsNumbersAsTheyAre) {
  Graph graph("g");
  const Tensor x = graph.placeholder("x", float32, {2});
  const Tensor y = x * ~std::uint64_t{0} + -1 + 0.5;
  const std::string text = graph.to_string();
  for (const char* const number : {"18446744073709551615", "-1", "0.5"}) {
    EXPECT_NE(text.find(number), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tenure
