#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tenure/memory/threads/thread_context.h"
#include "tenure/tenure.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

/// What `work` says in a child; 124 if it took a minute, -1 if it crashed.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    try {
      _exit(work());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in a child: %s\n", error.what());
      _exit(99);
    }
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -2;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return WTERMSIG(status) == SIGALRM ? 124 : -1;
}

std::atomic<bool> marks_others_busy{false};

/// Sets the marks of threads that are about to make a tensor.
void mark_others(bool are_busy) {
  if (!marks_others_busy) return;
  for (mem::ThreadContext* c = mem::all_contexts(); c != nullptr; c = c->next) {
    if (c != &mem::this_thread()) c->busy.store(are_busy ? 1 : 0);
  }
}

/// Registered before the library's own, so that it comes last before a fork, when the library has
/// stopped everybody: there a thread may still come as far as to its mark.
[[gnu::constructor(101)]] void mark_at_forks() {
  pthread_atfork([] { mark_others(true); }, [] { mark_others(false); }, nullptr);
}

TEST(Fork, AChildCountsTensorsWhereverTheOtherThreadsWere) {
  std::atomic<bool> ends{false};
  std::atomic<bool> is_there{false};
  std::thread other([&] {
    static_cast<void>(ones({2}));
    is_there = true;
    while (!ends) std::this_thread::yield();
  });
  while (!is_there) std::this_thread::yield();
  const Tensor own = ones({2});  // this thread is known before the fork stops all
  marks_others_busy = true;
  const int outcome = in_child([&] {
    alarm(5);
    return live_tensors().empty() ? 1 : 0;
  });
  marks_others_busy = false;
  ends = true;
  other.join();
  EXPECT_EQ(outcome, 0) << (outcome == 124 ? "the child hangs" : "");
}

TEST(Fork, AChildComputesOnThreadsOfItsOwn) {
  const Tensor a = normal({512, 512});
  const Tensor large = normal({1 << 22});
  const double expected = sum(matmul(a, a)).item<float>();
  sum(tanh(large));  // the parent's threads are there now
  EXPECT_EQ(in_child([&] {
              set_num_threads(8);
              const double product = sum(matmul(a, a)).item<float>();
              tanh(large);
              const bool is_right = std::abs(product - expected) < 1e-3 * std::abs(expected);
              return num_threads() == 8 && is_right ? 0 : 1;
            }),
            0);
  EXPECT_GE(num_threads(), 1);
}

