#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/put.h"
#include "tests/support/same_bits.h"

// Weights that a program finds unchanged it keeps packed. That is to be seen in the ledger and in
// the plan, and in no result.

namespace tenure {
namespace {

std::int64_t packed_bytes() { return memory()[Category::cache].bytes; }

/// Rows and weights that kernels pack.
constexpr std::int64_t kRows = 32;
constexpr std::int64_t kTerms = 320;
constexpr std::int64_t kColumns = 288;

class PackedWeights : public ::testing::Test {
 protected:
  PackedWeights() { seed(7); }
  ~PackedWeights() override { set_num_threads(threads_); }

  Tensor rows(std::int64_t n = kRows) const { return normal({n, kTerms}); }
  Variable weights() const { return Variable(normal({kTerms, kColumns}), "weights"); }

 private:
  int threads_ = num_threads();
};

template <class F>
auto unpacked(const F& f) {
  return function(f, {.name = "unpacked", .packed_limit = 0});
}

TEST_F(PackedWeights, AreCountedAndPlannedAndEndWithTheProgram) {
  const Variable w = weights();
  auto f = function([&](const Tensor& x) { return matmul(x, w.value()); });
  const Tensor x = rows();
  const Plan plan = f.plan(x);
  EXPECT_GE(plan.packed, kTerms * kColumns * 4);
  EXPECT_NE(to_string(plan).find("packed weights"), std::string::npos);
  const std::int64_t before = packed_bytes();
  const Tensor first = f(x);
  EXPECT_EQ(packed_bytes(), before) << "who runs once needs none";
  for (int run = 2; run < 6; ++run) {
    const MemoryRegion region;
    const Tensor y = f(x);
    test::expect_same_bits(y, first);
    if (run != 2) {  // It packs when it is done, and may hold more then.
      EXPECT_EQ(region.peak_bytes(), plan.peak) << "in run " << run;
    }
    EXPECT_EQ(packed_bytes() - before, plan.packed);
  }
  f.clear();
  EXPECT_EQ(packed_bytes(), before);
}

TEST_F(PackedWeights, GiveTheSameBits) {
  std::mt19937_64 random(20261118);
  const auto among = [&](auto... values) {
    const std::array<std::int64_t, sizeof...(values)> all{values...};
    return all[random() % all.size()];
  };
  int packed = 0;
  for (int round = 0; round < 40; ++round) {
    const std::int64_t m = among(2, 5, 14, 27, 32, 64, 100);
    const std::int64_t k = among(64, 255, 256, 257, 513, 800);
    const std::int64_t n = among(17, 32, 64, 100, 129, 300, 512);
    const DType dtype = std::array{DType::float32, DType::float32, DType::float64, DType::bfloat16,
                                   DType::float16}[random() % 5];
    const bool turned = random() % 2 == 0;
    const bool follows = random() % 2 == 0;
    const Tensor x = cast(random() % 2 == 0 ? normal({m, k}) : transpose(normal({k, m})), dtype);
    const Variable w(cast(turned ? normal({n, k}) : normal({k, n}), dtype), "w");
    const Variable bias(cast(normal({n}), dtype), "bias");
    const auto program = [&](const Tensor& in) {
      const Tensor y = matmul(in, turned ? transpose(w.value()) : w.value());
      return follows ? relu(y + bias.value()) : y;
    };
    auto with = function(program);
    const Tensor expected = unpacked(program)(x);
    packed += with.plan(x).packed > 0 ? 1 : 0;
    for (const int threads : {1, 2, 3, 16}) {
      set_num_threads(threads);
      test::expect_same_bits(with(x), expected);
      if (HasFatalFailure()) FAIL() << m << " x " << n << " x " << k << ", " << name_of(dtype);
    }
  }
  EXPECT_GE(packed, 10);
}

TEST_F(PackedWeights, AreNeverStale) {
  const Variable w = weights();
  const auto program = [&](const Tensor& x) { return matmul(x, w.value()); };
  auto with = function(program);
  auto without = unpacked(program);
  const Tensor x = rows();
  auto shrink = function([&](const Tensor& by) {
    w.assign(w.value() * by);
    return by;
  });
  const std::vector<std::function<void()>> changes = {
      [&] {
        w.assign(normal({kTerms, kColumns}));  // which it takes over
      },
      [&] {
        const Tensor fresh = normal({kTerms, kColumns});
        w.assign(fresh);  // copied to where it is
      },
      [&] { w.assign_add(1.0F); },
      [&] {
        w.assign_sub(normal({kTerms, kColumns}));
      },
      [&] {
        const Tensor held = w.value();  // so it gets other memory
        w.assign(normal({kTerms, kColumns}));
      },
      [&] { shrink(full({}, 0.5F)); },
  };
  std::mt19937_64 random(3);
  for (int round = 0; round < 30; ++round) {
    const std::size_t runs = random() % 4;
    for (std::size_t run = 0; run < runs; ++run) test::expect_same_bits(with(x), without(x));
    changes[static_cast<std::size_t>(round) % changes.size()]();
    test::expect_same_bits(with(x), without(x));
    if (HasFatalFailure())
      FAIL() << "after change " << static_cast<std::size_t>(round) % changes.size();
  }
}

TEST_F(PackedWeights, ThatSomebodyMayWriteToAreNone) {
  const Variable w = weights();
  const auto program = [&](const Tensor& x) { return matmul(x, w.value()); };
  auto with = function(program);
  auto without = unpacked(program);
  const Tensor x = rows();
  const std::int64_t before = packed_bytes();
  for (int run = 0; run < 3; ++run) static_cast<void>(with(x));
  EXPECT_GT(packed_bytes(), before);
  const Tensor value = w.value();
  for (int i = 0; i < 4; ++i) {
    test::put(value, i, 100.0F);
    test::expect_same_bits(with(x), without(x));
    EXPECT_EQ(packed_bytes(), before);
  }
}

TEST_F(PackedWeights, OfConstantsStay) {
  const Tensor w = normal({kTerms, kColumns});
  Graph graph;
  const Tensor in = graph.placeholder("x", DType::float32, {kRows, kTerms});
  const Tensor y = matmul(in, w);
  const Tensor z = relu(matmul(in, w));
  Session session(graph);
  const Tensor x = rows();
  const std::int64_t before = packed_bytes();
  const std::vector<Tensor> first = session.run({y, z}, {{"x", x}});
  for (int run = 0; run < 4; ++run) {
    const std::vector<Tensor> again = session.run({y, z}, {{"x", x}});
    test::expect_same_bits(again[0], first[0]);
    test::expect_same_bits(again[1], first[1]);
  }
  const std::int64_t once = packed_bytes() - before;
  EXPECT_GE(once, kTerms * kColumns * 4);
  EXPECT_LT(once, 2 * kTerms * kColumns * 4) << "two products read one";
  session.close();
  EXPECT_EQ(packed_bytes(), before);
}

TEST_F(PackedWeights, HaveALineInRecordings) {
  const Variable w = weights();
  auto f = function([&](const Tensor& x) { return matmul(x, w.value()); });
  const Tensor x = rows();
  const std::int64_t packed = f.plan(x).packed;
  const Recording recording;
  for (int run = 0; run < 3; ++run) static_cast<void>(f(x));
  int lines = 0;
  for (const MemoryEvent& event : recording.events()) {
    if (event.kind != MemoryEvent::Kind::create || event.bytes != packed) continue;
    EXPECT_STREQ(event.op, "pack");
    EXPECT_NE(to_string(event.site).find("packed_weights_test.cpp"), std::string::npos);
    ++lines;
  }
  EXPECT_EQ(lines, 1);
}

TEST_F(PackedWeights, KeepToTheBudgetOfTheProgram) {
  const Variable w = weights();
  const auto program = [&](const Tensor& x) { return matmul(x, w.value()); };
  const Tensor x = rows();
  const Plan free = function(program).plan(x);
  const std::int64_t needed = free.peak + static_cast<std::int64_t>(x.nbytes());
  EXPECT_EQ(function(program, {.budget = needed}).plan(x).packed, 0);
  EXPECT_EQ(function(program, {.budget = needed + free.packed - 1}).plan(x).packed, 0);
  const Plan fits = function(program, {.budget = needed + free.packed}).plan(x);
  EXPECT_EQ(fits.packed, free.packed);
  EXPECT_EQ(fits.peak, free.peak);
  EXPECT_EQ(function(program, {.packed_limit = free.packed - 1}).plan(x).packed, 0);
}

TEST_F(PackedWeights, GiveWayToOthersWithinABudget) {
  const Variable w = weights();
  auto f = function([&](const Tensor& x) { return matmul(x, w.value()); });
  const Tensor x = rows();
  const Plan plan = f.plan(x);
  const Tensor expected = f(x);
  const std::int64_t before = packed_bytes();
  // Room for a run alone: nothing is packed, and every run fits.
  {
    const Budget tight("tight", static_cast<std::size_t>(plan.peak));
    for (int run = 0; run < 4; ++run) test::expect_same_bits(f(x), expected);
    EXPECT_EQ(packed_bytes(), before);
  }
  // Room for both: what is packed goes as soon as somebody else wants the memory.
  const std::int64_t limit = plan.peak + plan.packed;
  const Budget roomy("roomy", static_cast<std::size_t>(limit));
  for (int run = 0; run < 4; ++run) test::expect_same_bits(f(x), expected);
  EXPECT_EQ(packed_bytes() - before, plan.packed);
  for (int round = 0; round < 20; ++round) {
    const Tensor large = empty({limit - plan.peak}, DType::uint8);
    for (int run = 0; run < 3; ++run) test::expect_same_bits(f(x), expected);
    EXPECT_EQ(packed_bytes(), before);
  }
}

TEST_F(PackedWeights, AreLeftByARunThatFails) {
  const Variable w = weights();
  const auto program = [&](const Tensor& x, const Tensor& index) {
    return take(matmul(x, w.value()), index);
  };
  auto f = function(program);
  const Tensor x = rows();
  const Tensor right = tensor(std::vector<std::int64_t>{0, 3});
  const Tensor wrong = tensor(std::vector<std::int64_t>{0, kRows + 3});
  const Tensor expected = unpacked(program)(x, right);
  for (int run = 0; run < 6; ++run) {
    EXPECT_ANY_THROW(static_cast<void>(f(x, wrong)));
    test::expect_same_bits(f(x, right), expected);
  }
  EXPECT_THROW(
      {
        w.dispose();
        static_cast<void>(f(x, right));
      },
      DisposedError);
}

TEST_F(PackedWeights, ServeManyThreadsWhileTheyChange) {
  const Variable w = weights();
  const auto program = [&](const Tensor& x) { return matmul(x, w.value()); };
  auto f = function(program);
  const Tensor x = rows();
  const std::array<Tensor, 2> values = {normal({kTerms, kColumns}), normal({kTerms, kColumns})};
  std::vector<Tensor> expected;
  for (const Tensor& value : values) {
    w.assign(value);
    expected.push_back(unpacked(program)(x));
  }
  std::atomic<bool> is_over{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!is_over.load()) {
        const std::vector<float> y = f(x).to_vector<float>();
        if (y != expected[0].to_vector<float>() && y != expected[1].to_vector<float>()) ++wrong;
      }
    });
  }
  for (int i = 0; i < 60; ++i) {
    w.assign(values[static_cast<std::size_t>(i % 2)]);
    std::this_thread::yield();
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(PackedWeights, AreThereInAChild) {
  if (default_device() != cpu) GTEST_SKIP() << "a child has no queue of the test device";
  const Variable w = weights();
  auto f = function([&](const Tensor& x) { return matmul(x, w.value()); });
  const Tensor x = rows();
  const std::vector<float> expected = f(x).to_vector<float>();
  for (int run = 0; run < 3; ++run) static_cast<void>(f(x));
  const pid_t child = fork();
  if (child == 0) {
    bool is_right = f(x).to_vector<float>() == expected;
    w.assign(normal({kTerms, kColumns}));
    is_right = is_right && f(x).to_vector<float>() != expected;
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(f(x).to_vector<float>(), expected);
}

}  // namespace
}  // namespace tenure
