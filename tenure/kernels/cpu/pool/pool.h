#pragma once

#include <cstdint>

#include "tenure/kernels/view.h"
#include "tenure/ops/nn/pooling.h"

namespace tenure::kernels {

using ops::Pooling;

/// How an average counts the places of its window.
enum class PoolCount : std::uint8_t { inside, all };

// Elements are contiguous, float32 or float64. Numbers of places are uint8 or int32.

/// The largest element of each window, and the number of its place; NaN wins.
void max_pool(const Pooling& p, DType dtype, const void* x, void* y, const View& places);
/// Adds dy to zeros at the places.
void max_pool_gradient(const Pooling& p, DType dtype, const void* dy, const View& places, void* dx);
/// The elements of x at the places.
void max_pool_select(const Pooling& p, DType dtype, const void* x, const View& places, void* y);

void average_pool(const Pooling& p, DType dtype, PoolCount count, const void* x, void* y);
void average_pool_gradient(const Pooling& p, DType dtype, PoolCount count, const void* dy,
                           void* dx);

}  // namespace tenure::kernels
