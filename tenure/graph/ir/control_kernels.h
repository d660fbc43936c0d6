#pragma once

#include "tenure/ops/core/backend.h"

namespace tenure::graph {

// The kernels of control ops come along with them, as those of users' ops do: they run programs,
// which the tables of devices know nothing of, on whichever device those are compiled for.

const ops::KernelSlot& cond_kernel();
const ops::KernelSlot& while_kernel();
const ops::KernelSlot& scan_kernel();

}  // namespace tenure::graph
