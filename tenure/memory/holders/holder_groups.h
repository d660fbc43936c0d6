#pragma once

#include <cstdint>
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

/// What most of some tensors have in common, by their bytes.
struct CommonHolder {
  HolderKind kind = HolderKind::user;
  std::uint32_t calls = 0;  ///< that led to them, as callers.h has them
};
/// Of the newest so many of a group, disposed ones included.
CommonHolder common_holder(const HolderGroup& group, std::int64_t newest,
                           const WhichHolders& which = {});

}  // namespace tenure::mem
