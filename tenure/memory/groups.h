#pragma once

#include <vector>

#include "tenure/base/error.h"

namespace tenure::mem {

class BudgetAccount;

/// All tensors grouped by the op and source line that made them, largest first. A storage counts
/// once, with the oldest tensor that holds it. With an account, only live tensors whose storage
/// counts in it.
std::vector<HolderGroup> holder_groups(const BudgetAccount* within = nullptr);

}  // namespace tenure::mem
