#pragma once

#include <cstdint>
#include <string>

#include "tenure/base/error.h"

namespace tenure {

/// A matrix has no such factors: it is singular, or not positive definite. Defined in
/// linalg/solving.cpp.
class MatrixError : public ValueError {
 public:
  MatrixError(const std::string& op, const std::string& problem, std::int64_t matrix,
              std::int64_t pivot);

  const std::string& op() const { return op_; }
  /// Which one of the batch, in row-major order.
  std::int64_t matrix() const { return matrix_; }
  /// The row at which it was found.
  std::int64_t pivot() const { return pivot_; }

 private:
  std::string op_;
  std::int64_t matrix_;
  std::int64_t pivot_;
};

}  // namespace tenure
