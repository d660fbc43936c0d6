#pragma once

#include <optional>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/memory/kinds.h"

namespace tenure::mem {

class BudgetAccount;

/// Which tensors are of interest.
struct WhichHolders {
  /// Only live ones whose storage counts in this account.
  const BudgetAccount* within = nullptr;
  /// Only those that lie there, or did before they were disposed.
  std::optional<Device> device{};
  /// With what caches hold that have a bound of their own (HolderKind::cache).
  bool with_caches = true;
};

/// Tensors grouped by the op and source line that made them, largest first. A storage counts once,
/// with the oldest tensor that holds it.
std::vector<HolderGroup> holder_groups(const WhichHolders& which = {});

}  // namespace tenure::mem
