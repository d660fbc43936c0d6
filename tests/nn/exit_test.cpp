#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "tenure/tenure.h"

// A program that uses the library wherever C++ lets it: in constructors and destructors of static
// and thread_local objects, at exit, and in a detached thread while main() returns. It is this test
// program, started again with kVariable set.

namespace tenure {
namespace {

constexpr const char* kVariable = "TENURE_TEST_EXIT";

bool is_program() { return std::getenv(kVariable) != nullptr; }

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "exit_test: %s\n", what);
  _exit(3);
}

void use_ops() {
  require(sum(ones({4}) + 1).item<float>() == 8, "a small op");
  require(sum(exp(zeros({1 << 19}))).item<float>() == 1 << 19, "a large op");
  require(matmul(ones({100, 100}), ones({100, 100})).to_vector<float>()[7] == 100, "a product");
  require(matmul(ones({300, 256}), ones({256, 310})).to_vector<float>()[7] == 256,
          "a large product");
  require(std::abs(mean(uniform({4096})).item<float>() - 0.5) < 0.1, "random numbers");
  require(tidy([] { return ones({3}) * 2; }).to_vector<float>()[2] == 2, "tidy");
  const Budget budget("exit", 1 * MiB);
  const NameScope name("exit");
  require(!live_tensors().empty() || ones({1}).size() == 1, "a census");
  static_cast<void>(memory());
}

void use_gradients() {
  const Variable w(full({120, 120}, 0.5), "w");
  GradientTape outer;
  GradientTape tape;
  const Tensor loss = sum(square(w.value()));
  require(tape.gradient(loss, w).to_vector<float>()[5] == 1, "a gradient");
}

void use_variables() {
  Container container;
  const VariableScope scope("model", container);
  const VariableScope inner("layer");
  const Variable v = get_variable("v", [] { return ones({2}); });
  v.assign_add(1);
  require(v.name() == "model/layer/v" && v.value().to_vector<float>()[0] == 2, "a variable");
}

void use_graphs() {
  Graph graph("exit");
  const Tensor x = graph.placeholder("x", float32, {4});
  Session session(graph);
  require(session.run(x * 2 + 1, {{x, ones({4})}}).to_vector<float>()[3] == 3, "a session");
  const auto f = function([](const Tensor& a) { return tanh(a) * 0 + 1; });
  require(f(ones({5})).to_vector<float>()[4] == 1, "a function");
}

void use_training() {
  const nn::Sequential model(nn::Dense(2, 4), nn::Tanh(), nn::Dense(4, 2));
  nn::Sgd sgd(model.trainable(), 0.1);
  nn::Trainer trainer(
      model, [](const Tensor& y, const Tensor& target) { return mse_loss(y, target); }, sgd);
  const data::Dataset batches =
      data::from_tensors({ones({16, 2}), zeros({16, 2})}).batch(4).prefetch(2);
  const nn::History history = nn::fit(trainer, batches, {.progress = nn::Progress::none});
  require(std::isfinite(history.epochs.back().training.loss), "training");
}

/// Two threads may not do these at a time.
void use_recording() {
  LeakGuard guard("exit", {.warm_up = 0, .patience = 1, .report = [](const LeakError&) {}});
  const std::string file =
      std::filesystem::temp_directory_path() / ("tenure_exit_" + std::to_string(getpid()));
  {
    const Recording recording(1000);
    const Profile profile(file);
    static_cast<void>(ones({3}) + 1);
    guard.mark();
    require(!recording.events().empty(), "a recording");
  }
  std::filesystem::remove(file);
}

void use_everything(bool alone = true) try {
  use_ops();
  use_gradients();
  use_variables();
  use_graphs();
  use_training();
  if (alone) use_recording();
} catch (const std::exception& error) {
  require(false, error.what());
}

/// Its destructor comes after those of all that the library has made by then.
struct Oldest {
  ~Oldest() {
    if (is_program()) use_everything();
  }
};
struct User {
  User() {
    if (is_program()) use_everything();
  }
  ~User() {
    if (is_program()) use_everything();
  }
};

const Oldest oldest;
thread_local const Oldest oldest_of_thread;
const User user;
thread_local const User user_of_thread;

TEST(Exit, Program) {
  if (!is_program()) GTEST_SKIP() << "runs as a child of the test below";
  static_cast<void>(&oldest_of_thread);
  std::thread([] {
    static_cast<void>(&oldest_of_thread);
    static_cast<void>(&user_of_thread);
    use_everything();
  }).join();
  static_cast<void>(&user_of_thread);
  std::atexit([] { use_everything(); });
  std::atomic<bool> is_working{false};
  std::thread([&is_working] {
    use_everything(false);
    is_working = true;
    for (;;) use_everything(false);
  }).detach();
  while (!is_working) std::this_thread::yield();
}

TEST(Exit, EveryModeWorksUntilTheVeryEnd) {
  if (is_program()) GTEST_SKIP();
  for (int run = 0; run < 3; ++run) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      setenv(kVariable, "1", 1);
      // Its strict order of initialization forbids what is tried here, and what the end cuts off in
      // the middle of its work still holds something.
      setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
      execl("/proc/self/exe", "exit_test", "--gtest_filter=Exit.Program", "--gtest_brief=1",
            static_cast<char*>(nullptr));
      _exit(127);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    ASSERT_EQ(WEXITSTATUS(status), 0);
  }
}

}  // namespace
}  // namespace tenure
