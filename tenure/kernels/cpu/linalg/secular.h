#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/linalg/gaps.h"

namespace tenure::kernels::linalg {

/// D + weight z z^T, of a diagonal D that ascends; no number of z is zero, and no two of D are
/// equal but for rounding. Its eigenvalues lie between those of D: each is a zero of 1 / weight +
/// sum of z[i]^2 / (D[i] - x). With gaps of squares D is d^2, from zero on, and what is asked for
/// are the roots of the eigenvalues.
struct RankOneUpdate {
  Gap gap = Gap::of_numbers;
  std::int64_t n = 0;
  const double* d = nullptr;
  const double* squares = nullptr;  ///< of z
  double weight = 0;                ///< above zero
};

/// Eigenvalue i, or its root, as it lies beside the number of d that is nearer: gaps to all of d
/// are exact but for the rounding of each, however close it is. In secular.cpp.
Place find_root(const RankOneUpdate& update, std::int64_t i);

/// Replaces z by one for which the places, rounded as they are, are exact (Gu and Eisenstat): so
/// that the vectors made of it are orthogonal. Signs stay, and the length of z is that for a weight
/// of 1.
void fit_vector(Gap gap, const double* d, const Place* places, std::int64_t n, double* z,
                double* room);

}  // namespace tenure::kernels::linalg
