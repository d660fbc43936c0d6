#pragma once

#include "tenure/kernels/view.h"

namespace tenure::kernels::cuda {

class Gpu;

/// Queues a copy of as many elements in their order: of one shape, or one of the two is contiguous.
/// Those of another type are converted. The two do not overlap. In move_slots.cpp.
void copy_elements(Gpu& gpu, const char* op, const View& from, const View& to);

}  // namespace tenure::kernels::cuda
