#pragma once

#include <cmath>
#include <vector>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"

// What the cells of recurrent layers share. Inputs: x and h for all gates, then a state and what
// else has its shape.

namespace tenure::ops {

/// Throws unless x and h are [batch, gates * units], and all further inputs [batch, units].
void check_cell(const Kernel& k, int gates);

/// Samples for a cell with `gates` gates and `states` inputs in the shape of the state.
std::vector<Sample> cell_samples(int gates, int states);

/// The parts of [batch, gates * units] that belong to each gate.
std::vector<Tensor> split_gates(const Tensor& all, int gates);

/// The gradient of output o, or zeros in the shape of an input.
Tensor given_or_zeros(const Backward& b, std::size_t o, std::size_t like_input);

struct CellOp {
  static constexpr auto family = "recurrent";
  static constexpr auto types = kFloatTypes;
  static constexpr auto memory = allocates().with_workspace();
  static constexpr double ulp_of_largest = 16;
  static double flops(const Kernel& k) { return 15.0 * static_cast<double>(k.in[0].count()); }
};

inline long double sigmoid_of(long double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace tenure::ops
