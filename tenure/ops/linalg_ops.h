#pragma once

#include <string>

#include "tenure/ops/core/operand.h"

// Defined in linalg/matmul.cpp and linalg/einsum.cpp.

namespace tenure {

/// The product of matrices. Leading dimensions are a batch and broadcast; a vector on the left is a
/// row, on the right a column, and its dimension disappears.
Tensor matmul(const Operand& a, const Operand& b);

/// Sums of products in Einstein's notation: "ij,jk->ik". Letters name dimensions; "..." stands for
/// those that broadcast; without "->" the letters that occur once remain, in alphabetical order.
Tensor einsum(const std::string& equation, const OperandList& tensors);

}  // namespace tenure
