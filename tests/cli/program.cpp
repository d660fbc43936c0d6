// A program to record: `program HOW`, which is one of steady, leak, late, unmarked, refused,
// budgets, crash, held, taped, disposed, hostile, threads, helper, train, tight, loop, carried,
// nothing and wait.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/small_net.h"

using namespace tenure;

namespace {

/// Steps of a compiled training; if asked, with so little memory that some is computed twice.
void train(bool is_tight) {
  const test::SmallNet model;
  nn::Adam adam(model.trainable());
  const nn::Loss loss = [](const Tensor& y, const Tensor& t) { return mean(square(y - t)); };
  const Tensor x = ones({128, 64});
  const Tensor target = zeros({128, 32});
  nn::TrainerOptions options;
  if (is_tight) options.budget = nn::Trainer(model, loss, adam).plan(x, target).peak() * 9 / 10;
  nn::Trainer trainer(model, loss, adam, options);
  for (int i = 0; i < 5; ++i) {
    trainer.step(x, target);
    mark_step("train");
  }
}

/// A compiled loop with a branch in it.
void loop() {
  const auto model = function(test::looped);
  const Tensor x = full({32, 32}, 0.01);
  for (int i = 0; i < 5; ++i) {
    model(x);
    mark_step("loop");
  }
}

}  // namespace

// A view keeps 16 KiB in each of the last thousand steps; if asked, without step marks.
static void leak_late(bool is_marked) {
  std::vector<Tensor> kept;
  const Tensor w = full({8, 8}, 0.5);
  for (int i = 1; i <= 2000; ++i) {
    const Tensor y = relu(matmul(w, w));
    if (i > 1000) {
      const Tensor whole = ones({4096});
      kept.push_back(slice(whole, 0, 0, 1));
    }
    if (is_marked) mark_step("train");
  }
}

// A budget refuses the third of three tensors, of which two are held; a view shares the second.
static void be_refused() {
  const Budget budget("request", 64 * KiB);
  const Tensor first = ones({4096});
  const Tensor second = zeros({4096});
  const Tensor view = slice(second, 0, 0, 16);
  try {
    const Tensor third = full({16384}, 1.0);
  } catch (const OutOfMemory&) {
    std::puts("refused");
  }
}

// Two tapes save the same tensor, each for several calls.
static void save_on_tapes() {
  std::vector<Tensor> kept;
  const Tensor x = full({64, 64}, 0.5);
  GradientTape tape;
  tape.watch(x);
  for (int i = 0; i < 4; ++i) kept.push_back(matmul(x, x));
  raise(SIGSEGV);
}

// Eight threads that are the first to use memory, all at once: 4000 tensors of 400 bytes each, some
// 4 MiB of events.
static void start_threads() {
  std::latch start(8);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&start] {
      start.arrive_and_wait();
      for (int k = 0; k < 4000; ++k) const Tensor x = zeros({100});
    });
  }
}

[[gnu::noinline]] Tensor make_buffer() {
  Tensor x = zeros({256});
  return x;
}
[[gnu::noinline]] void keep_one(std::vector<Tensor>& kept) { kept.push_back(make_buffer()); }
[[gnu::noinline]] void use_one() { const Tensor x = make_buffer() + 1; }
// Two functions call a helper, of which one keeps what it gets.
static void leak_through_helper() {
  std::vector<Tensor> kept;
  for (int i = 0; i < 100; ++i) {
    use_one();
    keep_one(kept);
    mark_step("train");
  }
}

/// A state that is carried over on one tape, which has more and more values.
class Carried {
 public:
  Carried() { tape_.watch(w_); }
  [[gnu::noinline]] void advance() { state_ = tanh(state_ * w_); }

 private:
  GradientTape tape_{};
  Tensor w_ = full({4}, 0.5);
  Tensor state_ = ones({4});
};
static void carry_on() {
  Carried carried;
  for (int i = 0; i < 200; ++i) {
    carried.advance();
    mark_step("train");
  }
}

[[gnu::noinline]] Tensor make_one() {
  Tensor x = ones({4});
  return x;
}
[[gnu::noinline]] void use_it(const Tensor& x) {
  try {
    std::puts(to_string((x + 1).shape()).c_str());
  } catch (const Error& error) {
    std::puts(error.what());
  }
}
// Uses a tensor that was disposed, here and in a child.
static void use_disposed() {
  const Tensor x = make_one();
  x.dispose();
  use_it(x);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const Tensor y = make_one();
    y.dispose();
    use_it(y);
    std::fflush(stdout);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

int main(int, char** arguments) {
  const std::string what = arguments[1];
  if (what == "nothing") return 0;
  if (what == "refused") return be_refused(), 0;
  if (what == "budgets") {
    for (int i = 0; i < 20; ++i) be_refused();
    return 0;
  }
  if (what == "late" || what == "unmarked") return leak_late(what == "late"), 0;
  if (what == "threads") return start_threads(), 0;
  if (what == "helper") return leak_through_helper(), 0;
  if (what == "train" || what == "tight") return train(what == "tight"), 0;
  if (what == "carried") return carry_on(), 0;
  if (what == "loop") return loop(), 0;
  if (what == "taped") return save_on_tapes(), 0;
  if (what == "disposed") return use_disposed(), 0;
  std::vector<Tensor> kept;
  const NameScope name(what == "hostile" ? "<script>alert(\"1\")</script>\x1b[2J\xff\n" : "model");
  Tensor w = full({64, 64}, 0.5);
  w.set_name("weights");
  for (int i = 0; i < 20; ++i) {
    const Tensor y = relu(matmul(w, w));
    if (what == "leak") kept.push_back(ones({256}));
    mark_step("train");
  }
  if (what == "held") {
    for (int i = 0; i < 30; ++i) {
      kept.push_back(ones({256}));
      if (i < 5) kept.back().set_name("part " + std::to_string(i));
    }
    for (int i = 0; i < 4; ++i) kept.push_back(zeros({512}));
  }
  if (what == "crash" || what == "held") raise(SIGSEGV);
  if (what == "wait") {
    std::puts("ready");
    std::fflush(stdout);
    std::getchar();
  }
  return what == "leak" ? 7 : 0;
}
