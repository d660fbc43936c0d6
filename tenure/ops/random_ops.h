#pragma once

#include <cstdint>

#include "tenure/base/object_mutex.h"
#include "tenure/ops/core/operand.h"

// The generator is in random/generator.cpp, what draws from it in random/fills.cpp and, by weights,
// random/multinomial.cpp.

namespace tenure {

/// Where random numbers come from: a seed, and a counter of what was drawn. Every number depends on
/// these two and its place alone, so that any number of threads makes the same tensors. Several
/// threads may share a generator: each call gets numbers of its own, in the order of the calls.
class Generator {
 public:
  struct State {
    std::uint64_t seed = 0;
    std::uint64_t offset = 0;
    friend bool operator==(const State&, const State&) = default;
  };

  explicit Generator(std::uint64_t seed = 0) : state_{.seed = seed} {}
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// Starts the sequence of `seed` from its beginning.
  void seed(std::uint64_t seed) { set_state({.seed = seed}); }
  State state() const;
  /// Goes back, or forth, to where state() was read.
  void set_state(State state);
  /// Takes the next `counters` off the sequence; returns where they begin.
  State reserve(std::uint64_t counters);
  /// Undoes a reserve(counters) that returned `begin`, if it was the last one. Says whether it was.
  bool give_back(State begin, std::uint64_t counters);

 private:
  mutable ObjectMutex mutex_;
  State state_;
};

/// What the functions below draw from unless told. Its seed is 0 when the program starts.
Generator& default_generator();
/// Seeds the default generator.
void seed(std::uint64_t seed);

// Each takes what it needs off its generator, the default one if null, also if it then throws. As
// nodes of a session or a function they draw from the default one in each run. A run that throws
// gives back what it took, so that to try again gives the same numbers, unless another thread has
// drawn from it meanwhile.

/// Uniform in [low, high); floating types.
Tensor uniform(const Shape& shape, double low = 0, double high = 1, DType dtype = DType::float32,
               Generator* generator = nullptr, Site site = Site::current());
/// Normal; floating types.
Tensor normal(const Shape& shape, double mean = 0, double deviation = 1,
              DType dtype = DType::float32, Generator* generator = nullptr,
              Site site = Site::current());
/// One, or true, with probability p, else zero.
Tensor bernoulli(const Shape& shape, double p, DType dtype = DType::boolean,
                 Generator* generator = nullptr, Site site = Site::current());
/// Integers in [low, high), all equally likely.
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, DType dtype = DType::int64,
               Generator* generator = nullptr, Site site = Site::current());
/// The integers [0, n) in random order; int32 or int64.
Tensor permutation(std::int64_t n, DType dtype = DType::int64, Generator* generator = nullptr,
                   Site site = Site::current());
/// `n` places along the last axis of `weights`, drawn with probabilities in proportion to them;
/// int64. Weights are floats, not negative. Without replacement no place is drawn twice: throws
/// ValueError if there are fewer than n. Where fewer than n have a weight above 0, what follows
/// those that have one is any of the others.
Tensor multinomial(const Operand& weights, std::int64_t n, bool replacement = false,
                   Generator* generator = nullptr);

}  // namespace tenure
