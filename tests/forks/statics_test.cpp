#include <cxxabi.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/scratch.h"

// A static object in a function is made under a lock of the compiler's. A child of fork() in which
// another thread held it would wait for ever. So a child must never come to make one that a thread
// of its parent could have been making: all are made before a fork, or need no such lock. The
// compiler's lock is replaced here by one that tells.

namespace {

std::atomic<bool> is_counting{false};
std::atomic<int> made{0};

}  // namespace

extern "C" {

// As the ABI has it: the first byte says that the object is there. Here the second one that
// somebody makes it.
int __cxa_guard_acquire(__cxxabiv1::__guard* guard) {
  auto* const bytes = reinterpret_cast<std::atomic<std::uint8_t>*>(guard);
  for (;;) {
    if (bytes[0].load(std::memory_order_acquire) != 0) return 0;
    if (bytes[1].exchange(1, std::memory_order_acquire) == 0) break;
    sched_yield();
  }
  if (bytes[0].load(std::memory_order_acquire) != 0) {
    bytes[1].store(0, std::memory_order_release);
    return 0;
  }
  if (is_counting) {
    ++made;
    std::array<void*, 8> frames{};
    std::fprintf(stderr, "a static object is made in a child:\n");
    backtrace_symbols_fd(frames.data(), backtrace(frames.data(), 8), STDERR_FILENO);
  }
  return 1;
}

void __cxa_guard_release(__cxxabiv1::__guard* guard) noexcept {
  auto* const bytes = reinterpret_cast<std::atomic<std::uint8_t>*>(guard);
  bytes[0].store(1, std::memory_order_release);
  bytes[1].store(0, std::memory_order_release);
}

void __cxa_guard_abort(__cxxabiv1::__guard* guard) noexcept {
  reinterpret_cast<std::atomic<std::uint8_t>*>(guard)[1].store(0, std::memory_order_release);
}
}

namespace tenure {
namespace {

/// A little of everything.
void use_all(const test::Scratch& scratch) {
  const Tensor x = normal({8, 4});
  Tensor y = tidy([&] { return softmax(matmul(x, transpose(x))); });
  y += 1;
  y -= y / 2;
  y *= 3;
  y /= 2;
  sum(sort(y, 0));
  topk(max(y, {1}), 2);
  where(y > 1, y, cumsum(y, 0));
  dropout(x, 0.5);
  Graph graph;
  const Tensor symbol = graph.placeholder("x", float32, {kUnknown, 4});
  Session session(graph);
  session.run(exp(symbol) + 1, {{symbol, x}});
  const auto loop = function([](const Tensor& t) {
    return while_loop([](const Tensor& s) { return sum(s) < 100; },
                      [](const Tensor& s) { return s + 1; }, t);
  });
  loop(abs(x));
  const auto small =
      function([](const Tensor& t) { return sum(exp(t) * tanh(exp(t))); }, {.budget = 4096});
  small(x);
  const Variable v(ones({4}), "v");
  v.assign_add(ones({4}));
  v.assign_sub(1);
  get_variable("shared", [] { return ones({2}); });
  GradientTape tape;
  tape.watch(x);
  const auto twice =
      custom_gradient([](Saves&, const Tensor& t) { return t * 2; },
                      [](const std::vector<Tensor>&, const Tensor& g) { return g * 2; });
  tape.gradient(sum(twice(x)), x);
  const nn::Sequential model(nn::Dense(4, 8), nn::BatchNorm(8), nn::Gelu(), nn::Dense(8, 4));
  nn::Adam adam(model.trainable());
  const nn::Loss loss = [](const Tensor& p, const Tensor& t) { return mse_loss(p, t); };
  nn::Trainer trainer(model, loss, adam, {.metrics = {nn::mean_absolute_error()}});
  const data::Dataset batches = data::from_tensors({x, x}).shuffle(3).batch(2).prefetch(2);
  nn::fit(trainer, batches, {.epochs = 2, .progress = nn::Progress::none});
  nn::save_weights(model, scratch / "weights");
  nn::load_weights(model, scratch / "weights");
  std::ofstream(scratch / "a.csv") << "a,b\n1,x\n2,y\n";
  data::read_csv(scratch / "a.csv");
  data::digits(2, 1);
  LeakGuard guard;
  guard.mark();
  {
    const Recording recording(100);
    const Profile profile(scratch / "profile");
    const Budget budget("b", 1 << 20);
    ones({4});
  }
  to_string(memory());
  live_tensors();
  nn::summarize(model, x);
}

/// The first test of the program, and no other has used the library before: whatever a child makes
/// it makes for the first time.
TEST(StaticObjects, AreThereBeforeAFork) {
  const test::Scratch scratch;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(120);
    is_counting = true;
    use_all(scratch);
    is_counting = false;
    _exit(made == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace tenure
