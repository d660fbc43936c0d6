#include "tenure/nn/fit.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <optional>
#include <utility>

#include "tenure/memory/leak_guard.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/region.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/memory/threads/call.h"
#include "tenure/nn/interrupt.h"
#include "tenure/nn/progress_line.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

/// Throws ValueError unless it has the model's inputs and as many targets as the loss takes, all of
/// as many rows.
void require_batch(const data::Batch& batch, const Trainer& trainer) {
  const auto inputs = static_cast<std::size_t>(trainer.options().inputs);
  if (batch.size() <= inputs || (batch.size() > inputs + 1 && !trainer.loss().is_of_all())) {
    throw ValueError(fmt::format(
        "a batch of {} tensors; training takes batches [{}]: map() the dataset", batch.size(),
        inputs == 1 ? "input, target" : fmt::format("{} inputs, target", inputs)));
  }
  const Shape& x = batch[0].shape();
  for (const Tensor& tensor : batch) {
    const Shape& other = tensor.shape();
    if (!x.empty() && !other.empty() && x[0] == other[0]) continue;
    throw ValueError(fmt::format(
        "an input of shape {} with a {} of shape {} are no batch, which has as many "
        "rows of each: "
        "batch() the dataset, as in dataset.batch(32)",
        to_string(x), &tensor < &batch[inputs] ? "second one" : "target", to_string(other)));
  }
}

/// The inputs of a batch, and its targets.
std::pair<Tensors, Tensors> parts_of(const data::Batch& batch, const Trainer& trainer) {
  const auto middle = batch.begin() + trainer.options().inputs;
  return {Tensors(batch.begin(), middle), Tensors(middle, batch.end())};
}

double rows_of(const Tensor& x) { return static_cast<double>(x.shape()[0]); }

std::vector<std::string> metric_names(const Trainer& trainer) {
  std::vector<std::string> names;
  for (const Metric& metric : trainer.options().metrics) names.push_back(metric.name);
  return names;
}

/// The rest of a pass. Batches that are made ahead wait on the model's device: the thread that
/// makes them copies them there while a step runs. Others are copied by their step.
data::Pass pass_from(const data::Dataset& batches, const data::Position& position,
                     const Trainer& trainer, Site site) {
  const Device device = trainer.device();
  if (device == cpu || batches.ahead() == 0) return batches.resume(position, site);
  const auto moved = [device, site](data::Batch batch) {
    for (Tensor& tensor : batch) {
      if (tensor.defined()) tensor = tensor.to(device, site);
    }
    return batch;
  };
  return batches.map(moved, site).resume(position, site);
}

void require_batches(const char* what, const data::Dataset& batches, const char* which = "") {
  if (batches.size() != 0) return;
  throw ValueError(fmt::format("{}: the {}dataset has no batches", what, which));
}

/// Of all batches, up to the one after which `is_over()`.
template <class F>
Scores scores_of(const Trainer& trainer, const data::Dataset& batches, Site site,
                 const F& is_over) try {
  require_batches("evaluate", batches);
  MeanScores means;
  data::Pass pass = pass_from(batches, {}, trainer, site);
  while (const std::optional<data::Batch> batch = pass.next()) {
    require_batch(*batch, trainer);
    const auto [x, targets] = parts_of(*batch, trainer);
    means.add(trainer.score(x, targets, site), rows_of(batch->front()));
    if (is_over()) break;
  }
  return means.get();
} catch (Error& error) {
  mem::name_call(error, "evaluate", site);
  throw;
}

}  // namespace

DivergedError::DivergedError(std::int64_t step, double loss)
    : Error(fmt::format(
          "the loss of step {} is {}: training has diverged\n  a lower learning rate or clip_norm "
          "may help; TrainerOptions::check_numbers names the op that made the first such number; "
          "FitOptions::stop_at_nan = false trains on",
          step, loss)),
      step_(step),
      loss_(loss) {}

void MeanScores::add(const Scores& scores, double batch) {
  metrics.resize(scores.metrics.size());
  if (batch == 0) return;  // its means are of nothing, and may be NaN
  rows += batch;
  loss += batch * scores.loss;
  for (std::size_t i = 0; i < metrics.size(); ++i) metrics[i] += batch * scores.metrics[i];
}

Scores MeanScores::get() const {
  const double all = rows == 0 ? 1 : rows;
  Scores means{.loss = loss / all};
  for (const double sum : metrics) means.metrics.push_back(sum / all);
  return means;
}

Fit::Fit(Trainer& trainer, data::Dataset training, FitOptions options, Site site)
    : trainer_(trainer), training_(std::move(training)), options_(std::move(options)), site_(site) {
  mem::in_call("fit", site, [&] {
    mem::require_least("fit", {{"epochs", options_.epochs}});
    require_batches("fit", training_);
    if (options_.validation) require_batches("fit", *options_.validation, "validation ");
    for (const auto& callback : options_.callbacks) {
      if (callback == nullptr) throw ValueError("fit: a callback is null");
    }
  });
}

void Fit::stop(std::string reason) {
  if (!is_stopped()) reason_ = reason.empty() ? "stopped" : std::move(reason);
}

