#pragma once

#include "tenure/kernels/parallel.h"

namespace tenure::test {

/// Sets the number of threads, or leaves it, and brings it back when it ends.
class Threads {
 public:
  Threads() = default;
  explicit Threads(int threads) { set_num_threads(threads); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_ = num_threads();
};

}  // namespace tenure::test
