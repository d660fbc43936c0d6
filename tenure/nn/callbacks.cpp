#include "tenure/nn/callbacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "tenure/base/error.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/memory/threads/call.h"
#include "tenure/nn/checkpoint.h"

namespace tenure::nn {

double score_of(const Fit& fit, const Epoch& epoch, const std::string& name, Site site) try {
  const bool of_validation = name.rfind("val ", 0) == 0;
  const std::string wanted = of_validation ? name.substr(4) : name;
  if (of_validation && !epoch.validation) {
    throw ValueError(fmt::format("'{}' is asked for, but there is no validation dataset", name));
  }
  const Scores& scores = of_validation ? *epoch.validation : epoch.training;
  if (wanted == "loss") return scores.loss;
  const auto& metrics = fit.trainer().options().metrics;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].name == wanted) return scores.metrics[i];
  }
  throw ValueError(fmt::format("'{}' is neither 'loss' nor a metric of the trainer", wanted));
} catch (Error& error) {
  mem::name_call(error, "score_of", site);
  throw;
}

bool BestScore::improve(double score, bool larger_is_better, double least_change) {
  const double gain = larger_is_better ? score - best_ : best_ - score;
  const bool is_better =
      !has_best_ || gain > least_change || (std::isnan(best_) && !std::isnan(score));
  if (!is_better) return false;
  best_ = score;
  has_best_ = true;
  return true;
}

Facts BestScore::state() const {
  if (!has_best_) return {};
  return {{"best", best_}};
}

void BestScore::set_state(const Checkpoint& state) {
  const bool has_best = !state.facts.empty();
  best_ = has_best ? state.number("best", Site()) : 0;
  has_best_ = has_best;
}

namespace {

/// A count of epochs in the state of a callback; 0 if there is none.
int epochs_of(const Checkpoint& state, const char* fact) {
  if (state.facts.empty()) return 0;
  const std::int64_t epochs = state.integer(fact, Site());
  if (epochs >= 0 && epochs <= std::numeric_limits<int>::max()) return static_cast<int>(epochs);
  throw ValueError(fmt::format("\"{}\" counts {} {}", state.path, epochs, fact));
}

}  // namespace

EarlyStopping::EarlyStopping(Options options, Site site) : options_(std::move(options)) {
  mem::require_least("EarlyStopping", {{"patience", options_.patience}}, site);
  mem::require_in(mem::kFinite, "EarlyStopping", {{"least_change", options_.least_change}}, site);
}

void EarlyStopping::on_begin(Fit& fit) { stop_without_patience(fit); }

void EarlyStopping::on_epoch(Fit& fit, const Epoch& epoch) {
  const double score = score_of(fit, epoch, options_.score, fit.site());
  const bool is_better = best_.improve(score, options_.larger_is_better, options_.least_change);
  worse_ = is_better ? 0 : worse_ + 1;
  stop_without_patience(fit);
}

void EarlyStopping::stop_without_patience(Fit& fit) const {
  if (worse_ < options_.patience) return;
  fit.stop(fmt::format("{} has not become better than {:.6g} for {} epochs", options_.score,
                       best_.value(), worse_));
}

Facts EarlyStopping::state() const {
  Facts facts = best_.state();
  if (!facts.empty()) facts.emplace("epochs without a better one", worse_);
  return facts;
}

void EarlyStopping::set_state(const Checkpoint& state) {
  const int worse = epochs_of(state, "epochs without a better one");
  best_.set_state(state);
  worse_ = worse;
}

ReduceOnPlateau::ReduceOnPlateau(Options options, Site site) : options_(std::move(options)) {
  constexpr auto kName = "ReduceOnPlateau";
  mem::require_least(kName, {{"patience", options_.patience}, {"pause", options_.pause, 0}}, site);
  mem::require_in(mem::kFinite, kName, {{"least_change", options_.least_change}}, site);
  mem::require_in(mem::kWithinOne, kName, {{"factor", options_.factor}}, site);
  mem::require_in(mem::kNotNegative, kName, {{"least_rate", options_.least_rate}}, site);
}

