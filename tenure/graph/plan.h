#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tenure/base/site.h"
#include "tenure/tensor/dtype.h"
#include "tenure/tensor/shape.h"

namespace tenure {

/// What running a program will take, known before it runs.
struct Plan {
  /// A tensor by type and shape.
  struct Value {
    DType dtype{};
    Shape shape{};
    std::int64_t bytes = 0;
    bool reused = false;  ///< of a donated input: something is computed in its memory
  };
  /// One kernel call, or one for each part of the batch.
  struct Step {
    std::string op;              ///< or "fused loop of 3, ending in tanh", "sum, fused with 2 more"
    int parts = 1;               ///< it runs for each of so many, in turn with its neighbours
    Site site{};                 ///< of the call that it ends with
    std::int64_t bytes = 0;      ///< of its result
    std::int64_t workspace = 0;  ///< more while it runs
    bool in_place = false;       ///< computes in the memory of an input
    std::int64_t live = 0;       ///< results and workspace that the run has in use at this step
  };

  /// The most bytes that a run adds to what is live: the arena and the outputs. Not those that lie
  /// in memory that was there before: of a donated input, or of a variable that is assigned to and
  /// whose old value nobody else holds.
  std::int64_t peak = 0;
  std::int64_t arena = 0;
  /// Bytes of constants that were computed when it was traced or compiled. They are there before a
  /// run and after it, until the program is dropped, and are no part of the peak.
  std::int64_t constants = 0;
  /// The most bytes of weights that it keeps packed, as its kernels read them: of those that it has
  /// found unchanged in two runs, until they change, somebody is refused memory, or the program is
  /// dropped. They are packed between runs, and are no part of the peak.
  std::int64_t packed = 0;
  /// Of a program that may: the time that is added by what is computed again and by running in
  /// parts, as a share of the rest. An estimate.
  double recomputed = 0;
  /// Floating-point operations of a run, as the records of its ops count them; what bodies of loops
  /// and branches do is not in it.
  double flops = 0;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  std::vector<Step> steps;
};

/// A table for a person to read.
std::string to_string(const Plan& plan);
std::ostream& operator<<(std::ostream& out, const Plan& plan);

}  // namespace tenure
