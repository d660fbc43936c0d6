#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/contest.h"
#include "bench/floors.h"
#include "bench/peer_python.h"
#include "bench/train_models.h"
#include "tenure/planner/remat.h"
#include "tests/support/heap_watch.h"

namespace tenure::bench {
namespace {

/// What a step is to come to: beside libtorch's, and over the time of its floating-point operations
/// on a few threads and on more.
struct Targets {
  double faster = 1;
  double memory = 1;
  double over_floor = 1.25;
  double over_floor_of_many = 1.6;

  double over_floor_on(int threads) const { return threads <= 2 ? over_floor : over_floor_of_many; }
};

Tensor loss_of(const Tensor& prediction, const Tensor& target) {
  return cross_entropy(prediction, target);
}

/// Tenure's side: a model that trains on its batch.
class Training {
 public:
  explicit Training(TrainingCase made, nn::TrainerOptions options = {})
      : made_(std::move(made)),
        optimizer_(made_.model->parameters()),
        trainer_(*made_.model, loss_of, optimizer_, std::move(options)) {}

  double step() { return trainer_.step(made_.x, made_.target).loss; }
  nn::StepPlan plan() const { return trainer_.plan(made_.x, made_.target); }
  const TrainingCase& made() const { return made_; }

 private:
  TrainingCase made_;
  nn::Adam optimizer_;
  nn::Trainer trainer_;
};

/// Most bytes live in a steady step, all that the side has made since `heap` began included: what
/// malloc() gave, and what Tenure's pool did.
std::int64_t steady_peak(testing_support::HeapWatch& heap, std::int64_t pool_before,
                         const std::function<void()>& step) {
  for (int i = 0; i < 3; ++i) step();
  heap.reset_peak();
  reset_peak();
  for (int i = 0; i < 3; ++i) step();
  return heap.peak() + memory().peak - pool_before;
}

std::int64_t own_peak(const std::function<TrainingCase()>& make,
                      const nn::TrainerOptions& options) {
  const auto train = [&] {
    TrainingCase made = make();
    made.make_peer = nullptr;  // it has copies of the weights
    return Training(std::move(made), options);
  };
  train().step();  // what the pool maps for it stays there, and would count twice
  testing_support::HeapWatch heap;
  const std::int64_t before = memory().bytes;
  Training own = train();
  return steady_peak(heap, before, [&own] { own.step(); });
}

std::int64_t peer_peak(const TrainingCase& made) {
  testing_support::HeapWatch heap;
  const auto peer = made.make_peer();
  if (peer == nullptr) return 0;
  const std::int64_t before = memory().bytes;
  return steady_peak(heap, before, [&peer] { peer->step(); });
}

/// The largest difference of losses over 20 steps from the same weights.
double loss_difference(Training& own, TorchTraining& peer) {
  double largest = 0;
  for (int i = 0; i < 20; ++i) {
    largest = std::max(largest, std::abs(own.step() - static_cast<double>(peer.step())));
  }
  return largest;
}

std::vector<Figure> run_training(const std::function<TrainingCase()>& make, const Targets& targets,
                                 const Options& options, const nn::TrainerOptions& training = {}) {
  Training own(make(), training);
  const TrainingCase& made = own.made();
  const std::string name = fmt::format("{} step", made.name);
  std::vector<Figure> figures;
  const std::shared_ptr<TorchTraining> peer = made.make_peer();
  if (peer != nullptr) {
    figures.push_back(at_most(made.name + " loss beside libtorch", "", loss_difference(own, *peer),
                              1e-4, "largest difference in 20 steps"));
  }
  Contest contest{.name = name, .unit = kMilliseconds, .ours = repeat([&own] { own.step(); })};
  if (peer != nullptr) {
    contest.peers.push_back({"libtorch", repeat([peer] { peer->step(); }), 0, targets.faster});
  }
  const std::shared_ptr<PythonPeer> python =
      made.in_python ? PythonPeer::start(options.threads) : nullptr;
  if (python != nullptr) {
    for (const std::string mode : {"eager", "compiled"}) {
      if (mode == "compiled" && !options.compiled) continue;
      contest.peers.push_back({fmt::format("{} {}", python->description(), mode),
                               python->steps(made.name, mode), 0, 1.0});
    }
  }
  std::vector<Figure> sides;
  try {
    sides = run(contest, options);
  } catch (const PeerError&) {  // it has been said; the others go on
    std::erase_if(contest.peers, [](const Entrant& peer) { return peer.name != "libtorch"; });
    sides = run(contest, options);
  }
  for (Figure& figure : sides) figures.push_back(std::move(figure));

  const double seconds = figures.back().value / 1e3;
  const double flops = 1 / median_seconds({fma_peak(options.threads).work}, 11).front() *
                       fma_peak(options.threads).amount;
  figures.push_back(
      at_most(name + " over its floor", "x", seconds * flops / made.flops,
              targets.over_floor_on(options.threads),
              fmt::format("{:.2f} GFLOP at {:.0f} GFLOP/s", made.flops / 1e9, flops / 1e9)));
  const std::int64_t peak = own_peak(make, training);
  const std::int64_t other = peer_peak(made);
  Figure memory{.name = made.name + " peak", .unit = "bytes", .value = static_cast<double>(peak)};
  if (other != 0) {
    memory.peer = "libtorch";
    memory.peer_value = static_cast<double>(other);
    memory.ratio = static_cast<double>(other) / static_cast<double>(peak);
    memory.target = fmt::format(">= {:.2f}", 1 / targets.memory);
    memory.met = memory.ratio >= 1 / targets.memory;
  }
  memory.note = fmt::format("planned: {}", own.plan().peak());
  figures.push_back(std::move(memory));
  return figures;
}

/// The time that a step takes in less memory, beside the plain one. Where it cannot be, the least
/// that is named must do.
std::vector<Figure> run_budgets(const std::function<TrainingCase()>& make, const Options& options) {
  Training plain(make());
  const nn::StepPlan plan = plain.plan();
  const std::int64_t resident = plan.peak() - plan.plan.peak;
  std::vector<Figure> figures;
  const auto run_within = [&](std::int64_t budget, const char* which) {
    Training tight(make(), {.budget = budget});
    const std::int64_t peak = tight.plan().plan.peak;  // refused before anything is measured
    const double percent =
        100 * static_cast<double>(budget - resident) / static_cast<double>(plan.plan.peak);
    const auto found =
        run({.name = fmt::format("{} step in {:.3g} %{}", plain.made().name, percent, which),
             .unit = kMilliseconds,
             .ours = repeat([&tight] { tight.step(); }),
             .peers = {{"without a budget", repeat([&plain] { plain.step(); })}},
             .note = fmt::format("{} of {} bytes beside what stays", peak, plan.plan.peak)},
            options);
    figures.insert(figures.end(), found.begin(), found.end());
  };
  for (const int percent : {60, 40, 30}) {
    try {
      run_within(resident + plan.plan.peak * percent / 100, "");
    } catch (const planner::BudgetError& error) {
      run_within(error.least(), ", the least");
    }
  }
  return figures;
}

/// One eager step: the gradients of the loss by all parameters.
std::vector<Tensor> eager_step(const TrainingCase& made) {
  GradientTape tape;
  const Tensor loss = loss_of((*made.model)(made.x), made.target);
  std::vector<Variable> variables;
  for (const auto& [name, variable] : made.model->parameters()) variables.push_back(variable);
  return tape.gradient(loss, variables);
}

/// The time that an eager step takes in less memory than it takes plainly, with a budget that
/// evicts; weights and batch are there before and do not count.
std::vector<Figure> run_evicting(const TrainingCase& made, const Options& options) {
  const std::size_t plain = [&made] {
    const Budget budget("plain", kNoLimit);
    use(eager_step(made));
    return budget.peak();
  }();
  std::vector<Figure> figures;
  for (const auto& [percent, target] : {std::pair(60, 0.75), std::pair(40, 0.6)}) {
    const std::string name = fmt::format("eager {} step in {} %", made.name, percent);
    const std::size_t limit = plain * static_cast<std::size_t>(percent) / 100;
    const std::int64_t before = memory().recomputations;
    try {
      const auto tight = [&made, limit] {
        const Budget budget("tight", limit, {.evict = true});
        use(eager_step(made));
      };
      tight();
      const std::int64_t recomputed = memory().recomputations - before;
      const auto found = run(
          {.name = name,
           .unit = kMilliseconds,
           .ours = repeat(tight),
           .peers = {{"without a budget", repeat([&made] { use(eager_step(made)); }), 0, target}},
           .note = fmt::format("{} of {} bytes, {} recomputations", limit, plain, recomputed)},
          options);
      figures.insert(figures.end(), found.begin(), found.end());
    } catch (const OutOfMemory& error) {
      figures.push_back({.name = name, .note = error.what()});
    }
  }
  return figures;
}

/// Forward and backward of a small network, without an optimizer.
std::vector<Figure> run_small(const Options& options) {
  const auto make = [] { return mlp_case("small MLP", {16, 32, 32, 4}, 8, false); };
  const TrainingCase made = make();
  const auto forward_and_back = function([&made](const Tensor& x, const Tensor& target) {
    GradientTape tape;
    const Tensor loss = loss_of((*made.model)(x), target);
    std::vector<Variable> variables;
    for (const auto& [name, variable] : made.model->parameters()) variables.push_back(variable);
    std::vector<Tensor> results = tape.gradient(loss, variables);
    results.push_back(loss);
    return results;
  });
  const auto eager = [&made] { use(eager_step(made)); };
  const std::shared_ptr<TorchTraining> peer = made.make_peer();
  std::vector<Figure> figures;
  const auto add = [&](const char* name, Work work) {
    Contest contest{.name = name, .unit = kMicroseconds, .ours = std::move(work)};
    if (peer != nullptr) {
      contest.peers.push_back({"libtorch", repeat([peer] { peer->step(); }), 0, 10.0});
    }
    for (Figure& figure : run(contest, options)) figures.push_back(std::move(figure));
  };
  add("small MLP forward+backward", repeat([&] { use(forward_and_back(made.x, made.target)); }));
  add("the same, eager", repeat(eager));
  return figures;
}

}  // namespace

void add_train_cases(std::vector<Case>& cases) {
  const auto mlp = [] { return mlp_case("MLP", {784, 512, 512, 10}, 128, true); };
  const auto cnn = [] { return cnn_case(64); };
  const auto gpt = [] { return gpt_case(8); };
  const auto add = [&cases](const std::string& name, auto run_case) {
    cases.push_back({"train", name, [=](const Options& options) {
                       seed(1);
                       Options fewer = options;
                       fewer.rounds = std::min(options.rounds, 15);
                       return run_case(fewer);
                     }});
  };
  add("MLP", [=](const Options& o) { return run_training(mlp, {.memory = 0.76}, o); });
  add("CNN", [=](const Options& o) { return run_training(cnn, {.memory = 0.75}, o); });
  add("GPT", [=](const Options& o) { return run_training(gpt, {.memory = 0.85}, o); });
  const auto add_recomputing = [=](const std::string& name, double share, double memory) {
    add(name, [=](const Options& o) {
      const auto renamed = [=] {
        TrainingCase made = gpt();
        made.name = name;
        made.in_python = false;
        return made;
      };
      return run_training(renamed, {.memory = memory, .over_floor = 1.9, .over_floor_of_many = 2.4},
                          o, {.recompute = share});
    });
  };
  add_recomputing("GPT renewing", 0.01, 0.85);
  add_recomputing("GPT recomputing", 0.25, 0.6);
  add("small MLP", [](const Options& o) { return run_small(o); });
  add("CNN budgets", [=](const Options& o) { return run_budgets(cnn, o); });
  add("GPT budgets", [=](const Options& o) { return run_budgets(gpt, o); });
  add("GPT evicting", [=](const Options& o) { return run_evicting(gpt(), o); });
}

}  // namespace tenure::bench