void ReduceOnPlateau::on_begin(Fit& fit) {
  if (fit.options().schedule == nullptr) return;
  mem::in_call("ReduceOnPlateau", fit.site(), [] {
    throw ValueError("ReduceOnPlateau: FitOptions::schedule sets the rate of every step; use one");
  });
}

void ReduceOnPlateau::on_epoch(Fit& fit, const Epoch& epoch) {
  const double score = score_of(fit, epoch, options_.score, fit.site());
  const bool is_better = best_.improve(score, options_.larger_is_better, options_.least_change);
  worse_ = is_better ? 0 : worse_ + 1;
  if (paused_ > 0) {
    --paused_;
    worse_ = 0;
  }
  if (worse_ < options_.patience) return;
  Optimizer& optimizer = fit.trainer().optimizer();
  const double rate = optimizer.learning_rate();
  const double lower = std::max(rate * options_.factor, options_.least_rate);
  if (lower < rate) optimizer.set_learning_rate(lower, fit.site());
  worse_ = 0;
  paused_ = options_.pause;
}

Facts ReduceOnPlateau::state() const {
  Facts facts = best_.state();
  if (facts.empty()) return facts;
  facts.emplace("epochs without a better one", worse_);
  facts.emplace("epochs that do not count", paused_);
  return facts;
}

void ReduceOnPlateau::set_state(const Checkpoint& state) {
  const int worse = epochs_of(state, "epochs without a better one");
  const int paused = epochs_of(state, "epochs that do not count");
  best_.set_state(state);
  worse_ = worse;
  paused_ = paused;
}

void SaveBest::on_epoch(Fit& fit, const Epoch& epoch) {
  const double score = score_of(fit, epoch, options_.score, fit.site());
  BestScore next = best_;
  if (!next.improve(score, options_.larger_is_better)) return;
  save_weights(fit.trainer().model(), path_, fit.site());
  best_ = next;
}

void SaveBest::on_end(Fit& fit, const History&) {
  if (!options_.restore || best_.state().empty()) return;
  load_weights(fit.trainer().model(), path_, fit.site());
}

void SaveCheckpoint::after_epoch(Fit& fit, const Epoch&) { fit.save(path_, fit.site()); }

void SaveCheckpoint::on_end(Fit& fit, const History& history) {
  if (history.was_interrupted) fit.save(path_, fit.site());
}

void CsvLog::on_begin(Fit&) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path_, error);
  if (error || bytes_ == 0 || size <= static_cast<std::uintmax_t>(bytes_)) return;
  std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(bytes_), error);
  if (error) throw FileError("cut", path_, error.value());
}

Facts CsvLog::state() const {
  if (bytes_ == 0) return {};
  return {{"bytes", bytes_}};
}

void CsvLog::set_state(const Checkpoint& state) {
  const std::int64_t bytes = state.facts.empty() ? 0 : state.integer("bytes", Site());
  if (bytes < 0) throw ValueError(fmt::format("\"{}\" has a log of {} bytes", state.path, bytes));
  bytes_ = bytes;
}

namespace {

/// A field of a CSV file, in quotes where it must be.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace

void CsvLog::on_epoch(Fit& fit, const Epoch& epoch) {
  std::ofstream file(path_, std::ios::app);
  const auto write = [&](const std::string& line) {
    file << line << '\n';
    if (!file.flush()) throw FileError("write", path_, errno);
  };
  std::string head = "epoch,seconds,peak_bytes,loss";
  std::string line = fmt::format("{},{:.3f},{},{:.9g}", epoch.number, epoch.seconds, epoch.peak,
                                 epoch.training.loss);
  const auto add = [&](const char* prefix, const Scores& scores) {
    for (std::size_t i = 0; i < scores.metrics.size(); ++i) {
      head += ',' + field(prefix + fit.trainer().options().metrics[i].name);
      line += fmt::format(",{:.9g}", scores.metrics[i]);
    }
  };
  add("", epoch.training);
  if (epoch.validation) {
    head += ",val_loss";
    line += fmt::format(",{:.9g}", epoch.validation->loss);
    add("val_", *epoch.validation);
  }
  if (file.tellp() == std::streampos(0)) write(head);
  write(line);
  bytes_ = static_cast<std::int64_t>(file.tellp());
}

}  // namespace tenure::nn
