#pragma once

#include <cstdint>

#include "tenure/kernels/cuda/table.h"

namespace tenure::kernels::cuda {

/// Slot::check of an elementwise op; nullptr: it refuses nothing. In find_slots.cpp.
using Check = void (*)(const char* op, DType compute, const ops::LoopInputs& in);
Check check_for(ops::Refusal refuses);

/// The first element of a contiguous view that is infinite or no number, or -1. Waits. In
/// find_slots.cpp.
std::int64_t find_not_finite(Gpu& gpu, const ops::View& view);

/// The first element, in the order of rows, that is not in [low, high], or -1. Waits. In
/// find_slots.cpp.
std::int64_t find_beyond(Gpu& gpu, const char* op, const ops::View& view, double low, double high);

/// Of a view of int32 or int64. Waits. In find_slots.cpp.
IntegerRange integer_range(Gpu& gpu, const ops::View& view);

Family find_family();  // find_slots.cpp

}  // namespace tenure::kernels::cuda
