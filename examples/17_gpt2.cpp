// GPT-2 learns a text, byte by byte, within a budget; or says beforehand what that would take.
//
//     17_gpt2 [--size tiny|small] [--batch N] [--steps N] [--precision bfloat16|float16|float32]
//             [--budget MIB] [--recompute SHARE] [--device cuda] [--plan] [FILE]
//
// `--size small` is GPT-2 small: 124 million parameters, sequences of 1024. `--plan` allocates
// neither them nor anything that a step computes.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "examples/gpt.h"
#include "examples/options.h"
#include "tenure/tenure.h"

using namespace tenure;

namespace {

struct Options {
  examples::GptSizes sizes;
  std::int64_t batch = 0;
  std::int64_t steps = 0;
  Device device = cpu;
  bool is_plan = false;
  nn::TrainerOptions training{};
  std::string text{};
};

DType type_named(const std::string& name) {
  for (const DType type : {bfloat16, float16, float32}) {
    if (name_of(type) == name) return type;
  }
  throw ValueError("--precision " + name + ": it is bfloat16, float16 or float32");
}

double number_of(const std::string& option, const std::string& text) try {
  std::size_t end = 0;
  const double number = std::stod(text, &end);
  if (end != text.size() || !(number >= 0)) throw ValueError("");
  return number;
} catch (const std::exception&) {
  throw ValueError(option + " " + text + ": it is a number");
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw ValueError("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string sample_text() {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "A plan tells what a step will take; a budget holds it to less. ";
  }
  return text;
}

Options options_of(int argc, char** argv) {
  const auto take = [&](const char* name) { return examples::take_option(argc, argv, name); };
  const auto number = [&](const char* name, double otherwise) {
    const std::optional<std::string> text = take(name);
    return text ? number_of(name, *text) : otherwise;
  };
  Options options;
  const std::string size = take("--size").value_or("tiny");
  if (size != "tiny" && size != "small") throw ValueError("--size " + size + ": tiny or small");
  const bool is_small = size == "small";
  options.sizes = is_small ? examples::GptSizes{.width = 768,
                                                .heads = 12,
                                                .layers = 12,
                                                .length = 1024,
                                                .tokens = 50257}
                           : examples::GptSizes{
                                 .width = 64, .heads = 4, .layers = 2, .length = 64, .tokens = 256};
  options.sizes.is_tied = true;
  options.batch = static_cast<std::int64_t>(number("--batch", 8));
  options.steps = static_cast<std::int64_t>(number("--steps", 20));
  options.training.precision = type_named(take("--precision").value_or("bfloat16"));
  options.training.recompute = number("--recompute", 0);
  if (const double budget = number("--budget", 0); budget > 0) {
    options.training.budget = static_cast<std::int64_t>(budget * static_cast<double>(MiB));
  }
  options.device = examples::device_option(argc, argv);
  options.is_plan = examples::take_flag(argc, argv, "--plan");
  options.text = argc > 1 ? read_text(argv[1]) : sample_text();
  if (options.batch < 1) throw ValueError("--batch: at least one sequence");
  if (static_cast<std::int64_t>(options.text.size()) <= options.sizes.length) {
    options.text.resize(static_cast<std::size_t>(options.sizes.length + 1), ' ');
  }
  return options;
}

/// Batches of [sequences, what comes after each place], from all over the text.
data::Dataset batches_of(const Options& options) {
  std::vector<std::int64_t> bytes;
  for (const char c : options.text) bytes.push_back(static_cast<unsigned char>(c));
  const Tensor all = tensor(bytes, {static_cast<std::int64_t>(bytes.size())});
  const std::int64_t length = options.sizes.length;
  const std::int64_t places = all.dim(0) - length;
  return data::from_function(options.steps * options.batch,
                             [all, length, places](std::int64_t i) {
                               const std::int64_t at = i * 7919 % places;
                               return data::Batch{slice(all, 0, at, at + length),
                                                  slice(all, 0, at + 1, at + length + 1)};
                             })
      .batch(options.batch);
}

double mebibytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(MiB);
}

void print(const nn::StepPlan& plan) {
  std::printf(
      "a step takes %.1f MiB at most: parameters %.1f, optimizer %.1f, batch %.1f, "
      "computation %.1f\n",
      mebibytes(plan.peak()), mebibytes(plan.parameters), mebibytes(plan.optimizer),
      mebibytes(plan.batch), mebibytes(plan.computation()));
  std::printf("%.4g GFLOP a step, %.1f %% of its time for what is computed again\n",
              plan.plan.flops / 1e9, 100 * plan.plan.recomputed);
  const auto most = std::max_element(plan.plan.steps.begin(), plan.plan.steps.end(),
                                     [](const auto& a, const auto& b) { return a.live < b.live; });
  if (most != plan.plan.steps.end()) std::printf("the most is live at %s\n", most->op.c_str());
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = options_of(argc, argv);
  std::optional<nn::PlanOnly> without_data;
  if (options.is_plan) without_data.emplace();
  seed(1);
  const DeviceScope device(options.device);
  const examples::Gpt gpt(options.sizes);
  nn::AdamW optimizer(gpt.trainable(), 3e-3);
  nn::Trainer trainer(
      gpt, [](const Tensor& logits, const Tensor& next) { return cross_entropy(logits, next); },
      optimizer, options.training);
  const Tensor batch = spec({options.batch, options.sizes.length}, int64);
  try {
    print(trainer.plan(batch, batch));
  } catch (const planner::BudgetError& error) {
    std::printf("%.1f MiB are too little; %.1f MiB are enough\n", mebibytes(error.budget()),
                mebibytes(error.least()));
    return options.is_plan ? 0 : 1;
  }
  if (options.is_plan) return 0;
  reset_peak(options.device);
  nn::Fit fit(trainer, batches_of(options), {.progress = nn::Progress::lines});
  const nn::History history = fit.run();
  std::printf("%.1f MiB at most\n", mebibytes(memory(options.device).peak));
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
