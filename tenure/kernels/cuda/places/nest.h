#pragma once

#include <initializer_list>

#include "tenure/kernels/cuda/places/places_arguments.h"
#include "tenure/tensor/shape.h"

namespace tenure::kernels::cuda {

/// A nest of loops without loops as yet, which is of one element.
Places no_loops(int operands);

/// Adds a loop inside those there are, with what each operand moves by in a step. A loop of one
/// step vanishes, and neighbours that all operands walk evenly become one.
void add_loop(Places& nest, std::int64_t size, std::initializer_list<std::int64_t> strides);
void add_loop(Places& nest, std::int64_t size, const std::int64_t* strides);

/// The loops over dimensions [first, last) of a shape, with the strides of each operand there.
void add_loops(Places& nest, const Shape& shape, int first, int last,
               std::initializer_list<const Strides*> strides);
/// The loops over a whole shape.
Places loops_over(const Shape& shape, std::initializer_list<const Strides*> strides);

}  // namespace tenure::kernels::cuda
