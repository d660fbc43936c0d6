#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tenure/tenure.h"
#include "tests/support/failing_new.h"
#include "tests/support/scratch.h"
#include "tests/support/share.h"

// Every `new` of the process fails once, at every point of every mode. What throws has changed
// nothing, and the next try succeeds.

namespace tenure {
namespace {

using test::FailingNew;

/// Something that a program does, and what of the program it may change.
struct World {
  virtual ~World() = default;
  virtual void act() = 0;
  /// All that act() may change, but for memory.
  virtual std::string state() const { return {}; }
};

template <class... T>
std::string text_of(const T&... tensors) {
  std::string text;
  const auto add = [&text](const Tensor& tensor) {
    text += tensor.is_disposed() ? "disposed " : "";
    if (tensor.is_disposed()) return;
    for (const double value : tensor.to_vector<double>()) {
      std::array<char, 32> digits{};
      std::snprintf(digits.data(), digits.size(), "%a ", value);
      text += digits.data();
    }
  };
  (add(tensors), ...);
  return text;
}
std::string text_of(const std::vector<nn::NamedVariable>& variables) {
  std::string text;
  for (const nn::NamedVariable& own : variables) {
    text += own.variable.is_disposed() ? "disposed " : text_of(own.variable.value());
  }
  return text;
}

struct Counts {
  std::int64_t tensors = memory().tensors;
  std::int64_t bytes = memory().bytes;
  friend bool operator==(const Counts&, const Counts&) = default;
  friend void PrintTo(const Counts& counts, std::ostream* out) {
    *out << counts.tensors << " tensors, " << counts.bytes << " bytes";
  }
};

/// Fails each `new` of act() in turn, then lets it pass.
void fail_everywhere(const std::function<std::unique_ptr<World>()>& make) {
  const auto world = make();
  int failures = 0;
  constexpr std::int64_t kStep = test::kSanitized ? 11 : 1;  // each call is slow there
  for (std::int64_t n = 1; n < 1'000'000; n += kStep) {
    const std::string before = world->state();
    const Counts counts;
    FailingNew failing(n);
    bool threw = false;
    try {
      world->act();
    } catch (const std::bad_alloc&) {
      threw = true;
    } catch (const Error&) {
      threw = true;
    }
    const bool fired = failing.fired();
    const FailingNew none(0);
    if (!threw) {
      if (fired) continue;  // it could do without
      break;
    }
    ASSERT_TRUE(fired) << "call " << n << " leaves behind what keeps the next from succeeding";
    ++failures;
    ASSERT_EQ(world->state(), before) << "call " << n;
    ASSERT_EQ(world->state().find("disposed"), std::string::npos) << "call " << n;
    ASSERT_EQ(Counts(), counts) << "call " << n;
  }
  EXPECT_GT(failures, 0);
}

template <class T>
std::unique_ptr<World> world_of() {
  return std::make_unique<T>();
}

TEST(FailingNew, Eager) {
  struct Eager final : World {
    Tensor w = full({8, 8}, 0.5);
    void act() override {
      const Scope scope("layer");
      Tensor x = ones({8, 8});
      x.set_name("a name that is longer than a small string holds");
      const Tensor view = transpose(x);
      const Tensor y = softmax(tanh(matmul(view, w) + 1), 0);
      const auto parts = split(y, 2);
      static_cast<void>(concat({parts[1], parts[0]}, 0));
      static_cast<void>(sum(sort(y)));
      static_cast<void>(to_string(y));
      static_cast<void>(holders(w));
    }
    std::string state() const override { return text_of(w); }
  };
  fail_everywhere(world_of<Eager>);
}

TEST(FailingNew, Tape) {
  struct Tape final : World {
    Variable w{full({8, 8}, 0.5), "w"};
    Tensor x = ones({4, 8});
    void act() override {
      GradientTape tape;
      tape.watch(x);
      const Tensor y = sum(tanh(matmul(x, w.value())));
      const std::vector<Tensor> gradients = tape.gradient(y, std::vector{x});
      static_cast<void>(text_of(gradients[0]));
    }
    std::string state() const override { return text_of(x, w.value()); }
  };
  fail_everywhere(world_of<Tape>);
}

TEST(FailingNew, VariablesInAScope) {
  struct Variables final : World {
    Variable v{zeros({3}), "v"};
    int runs = 0;
    void act() override {
      const VariableScope scope("model");
      const Variable own(ones({4}), "own");
      own.assign(own.value() * 2);
      v.assign(ones({3}));
    }
    std::string state() const override { return text_of(v.value()); }
  };
  // The last step is the assignment, so that whatever fails comes before it.
  fail_everywhere(world_of<Variables>);
}

TEST(FailingNew, GraphAndSession) {
  struct Graphs final : World {
    void act() override {
      Graph graph("g");
      const Tensor x = graph.placeholder("x", DType::float32, {kUnknown, 4});
      const Tensor y = tanh(matmul(x, full({4, 2}, 0.5))) + 1;
      Session session(graph);
      static_cast<void>(text_of(session.run(y, {{x, ones({3, 4})}})));
    }
  };
  fail_everywhere(world_of<Graphs>);
}

TEST(FailingNew, RunsOfASession) {
  struct Runs final : World {
    Graph graph{"g"};
    Variable v{zeros({2}), "v"};
    Tensor x = graph.placeholder("x", DType::float32, {2});
    Tensor assigned = graph.assign(v, graph.read(v) + x);
    Session session{graph};
    void act() override { static_cast<void>(session.run(assigned, {{x, ones({2})}})); }
    std::string state() const override { return text_of(v.value()); }
  };
  fail_everywhere(world_of<Runs>);
}

TEST(FailingNew, FunctionsAreTracedAndCalled) {
  struct Functions final : World {
    Variable v{zeros({4}), "v"};
    void act() override {
      const auto f = function([&](const Tensor& x) {
        v.assign(x + v.value());
        return tanh(x * 2);
      });
      static_cast<void>(f(ones({4})));
    }
    std::string state() const override { return text_of(v.value()); }
  };
  fail_everywhere(world_of<Functions>);
}

TEST(FailingNew, CallsOfACompiledFunction) {
  struct Calls final : World {
    Variable v{zeros({4}), "v"};
    Function<std::function<Tensor(const Tensor&)>> f{
        function(std::function<Tensor(const Tensor&)>([this](const Tensor& x) {
          v.assign(x + v.value());
          return tanh(x * 2);
        }))};
    Tensor x = ones({4});
    Calls() { static_cast<void>(f(x)); }
    void act() override { static_cast<void>(f(x)); }
    std::string state() const override { return text_of(v.value()); }
  };
  fail_everywhere(world_of<Calls>);
}

Tensor mean_square(const Tensor& prediction, const Tensor& target) {
  return mean(square(prediction - target));
}

struct Training : World {
  explicit Training(nn::TrainerOptions options)
      : trainer(model, mean_square, adam, std::move(options)) {}
  nn::Sequential model = [] {
    seed(1);
    return nn::Sequential(nn::Dense(3, 4), nn::Tanh(), nn::Dense(4, 2));
  }();
  nn::Adam adam{model.trainable(), 0.1};
  nn::Trainer trainer;
  Tensor x = ones({4, 3});
  Tensor target = zeros({4, 2});
  void act() override { trainer.step(x, target); }
  std::string state() const override { return text_of(trainer.variables()); }
};

TEST(FailingNew, StepsOfATrainer) {
  for (const nn::TrainerOptions& options :
       {nn::TrainerOptions{}, nn::TrainerOptions{.clip_norm = 1.0},
        nn::TrainerOptions{.accumulate = 2}, nn::TrainerOptions{.loss_scale = nn::LossScale{}},
        nn::TrainerOptions{.accumulate = 3, .loss_scale = nn::LossScale{.growth_interval = 2}}}) {
    fail_everywhere([&]() -> std::unique_ptr<World> {
      auto world = std::make_unique<Training>(options);
      for (int i = 0; i < 4; ++i) world->act();
      return world;
    });
  }
}

TEST(FailingNew, EagerTraining) {
  struct Loop final : World {
    nn::Dense model{3, 2};
    nn::Adam adam{model.trainable(), 0.1};
    Tensor x = ones({4, 3});
    void act() override {
      GradientTape tape;
      const Tensor loss = mean(square(model(x)));
      adam.apply(tape.gradient(loss, adam.variables()));
    }
    std::string state() const override {
      return text_of(model.variables()) + text_of(adam.state());
    }
  };
  fail_everywhere(world_of<Loop>);
}

TEST(FailingNew, LayersAreAddedAsAWhole) {
  struct Parts final : World {
    nn::Sequential model;
    const std::string name = "a name that is longer than a small string holds";
    void act() override {
      nn::Sequential part;
      part.push_back(name, nn::Dense(2, 2));
      model.push_back(name + std::to_string(model.size()), std::move(part));
    }
    std::string state() const override {
      std::string text = std::to_string(model.size()) + ' ' + model.modes();
      for (const nn::NamedVariable& own : model.variables()) text += ' ' + own.name;
      return text;
    }
  };
  fail_everywhere(world_of<Parts>);
}

TEST(FailingNew, ContainersEnd) {
  Container variables;
  const VariableScope scope("model", variables);
  get_variable("v", [] { return ones({3}); });
  const FailingNew failing(1);
  EXPECT_EQ(variables.clear(), 12);
  EXPECT_FALSE(failing.fired());
}

TEST(FailingNew, AWatchLeavesSignalsAsTheyAre) {
  struct Watching final : World {
    void act() override { const Watch watch; }
    std::string state() const override {
      sigset_t blocked{};
      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      return sigismember(&blocked, SIGINT) == 1 ? "blocked" : "open";
    }
  };
  fail_everywhere(world_of<Watching>);
}

TEST(FailingNew, Files) {
  struct Files final : World {
    test::Scratch scratch;
    void act() override {
      const NamedTensors tensors{{"a", ones({3})}, {"b", zeros({2, 2})}};
      save_npz(scratch / "a.npz", tensors, {.compressed = true});
      save_checkpoint(scratch / "a.ckpt", tensors, {{"step", 3}});
      static_cast<void>(load_npz(scratch / "a.npz"));
      static_cast<void>(load_checkpoint(scratch / "a.ckpt"));
    }
  };
  fail_everywhere(world_of<Files>);
}

TEST(FailingNew, Recordings) {
  struct Recording final : World {
    test::Scratch scratch;
    std::vector<Tensor> live{ones({2}), ones({3})};
    void act() override {
      const Profile profile(scratch / "a.tenure");
      const Tensor y = relu(ones({3}));
      mark_step();
    }
  };
  fail_everywhere(world_of<Recording>);
  const test::Scratch scratch;
  const Profile possible(scratch / "b.tenure");  // none is on any more
}

TEST(FailingNew, GuardsAndBudgets) {
  struct Guards final : World {
    void act() override {
      const Budget budget("request", 1 * MiB);
      LeakGuard guard("loop");
      for (int i = 0; i < 5; ++i) {
        const Tensor y = tidy([] { return relu(ones({3}) * 2); });
        guard.mark();
      }
      static_cast<void>(to_string(memory()));
    }
  };
  fail_everywhere(world_of<Guards>);
}

}  // namespace
}  // namespace tenure
