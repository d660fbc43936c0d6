#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/share.h"

// Loops that run for long and must not grow by one byte. TENURE_LONG=1 makes them run ten million
// iterations.

namespace tenure {
namespace {

std::int64_t iterations(int usual) {
  return std::getenv("TENURE_LONG") != nullptr ? 10'000'000 : test::rounds(usual);
}

/// Runs `iteration(i)` and checks that after a warm-up nothing grows.
template <class F>
void expect_steady(std::int64_t n, const F& iteration) {
  for (std::int64_t i = 0; i < 5000; ++i) iteration(i);
  const MemoryStats before = memory();
  LeakGuard guard("steady");
  for (std::int64_t i = 0; i < n; ++i) {
    iteration(i);
    if (i % 1000 == 0) guard.mark();
  }
  const MemoryStats after = memory();
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(after.tensors, before.tensors);
  EXPECT_EQ(after.storages, before.storages);
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);
  EXPECT_EQ(after.cached_bytes, before.cached_bytes);
  EXPECT_EQ(after.metadata_bytes, before.metadata_bytes);
  EXPECT_EQ(after.allocations - before.allocations, after.frees - before.frees);
}

TEST(Steady, SmallOps) {
  const Tensor w = full({4, 4}, 0.25);
  const Tensor b = ones({4});
  Tensor state = zeros({2, 4});
  expect_steady(iterations(300'000), [&](std::int64_t i) {
    switch (i % 8) {
      case 0:
        state = tanh(matmul(state, w) + b);
        break;
      case 1: {
        const Tensor y = transpose(state);
        EXPECT_EQ(y.dim(0), 4);
        break;
      }
      case 2:
        state += 0.5;
        break;
      case 3: {
        const Tensor s = sum(state * state, {1});
        s.dispose();
        break;
      }
      case 4: {
        const Tensor both = concat({state, state});
        const Tensor part = slice(both, 0, 1, 3);
        both.dispose();
        EXPECT_EQ(part.size(), 8);
        break;
      }
      case 5:
        state = tidy([&] { return (state - 1) * 2 + 1; });
        break;
      case 6:
        try {
          state + ones({3});
        } catch (const ShapeError&) {
        }
        break;
      default:
        state = softmax(std::move(state));
    }
  });
  EXPECT_EQ(state.shape(), (Shape{2, 4}));
}

TEST(Steady, AllSizes) {
  test::Random random(11);
  std::vector<Tensor> window(16);
  // Each thousand iterations are the same; during the first few, large blocks find their places.
  expect_steady(test::rounds(30'000) / 1000 * 1000, [&](std::int64_t i) {
    if (i % 1000 == 0) random = test::Random(11);
    if (i % 1000 == 0) std::fill(window.begin(), window.end(), Tensor());
    window[static_cast<std::size_t>(i % 16)] =
        test::room(random.below(random.below(20) == 0 ? 200'000 : 3000));
    if (i % 1000 == 999) std::fill(window.begin(), window.end(), Tensor());
  });
}

TEST(Steady, NamesScopesBudgetsAndErrors) {
  const Tensor x = ones({8});
  expect_steady(test::rounds(20'000), [&](std::int64_t i) {
    const Scope scope("step");
    const NameScope name("layer");
    const Budget budget("step", 1 * MiB);
    Tensor y = x * 2;
    y.set_name("result " + std::to_string(i));
    const Tensor kept = keep(y + 1);
    y.dispose();
    EXPECT_THROW(y.to_vector<float>(), DisposedError);
    if (i % 16 == 0) {
      EXPECT_THROW(zeros({1 << 20}), OutOfMemory);
    }
  });
}

TEST(Steady, Threads) {
  const Tensor x = ones({64});
  const auto work = [&] {
    for (int i = 0; i < 100; ++i) const Tensor y = tidy([&] { return relu(x - i) + x; });
  };
  for (int i = 0; i < 10; ++i) test::on_thread(work);
  const MemoryStats before = memory();
  for (int i = 0; i < test::rounds(300); ++i) test::on_thread(work);
  EXPECT_EQ(memory().bytes, before.bytes);
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().reserved_bytes, before.reserved_bytes);
  EXPECT_EQ(memory().metadata_bytes, before.metadata_bytes);
}

}  // namespace
}  // namespace tenure
