#pragma once

#include "tenure/kernels/cuda/device/view_arguments.h"
#include "tenure/kernels/view.h"

namespace tenure::kernels::cuda {

/// A view as kernels get it. Dimensions of one element are left out, and neighbours that lie behind
/// each other are one: elements have the same order.
DeviceView device_view(const View& view);

/// A view with exactly the dimensions of `view`.
DeviceView device_view_as_is(const View& view);

}  // namespace tenure::kernels::cuda