/// Threads that do one kind of work over and over until it ends.
class Busy {
 public:
  Busy() = default;
  ~Busy() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  void add(std::function<void(int)> work) {
    threads_.emplace_back([this, work = std::move(work)] {
      for (int i = 0; !stop_; ++i) work(i);
    });
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

/// Eager, traced, random and listed, small and large.
int compute() {
  const Tensor small = ones({16}) * 2;
  const Tensor large = exp(zeros({1 << 18}));
  const Tensor product = matmul(ones({128, 128}), ones({128, 128}));
  Tensor named = ones({3});
  named.set_name("child");
  const auto own = function([](const Tensor& x) { return x + 1; }, {.budget = 1 << 20});
  const Variable v(ones({8}), "child");
  v.assign_add(uniform({8}));
  GradientTape tape;
  const Tensor gradient = tape.gradient(sum(square(v.value())), v);
  Graph graph("child");
  const Tensor x = graph.placeholder("x", float32, {2});
  Session session(graph);
  const Tensor fetched = session.run(x * 3, {{x, ones({2})}});
  const Recording recording(100);
  const bool is_right = sum(small).item<float>() == 32 && sum(large).item<float>() == 1 << 18 &&
                        product.to_vector<float>()[9] == 128 &&
                        own(small).to_vector<float>()[0] == 3 && gradient.size() == 8 &&
                        fetched.to_vector<float>()[1] == 3 && !live_tensors().empty() &&
                        memory().tensors > 0;
  trim();
  return is_right ? 0 : 1;
}

TEST(Fork, ChildrenOfABusyProcessCompute) {
  if (test::kSanitized) GTEST_SKIP() << "a child may hang on the sanitizer's own locks";
  const auto shared = function([](const Tensor& x) { return tanh(x * 2); }, {.warn_after = 0});
  const Variable state(zeros({64}), "state");
  Busy busy;
  busy.add([](int i) {  // every size of the pool
    std::vector<Tensor> kept;
    for (std::int64_t n = 1; n < (1 << 17); n *= 2) kept.push_back(zeros({n + i % 7}));
    if (i % 16 == 0) trim();
  });
  busy.add([&](int i) {  // traces, graphs and runs
    static_cast<void>(shared(ones({1 + i % 50})));
    Graph graph("busy");
    const Tensor x = graph.placeholder("x", float32, {2});
    static_cast<void>(Session(graph).run(x + i, {{x, ones({2})}}));
    state.assign_add(uniform({64}));
  });
  busy.add([](int i) {  // plans
    const auto planned =
        function([i](const Tensor& x) { return tanh(x) * (1 + i % 100); }, {.budget = 1 << 20});
    static_cast<void>(planned.plan(ones({1 + i % 9})));
  });
  busy.add([](int i) {  // looks at everything
    static_cast<void>(live_tensors());
    static_cast<void>(memory());
    Tensor named = ones({2});
    named.set_name("busy");
    const Recording recording(100);
    static_cast<void>(matmul(named, named));
    GradientTape tape;
    const Variable v(ones({1 + i % 3}), "v");
    static_cast<void>(tape.gradient(sum(v.value() * 2), v));
  });
  for (int i = 0; i < 60; ++i) {
    const int outcome = in_child([&] {
      try {
        static_cast<void>(shared(ones({3})));
        static_cast<void>(state.value());
      } catch (const ForkError&) {  // in use for longer than a fork waits
      }
      return compute();
    });
    ASSERT_EQ(outcome, 0) << "child " << i << (outcome == 124 ? " hangs" : "");
  }
}

TEST(Fork, WhatAnotherThreadHoldsIsRefusedInTheChild) {
  ObjectMutex mutex;
  std::atomic<bool> is_locked{false};
  std::atomic<bool> ends{false};
  std::thread holder([&] {
    mutex.lock();
    is_locked = true;
    while (!ends) std::this_thread::yield();
    mutex.unlock();
  });
  while (!is_locked) std::this_thread::yield();
  EXPECT_EQ(in_child([&] {
              try {
                mutex.lock();
              } catch (const ForkError&) {
                return mutex.is_abandoned() ? 0 : 1;
              }
              return 2;
            }),
            0);
  ends = true;
  holder.join();
  EXPECT_FALSE(mutex.is_abandoned());
  mutex.lock();
  EXPECT_EQ(in_child([&] {  // the forking thread is in the child: its lock is too
              mutex.unlock();
              mutex.lock();
              mutex.unlock();
              return 0;
            }),
            0);
  mutex.unlock();
}

TEST(Fork, AChildGoesOnWithAPassAndMayEndIt) {
  const auto make = [](std::int64_t i) { return data::Batch{full({4}, i, float32)}; };
  data::Pass pass = data::from_function(20, make).prefetch(3).epoch(0);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(pass.next());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(in_child([&] {
                for (int k = 5; k < 12; ++k) {
                  const std::optional<data::Batch> element = pass.next();
                  if (!element || (*element)[0].to_vector<float>()[1] != static_cast<float>(k))
                    return 1;
                }
                pass = data::from_function(2, make).prefetch(1).epoch(0);  // ends the other
                return pass.next() ? 0 : 2;
              }),
              0);
  }
  EXPECT_EQ((*pass.next())[0].to_vector<float>()[0], 5);
}

TEST(Fork, AChildRecordsThoughItsParentDid) {
  const std::string name = "/tmp/tenure_fork_" + std::to_string(getpid());
  {
    Busy busy;
    const Profile parent(name);
    busy.add([](int i) { static_cast<void>(ones({4 + i % 3}) + 1); });
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(in_child([&] {
                  {
                    const Profile own(name + ".child");
                    static_cast<void>(ones({3}) + 1);
                  }
                  unlink((name + ".child").c_str());
                  return 0;
                }),
                0);
    }
  }
  unlink(name.c_str());
}

}  // namespace
}  // namespace tenure
