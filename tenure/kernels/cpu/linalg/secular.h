#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/linalg/vectors.h"

namespace tenure::kernels::linalg {

/// D + weight z z^T, of a diagonal D that ascends; no number of z is zero, and no two of D are
/// equal but for rounding. Its eigenvalues lie between those of D: each is a zero of 1 / weight +
/// sum of z[i]^2 / (d[i] - x).
struct RankOneUpdate {
  std::int64_t n = 0;
  const double* d = nullptr;
  const double* squares = nullptr;  ///< of z
  double weight = 0;                ///< above zero
};

/// Eigenvalue i, as it lies beside the number of D that is nearer: differences from all of D are
/// exact but for the rounding of each, however close it is. In secular.cpp.
Place find_root(const RankOneUpdate& update, std::int64_t i);

/// Replaces z by one for which the places, rounded as they are, are exact eigenvalues (Gu and
/// Eisenstat): so that the vectors made of it are orthogonal. Signs stay.
void fit_vector(const double* d, const Place* places, std::int64_t n, double* z, double* room);

}  // namespace tenure::kernels::linalg
