#pragma once

#include <span>
#include <string>
#include <vector>

#include "tenure/ops/core/record.h"

namespace tenure::ops {

/// The letters of an einsum equation, one string per operand and one for the result. Dimensions
/// that "..." stands for have capital stand-ins of their own, so that all are single characters.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

/// Reads an equation for operands of these shapes. Throws ValueError for a malformed one and
/// ShapeError where a letter stands for different sizes. In equation.cpp.
Equation parse_equation(const std::string& text, std::span<const Shape> shapes);

const OpRecord& einsum_record();

}  // namespace tenure::ops
