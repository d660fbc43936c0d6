#pragma once

#include <cstdint>

#include "tenure/ops/random_ops.h"

namespace tenure::graph {

/// What a run takes off the default generator, and the runs of bodies of loops within it. It is
/// given back unless the outermost run succeeds.
class Draws {
 public:
  Draws() { ++taken_.depth; }
  ~Draws() {
    if (--taken_.depth == 0 && taken_.counters > 0) end();
  }
  Draws(const Draws&) = delete;
  Draws& operator=(const Draws&) = delete;

  Generator::State take(std::uint64_t counters);
  void succeed() { succeeded_ = true; }

 private:
  void end();

  /// By this thread. Whoever else draws meanwhile moves the generator on from where these end.
  struct Taken {
    int depth = 0;
    Generator::State begin{};
    std::uint64_t counters = 0;
  };
  static thread_local constinit Taken taken_;
  bool succeeded_ = false;
};

}  // namespace tenure::graph
