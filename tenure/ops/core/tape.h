#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenure/ops/core/attributes.h"
#include "tenure/ops/core/call_context.h"
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

}  // namespace tenure::ops
