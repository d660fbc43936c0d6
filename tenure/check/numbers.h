#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tenure/tensor/tensor.h"

// Element types seen as sets of numbers. A long double holds every element of every type exactly.

namespace tenure::check {

/// The element nearest to `value`; past an end of an integer type, that end.
long double nearest(DType dtype, long double value);

/// Distance between neighbouring elements of a floating type around `value`.
long double ulp(DType dtype, long double value);
/// The largest finite element, the smallest positive normal one and the smallest positive one.
long double largest(DType dtype);
long double smallest_normal(DType dtype);
long double smallest(DType dtype);
/// Numbers from here on round to infinity.
long double overflow_from(DType dtype);

/// An integer result of any size as the wrapping arithmetic of an integer type leaves it.
long double wrapped(DType dtype, long double value);

/// Equal in value and sign, or both NaN.
bool same(long double a, long double b);

void write(DType dtype, void* data, std::int64_t at, long double value);

/// All elements in row-major order.
std::vector<long double> values_of(const Tensor& tensor);
/// The whole storage, with what lies between the elements.
std::vector<std::byte> bytes_of(const Tensor& tensor);

std::string to_text(long double value);

}  // namespace tenure::check
