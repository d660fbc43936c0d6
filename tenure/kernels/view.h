#pragma once

#include "tenure/ops/core/view.h"

namespace tenure::kernels {

using ops::View;

}  // namespace tenure::kernels
