#pragma once

#include "tenure/kernels/cuda/device/view_arguments.h"

namespace tenure::kernels::cuda {

/// Of copies between two views of as many elements.
struct CopyArguments {
  DeviceView from;
  DeviceView to;
};

}  // namespace tenure::kernels::cuda