History Fit::run() try {
  reason_.clear();
  not_finite_ = 0;
  const Interrupt interrupt;
  ProgressLine line(options_.out != nullptr ? *options_.out : std::cout, options_.progress,
                    trainer_.device(), metric_names(trainer_));
  History history{.metrics = metric_names(trainer_)};
  LeakGuard guard("fit");
  const bool is_new = position_.epoch == 0 && position_.next == 0;
  for (const auto& callback : options_.callbacks) {
    if (is_new) callback->set_state({});
    callback->on_begin(*this);
  }
  while (position_.epoch < options_.epochs && !is_stopped()) {
    Epoch epoch = run_epoch(line, guard);
    if (is_stopped()) break;  // within the epoch
    history.epochs.push_back(std::move(epoch));
    position_ = {.epoch = position_.epoch + 1};
    means_ = {};
    for (const auto& callback : options_.callbacks) {
      callback->on_epoch(*this, history.epochs.back());
    }
    for (const auto& callback : options_.callbacks) {
      callback->after_epoch(*this, history.epochs.back());
    }
  }
  history.was_interrupted = is_stopped();
  history.reason = reason_;
  for (const auto& callback : options_.callbacks) callback->on_end(*this, history);
  return history;
} catch (Error& error) {
  mem::name_call(error, "fit", site_);
  throw;
}

void Fit::require_finite(double loss) {
  constexpr int kPatience = 32;  // where a step that overflows is left out
  not_finite_ = std::isfinite(loss) ? 0 : not_finite_ + 1;
  if (!options_.stop_at_nan || not_finite_ < (trainer_.options().loss_scale ? kPatience : 1))
    return;
  throw DivergedError(trainer_.optimizer().steps(), loss);
}

Epoch Fit::run_epoch(ProgressLine& line, LeakGuard& guard) {
  const auto started = std::chrono::steady_clock::now();
  const MemoryRegion region(trainer_.device());
  const std::int64_t before = memory(trainer_.device()).bytes;
  line.begin(static_cast<int>(position_.epoch) + 1, options_.epochs, training_.size());
  data::Pass pass = pass_from(training_, position_, trainer_, site_);
  while (std::optional<data::Batch> batch = pass.next()) {
    require_batch(*batch, trainer_);
    if (options_.schedule) {
      trainer_.optimizer().set_learning_rate(options_.schedule(trainer_.optimizer().steps()),
                                             site_);
    }
    const double rows = rows_of(batch->front());
    auto [x, targets] = parts_of(*batch, trainer_);
    batch.reset();
    const Scores scores = trainer_.step(x, targets, site_);
    x.clear();
    targets.clear();
    require_finite(scores.loss);
    means_.add(scores, rows);
    position_.next += 1;
    line.update(position_.next, means_.get());
    for (const auto& callback : options_.callbacks) callback->on_step(*this, scores);
    if (options_.leak_guard) guard.mark();
    if (Interrupt::was_asked()) stop("interrupted");
    if (is_stopped()) break;
  }
  Epoch epoch{.number = static_cast<int>(position_.epoch) + 1, .training = means_.get()};
  if (!is_stopped() && options_.validation) {
    const Scores scores = scores_of(trainer_, *options_.validation, site_, [this] {
      if (Interrupt::was_asked()) stop("interrupted");
      return is_stopped();
    });
    if (!is_stopped()) epoch.validation = scores;
  }
  epoch.peak = before + region.peak_bytes();
  epoch.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  line.end(epoch.training, epoch.validation ? &*epoch.validation : nullptr);
  return epoch;
}

History fit(Trainer& trainer, const data::Dataset& training, const FitOptions& options, Site site) {
  return Fit(trainer, training, options, site).run();
}

Scores evaluate(const Trainer& trainer, const data::Dataset& batches, Site site) {
  return scores_of(trainer, batches, site, [] {
    Interrupt::pass_on();
    return false;
  });
}

Tensor predict(const Trainer& trainer, const data::Dataset& batches, Site site) try {
  std::vector<Tensor> parts;
  for (const data::Batch& batch : batches.epoch(0, 0, site)) {
    const auto inputs = static_cast<std::size_t>(trainer.options().inputs);
    if (batch.size() < inputs) {
      throw ValueError(fmt::format("predict: a batch of {} tensors has no {} input{}", batch.size(),
                                   inputs, inputs == 1 ? "" : "s"));
    }
    const Tensors x(batch.begin(), batch.begin() + trainer.options().inputs);
    Tensors made = trainer.predict(x, site);
    if (made.size() != 1) {
      throw ValueError(
          fmt::format("predict: the model gives {} outputs; call trainer.predict() for "
                      "each batch",
                      made.size()));
    }
    parts.push_back(std::move(made.front()));
    Interrupt::pass_on();
  }
  if (parts.empty()) throw ValueError("predict: the dataset has no batches");
  return concat(OperandList(std::move(parts), site), 0);
} catch (Error& error) {
  mem::name_call(error, "predict", site);
  throw;
}

}  // namespace tenure::nn
