#include <fmt/format.h>

#include <map>
#include <utility>

#include "tenure/memory/threads/call.h"
#include "tenure/nn/checkpoint.h"
#include "tenure/nn/fit.h"
#include "tenure/ops/random_ops.h"

namespace tenure::nn {
namespace {

std::string metric_key(std::size_t i) { return fmt::format("metric_{}", i); }

using Callbacks = std::vector<std::shared_ptr<Callback>>;

/// What the names of a callback's facts begin with; of several of one name, each has its number.
std::vector<std::string> prefixes(const Callbacks& callbacks) {
  std::vector<std::string> all;
  std::map<std::string, int> seen;
  for (const auto& callback : callbacks) {
    const std::string name = callback->name();
    all.push_back(fmt::format("callback {} {}: ", name, ++seen[name]));
  }
  return all;
}

/// The facts whose names begin so, without that.
Checkpoint part(const Checkpoint& whole, const std::string& prefix) {
  Checkpoint own{.path = whole.path};
  for (const auto& [name, fact] : whole.facts) {
    if (name.starts_with(prefix)) own.facts.emplace(name.substr(prefix.size()), fact);
  }
  return own;
}

/// Where a training stood.
struct Place {
  data::Position position;
  MeanScores means;
  Generator::State generator;
};

/// Throws CheckpointError for what no Fit has saved.
Place read_place(const Checkpoint& checkpoint) try {
  Place place{.position = {.epoch = checkpoint.integer("epoch", Site()),
                           .next = checkpoint.integer("batch", Site())},
              .means = {.rows = checkpoint.number("rows", Site()),
                        .loss = checkpoint.number("loss", Site())},
              .generator = checkpoint.generator_state("generator", Site())};
  const std::int64_t metrics = checkpoint.integer("metrics", Site());
  for (std::int64_t i = 0; i < metrics; ++i) {
    const std::string key = metric_key(static_cast<std::size_t>(i));
    place.means.metrics.push_back(checkpoint.number(key, Site()));
  }
  return place;
} catch (const ValueError& error) {
  throw CheckpointError(checkpoint.path, {error.what()});
}

/// Gives callbacks their state, and takes it back unless kept.
class CallbackStates {
 public:
  CallbackStates(const Callbacks& callbacks, const Checkpoint& checkpoint) : callbacks_(callbacks) {
    const std::vector<std::string> own = prefixes(callbacks);
    try {
      for (std::size_t i = 0; i < callbacks.size(); ++i) {
        Facts before = callbacks[i]->state();
        callbacks[i]->set_state(part(checkpoint, own[i]));
        before_.push_back({.facts = std::move(before)});
      }
    } catch (...) {
      take_back();
      throw;
    }
  }
  ~CallbackStates() {
    if (!kept_) take_back();
  }
  CallbackStates(const CallbackStates&) = delete;
  CallbackStates& operator=(const CallbackStates&) = delete;
  void keep() { kept_ = true; }

 private:
  void take_back() {
    for (std::size_t i = 0; i < before_.size(); ++i) callbacks_[i]->set_state(before_[i]);
  }
  const Callbacks& callbacks_;
  std::vector<Checkpoint> before_;
  bool kept_ = false;
};

}  // namespace

void Fit::save(const std::string& path, Site site) const try {
  Facts facts{{"epoch", position_.epoch},
              {"batch", position_.next},
              {"rows", means_.rows},
              {"loss", means_.loss},
              {"metrics", static_cast<std::int64_t>(means_.metrics.size())},
              {"generator", default_generator().state()}};
  for (std::size_t i = 0; i < means_.metrics.size(); ++i) {
    facts.emplace(metric_key(i), means_.metrics[i]);
  }
  const std::vector<std::string> own = prefixes(options_.callbacks);
  for (std::size_t i = 0; i < own.size(); ++i) {
    for (auto& [name, fact] : options_.callbacks[i]->state()) facts.emplace(own[i] + name, fact);
  }
  save_checkpoint(path, values_of(trainer_.variables(), site), facts, site);
} catch (Error& error) {
  mem::name_call(error, "save", site);
  throw;
}

void Fit::load(const std::string& path, Site site) try {
  const Checkpoint checkpoint = load_checkpoint(path, site);
  Place place = read_place(checkpoint);
  const data::Position& position = place.position;
  if (position.epoch < 0 || position.next < 0 || position.next > training_.size()) {
    throw CheckpointError(path, {fmt::format("batch {} of epoch {}, but the dataset has {} batches",
                                             position.next, position.epoch, training_.size())});
  }
  CallbackStates states(options_.callbacks, checkpoint);
  assign_all(trainer_.variables(), checkpoint, site);
  states.keep();
  position_ = position;
  means_ = std::move(place.means);
  default_generator().set_state(place.generator);
} catch (Error& error) {
  mem::name_call(error, "load", site);
  throw;
}

}  // namespace tenure::nn
