#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tenure/ops/core/record.h"
#include "tenure/ops/custom.h"

namespace tenure {

/// What check_op() found.
struct OpReport {
  std::string op;
  int checks = 0;                       ///< that were made
  std::vector<std::string> failures{};  ///< each with the sample that it was found with

  bool ok() const { return failures.empty(); }
};
/// "soft_clip: 12 checks, all passed", or what failed.
std::string to_string(const OpReport& report);
std::ostream& operator<<(std::ostream& out, const OpReport& report);

/// Holds an op to its record: results within the stated bound of its reference, for strided, empty
/// and scalar inputs; the declared memory effect is the measured one; wrong inputs and failed
/// allocations are typed errors that lose nothing; gradients are what finite differences give; a
/// function gives the same bits and takes what its plan says.
OpReport check_op(const ops::OpRecord& op);
OpReport check_op(const CustomOp& op);

}  // namespace tenure
