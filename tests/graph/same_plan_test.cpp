#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tenure/kernels/instruction_set.h"
#include "tenure/planner/remat.h"
#include "tenure/tenure.h"
#include "tests/support/lower_sets.h"
#include "tests/support/random_network.h"
#include "tests/support/same_bits.h"
#include "tests/support/share.h"
#include "tests/support/threads.h"

// A budget that was named as sufficient suffices, wherever it was named: what a program can be held
// to, and at what cost, depends on the program alone. Not on the number of threads, when it is
// planned or when it runs; not on the instruction set, of which a process has one from its
// beginning on, so that this program runs itself with each of the others; and not on where its
// variables happen to lie in memory.

namespace tenure::graph {
namespace {

struct Promise {
  std::int64_t least = 0;
  std::int64_t bound = 0;
};

/// What a function within a budget of nothing is refused with.
template <class Plans>
Promise promise_of(const Plans& plan_within) {
  try {
    plan_within(0);
  } catch (const planner::BudgetError& error) {
    return {error.least(), error.bound()};
  }
  ADD_FAILURE() << "nothing is no budget";
  return {};
}

/// The promises for a random network, and what keeping them costs; each is kept on other numbers of
/// threads than it was planned for.
void write_network(std::uint64_t number, std::ostream& out) {
  seed(number);
  const test::RandomNetwork network(number);
  const auto traced = [&](const std::vector<Tensor>& in) { return network(in); };
  set_num_threads(1);
  const std::vector<Tensor> expected = function(traced)(network.inputs());
  std::mt19937_64 random(number);
  for (const int threads : {1, 2, 3, 5, 8, 16}) {
    set_num_threads(threads);
    const auto [least, bound] = promise_of([&](std::int64_t budget) {
      static_cast<void>(function(traced, {.budget = budget}).plan(network.inputs()));
    });
    out << "network " << number << ": " << least << ' ' << bound;
    for (const std::int64_t budget : {least, least + least / 8, least + least / 2}) {
      set_num_threads(threads);
      const auto tight = function(traced, {.budget = budget});
      const Plan plan = tight.plan(network.inputs());
      out << ' ' << plan.recomputed;
      set_num_threads(1 + static_cast<int>(random() % 16));
      const Budget guard("run", static_cast<std::size_t>(plan.peak));
      const MemoryRegion region;
      const std::vector<Tensor> results = tight(network.inputs());
      EXPECT_EQ(region.peak_bytes(), plan.peak);
      for (std::size_t r = 0; r < results.size(); ++r) {
        test::expect_same_bits(results[r], expected[r]);
      }
    }
    out << '\n';
  }
}

nn::Sequential small_model(int kind) {
  nn::Sequential model;
  if (kind == 0) {
    model.push_back("conv1", nn::Conv2d(1, 8, 3, {.relu = true}));
    model.push_back("conv2", nn::Conv2d(8, 16, 3));
    model.push_back("pool", nn::MaxPool2d(2));
    model.push_back("flatten", nn::Flatten());
    model.push_back("out", nn::Dense(16 * 4 * 4, 10));
  } else {
    model.push_back("in", nn::Dense(12, 16));
    model.push_back("block", nn::TransformerBlock(16, 2));
    model.push_back("out", nn::Dense(16, 10));
  }
  return model;
}

/// The same for the steps of a trainer.
void write_training(int kind, std::ostream& out) {
  const Tensor x = normal(kind == 0 ? Shape{8, 12, 12, 1} : Shape{8, 6, 12});
  const Tensor target = randint(0, 10, kind == 0 ? Shape{8} : Shape{8, 6});
  const auto loss = [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); };
  for (const int threads : {1, 3, 16}) {
    set_num_threads(threads);
    const nn::Sequential model = small_model(kind);
    nn::Adam optimizer(model.parameters());
    const auto trainer_within = [&](std::int64_t budget) {
      return nn::Trainer(model, loss, optimizer, {.budget = budget});
    };
    const auto [least, bound] = promise_of(
        [&](std::int64_t budget) { static_cast<void>(trainer_within(budget).plan(x, target)); });
    out << "training " << kind << ": " << least << ' ' << bound;
    for (const std::int64_t budget : {least, least + least / 8}) {
      nn::Trainer trainer = trainer_within(budget);
      set_num_threads(17 - threads);
      for (int i = 0; i < 2; ++i) trainer.step(x, target);
      out << ' ' << trainer.plan(x, target).plan.recomputed;
    }
    out << '\n';
  }
}

std::string all_promises() {
  const test::Threads restore;
  std::ostringstream out;
  const int networks = test::rounds(12);
  for (int i = 0; i < networks; ++i) write_network(static_cast<std::uint64_t>(1000 + i), out);
  for (const int kind : {0, 1}) write_training(kind, out);
  return out.str();
}

/// Lines of one program follow each other; each must say the same.
void expect_one_line_each(const std::string& promises) {
  std::istringstream in(promises);
  std::string before;
  for (std::string line; std::getline(in, line); before = line) {
    const std::string name = line.substr(0, line.find(':'));
    if (before.substr(0, before.find(':')) != name) continue;
    EXPECT_EQ(line, before);
  }
}

TEST(SamePlan, WritesItsPromises) {
  const char* const file = std::getenv("TENURE_TEST_PROMISES");
  if (file == nullptr) GTEST_SKIP() << "the next test runs this one";
  std::ofstream out(file);
  out << all_promises();
  ASSERT_TRUE(out.flush());
}

TEST(SamePlan, PromisesAreKeptOnEveryNumberOfThreadsAndInstructionSet) {
  const std::string expected = all_promises();
  expect_one_line_each(expected);
  test::on_lower_sets(
      "SamePlan.WritesItsPromises", "TENURE_TEST_PROMISES",
      [&](InstructionSet, const char* name, std::istream& written) {
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(written), {}), expected) << name;
      });
}

