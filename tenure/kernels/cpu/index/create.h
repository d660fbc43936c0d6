#pragma once

#include <cstdint>

#include "tenure/kernels/view.h"
#include "tenure/ops/creation/spacing.h"

// Fills that make a tensor from a rule. Outputs are contiguous.
namespace tenure::kernels {

/// The identity on the last two dimensions: ones on the k-th diagonal, zeros elsewhere.
void eye(const View& out, std::int64_t k);

/// out[.., indices[..]] = *on, everything else *off: the last dimension of `out` is the depth.
/// An index outside [-depth, depth) throws IndexError before anything is written.
void one_hot(const View& indices, const View& out, const void* on, const void* off);

/// start + i * step, in double and then in the type of `out`.
void arange(const View& out, double start, double step);

/// start + i * step, in 64-bit integers, which wrap around, and then in the type of `out`.
void arange(const View& out, std::int64_t start, std::int64_t step);

/// Evenly spaced numbers. Integers are rounded down, as in NumPy.
void linspace(const View& out, const ops::Spacing& spacing);

/// `base` to the powers of evenly spaced numbers, in extended precision and then in the type of
/// `out`, a floating one.
void logspace(const View& out, double start, double stop, double base, bool endpoint);

}  // namespace tenure::kernels
