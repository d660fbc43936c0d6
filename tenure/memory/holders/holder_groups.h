#pragma once

#include <vector>

#include "tenure/base/error.h"

namespace tenure::mem {

class BudgetAccount;

enum class Caches { counted, left_out };

/// All tensors grouped by the op and source line that made them, largest first. A storage counts
/// once, with the oldest tensor that holds it. With an account, only live tensors whose storage
/// counts in it. What caches hold that have a bound of their own (HolderKind::cache) may be left
/// out.
std::vector<HolderGroup> holder_groups(const BudgetAccount* within = nullptr,
                                       Caches caches = Caches::counted);

}  // namespace tenure::mem
