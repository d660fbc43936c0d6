#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tenure/ops/core/attributes.h"
#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

namespace tenure::ops {

/// Takes note of calls, so that gradients can be computed later. Implemented by tenure/autograd.
class Tape {
 public:
  virtual ~Tape() = default;
  /// Makes the call, by run_untaped() in the end, and takes note of it.
  virtual Tensor run(const OpRecord& op, std::span<const Operand> operands,
                     const Attributes& attributes, Site site) = 0;
  virtual std::vector<Tensor> run_many(const OpRecord& op, std::span<const Operand> operands,
                                       const Attributes& attributes, Site site) = 0;
  /// `value` is what the variable with this number holds.
  virtual void read_variable(std::uint64_t variable, bool trainable, const Tensor& value) = 0;
};

/// What this thread's calls go to; nullptr: nobody takes note.
inline constinit thread_local Tape* active_tape = nullptr;

/// While it lives, no tape takes note of this thread's calls.
class Untaped {
 public:
  Untaped() noexcept : outer_(std::exchange(active_tape, nullptr)) {}
  ~Untaped() { active_tape = outer_; }
  Untaped(const Untaped&) = delete;
  Untaped& operator=(const Untaped&) = delete;

 private:
  Tape* outer_;
};

}  // namespace tenure::ops
