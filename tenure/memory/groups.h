#pragma once

#include <vector>

#include "tenure/base/error.h"

namespace tenure::mem {

/// All live tensors grouped by the op and source line that made them, largest first. A storage
/// counts once, with the oldest tensor that holds it.
std::vector<HolderGroup> holder_groups();

}  // namespace tenure::mem