/// A step of training whose variables are made in the order that is given, so that they lie in
/// memory in many orders; as text, with everything that a plan says. `lie` gets the order in which
/// they do.
std::string plan_of_step(const std::vector<std::size_t>& made, std::vector<std::size_t>& lie) {
  std::map<std::size_t, Variable> by_layer;
  for (const std::size_t i : made) {
    const auto width = static_cast<std::int64_t>(24 + i);
    by_layer.emplace(i, Variable(full({width, width + 1}, 0.5), "w" + std::to_string(i)));
  }
  std::vector<Variable> layers;
  for (const auto& [i, variable] : by_layer) layers.push_back(variable);
  lie = made;
  std::sort(lie.begin(), lie.end(), [&](std::size_t a, std::size_t b) {
    return std::less<>()(layers[a].state().get(), layers[b].state().get());
  });
  const auto step = [&](const Tensor& x) {
    GradientTape tape;
    Tensor y = x;
    for (const Variable& w : layers) y = tanh(matmul(y, w.value()));
    const std::vector<Tensor> gradients = tape.gradient(mean(square(y)), layers);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      Variable w = layers[i];
      w.assign(w.value() - gradients[i] * 0.1);
    }
    return sum(y);
  };
  const Tensor x = full({40, 24}, 1);
  std::ostringstream text;
  const auto put = [&](const Plan& plan) {
    text << plan.peak << ' ' << plan.arena << ' ' << plan.recomputed << '\n';
    for (const Plan::Step& s : plan.steps) {
      text << s.op << ' ' << s.bytes << ' ' << s.workspace << ' ' << s.parts << ' ' << s.in_place
           << ' ' << s.live << '\n';
    }
    for (const Plan::Value& value : plan.outputs) text << value.bytes << ' ' << value.reused << ' ';
  };
  put(function(step).plan(x));
  const Promise promise = promise_of(
      [&](std::int64_t budget) { static_cast<void>(function(step, {.budget = budget}).plan(x)); });
  text << '\n' << promise.least << ' ' << promise.bound << '\n';
  put(function(step, {.budget = promise.least}).plan(x));
  return text.str();
}

TEST(SamePlan, WhereVariablesLieDoesNotCount) {
  std::vector<std::size_t> made(6);
  std::iota(made.begin(), made.end(), 0);
  std::vector<std::size_t> lie;
  const std::string expected = plan_of_step(made, lie);
  std::set<std::vector<std::size_t>> seen{lie};
  std::mt19937_64 random(7);
  for (int i = 0; i < test::rounds(8); ++i) {
    std::shuffle(made.begin(), made.end(), random);
    EXPECT_EQ(plan_of_step(made, lie), expected);
    seen.insert(lie);
  }
  EXPECT_GT(seen.size(), 1U);
}

}  // namespace
}  // namespace tenure::graph
