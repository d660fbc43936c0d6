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

TEST(VariableThreads, NoUpdateIsLost) {
  const Variable v(zeros({64}), "v");
  const auto step = function([&](const Tensor& one) {
    v.assign_add(one);
    return one * 2;
  });
  const Tensor one = ones({64});
  test::on_threads(3, [&](int t) {
    for (int i = 0; i < 200; ++i) {
      if (t == 0) {
        v.assign_add(one);
      } else {
        static_cast<void>(step(one));
      }
    }
  });
  EXPECT_EQ(v.value().to_vector<float>()[63], 600);
}

TEST(VariableThreads, RunsThatReadEachOthersVariablesDoNotWaitForEver) {
  const Variable a(ones({8}), "a");
  const Variable b(ones({8}), "b");
  const auto from_b = function([&](const Tensor& x) {
    a.assign(a.value() + b.value() * 0);
    return x + 1;
  });
  const auto from_a = function([&](const Tensor& x) {
    b.assign(b.value() + a.value() * 0);
    return x + 1;
  });
  const auto both = function([&](const Tensor& x) {
    b.assign(b.value() + 0);
    a.assign(a.value() + 0);
    return x + 1;
  });
  const Tensor x = ones({1});
  test::on_threads(3, [&](int t) {
    for (int i = 0; i < 300; ++i) {
      static_cast<void>(t == 0 ? from_a(x) : t == 1 ? from_b(x) : both(x));
    }
  });
  EXPECT_EQ(a.value().to_vector<float>()[0], 1);
  EXPECT_EQ(b.value().to_vector<float>()[0], 1);
}

TEST(VariableThreads, MakeOneOfEachName) {
  Container container;
  test::on_threads(4, [&](int) {
    const VariableScope scope("net", container, VariableScope::Reuse::automatic);
    for (int i = 0; i < 50; ++i) {
      get_variable(std::to_string(i), [] { return zeros({1}); }).assign_add(ones({1}));
    }
  });
  EXPECT_EQ(container.variables().size(), 50u);
  for (const Variable& variable : container.variables()) {
    EXPECT_EQ(variable.value().item<float>(), 4) << variable.name();
  }
}

}  // namespace
}  // namespace tenure
