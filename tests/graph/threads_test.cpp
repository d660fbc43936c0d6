#include <gtest/gtest.h>

#include <atomic>

#include "tenure/tenure.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

TEST(SessionThreads, RunOneGraph) {
  Graph graph("g");
  const Tensor x = graph.placeholder("x", float32, {kUnknown});
  const Tensor y = tanh(x * 2) + sum(x);
  Session session(graph);
  test::on_threads(4, [&](int t) {
    for (int i = 0; i < 200; ++i) {
      const Tensor value = full({1 + (t + i) % 5}, 0.25);
      const Tensor expected = tanh(value * 2) + sum(value);
      EXPECT_EQ(session.run(y, {{x, value}}).to_vector<float>(), expected.to_vector<float>());
    }
  });
  EXPECT_EQ(session.programs(), 5u);
}

TEST(SessionThreads, BuildAndRunAndClose) {
  for (int round = 0; round < 20; ++round) {
    Graph graph("g");
    const Tensor x = graph.placeholder("x", float32, {2});
    Session session(graph);
    std::atomic<int> done{0};
    test::on_threads(3, [&](int t) {
      try {
        for (int i = 0; i < 20; ++i) {
          const Tensor y = x * (t * 100 + i);
          static_cast<void>(session.run(y, {{x, ones({2})}}));
        }
        if (t == 0) session.close();
      } catch (const ClosedError&) {
      }
      ++done;
    });
    EXPECT_EQ(done, 3);
  }
}

TEST(VariableThreads, ReadersSeeWholeValues) {
  const Variable v(zeros({64}), "v");
  const auto step = function([&](const Tensor& one) {
    v.assign(v.value() + one);
    return sum(v.value());
  });
  const Tensor one = ones({64});
  static_cast<void>(step(one));
  test::on_threads(3, [&](int t) {
    for (int i = 0; i < 300; ++i) {
      if (t == 0) {
        static_cast<void>(step(one));
      } else {
        const auto values = v.value().to_vector<float>();
        for (const float value : values) ASSERT_EQ(value, values[0]);
      }
    }
  });
  EXPECT_EQ(v.value().to_vector<float>()[5], 301);
}

}  // namespace
}  // namespace tenure
