#pragma once

#include <array>

#include "tenure/kernels/cpu/elementwise/body.h"

namespace tenure::kernels {

/// The bodies of one op, by the type that it computes in. 16-bit floats have none: they are
/// computed with in float32.
using Bodies = std::array<Body, kDTypes>;

// Of each family in ops/elementwise, in the order of its list, for the instruction set of this
// machine.

const Bodies* activation_bodies();     ///< activation.cpp
const Bodies* arithmetic_bodies();     ///< arithmetic.cpp
const Bodies* comparison_bodies();     ///< comparison.cpp
const Bodies* derivative_bodies();     ///< derivatives.cpp
const Bodies* exponential_bodies();    ///< exponential.cpp
const Bodies* logic_bodies();          ///< logic.cpp
const Bodies* selection_bodies();      ///< selection.cpp
const Bodies* trigonometric_bodies();  ///< trigonometric.cpp

}  // namespace tenure::kernels
