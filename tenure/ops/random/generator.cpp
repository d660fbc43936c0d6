#include "tenure/ops/random_ops.h"

#include <mutex>

#include "tenure/base/lasting.h"

namespace tenure {

Generator::State Generator::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Generator::set_state(State state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}

Generator::State Generator::reserve(std::uint64_t counters) {
  const std::lock_guard lock(mutex_);
  const State begin = state_;
  state_.offset += counters;
  return begin;
}

bool Generator::give_back(State begin, std::uint64_t counters) {
  const std::lock_guard lock(mutex_);
  if (!(state_ == State{.seed = begin.seed, .offset = begin.offset + counters})) return false;
  state_ = begin;
  return true;
}

Generator& default_generator() {
  static constinit Lasting<Generator> generator;
  return generator.get([] { return new Generator; });
}

void seed(std::uint64_t seed) { default_generator().seed(seed); }

}  // namespace tenure
