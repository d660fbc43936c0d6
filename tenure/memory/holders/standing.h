#pragma once

#include <cstdint>

#include "tenure/memory/holders/tenant.h"

namespace tenure::mem {

/// Where a tensor stands among the scopes of this thread: the one that lists it, and whether it is
/// kept. For another one that takes its place. In memory/scope.cpp, which has the lists.
class Standing {
 public:
  explicit Standing(const Tenant& tenant) noexcept;
  /// `tenant`, which this thread has just made, stands there from now on. If the first belongs to a
  /// scope of another thread, whose list only that one may touch, no scope ends the second.
  void pass_to(Tenant& tenant) const noexcept;

 private:
  bool kept_;
  bool is_foreign_;      // listed by a scope of another thread
  std::uint32_t depth_;  // of the scope that lists it; 0: none does
};

}  // namespace tenure::mem
