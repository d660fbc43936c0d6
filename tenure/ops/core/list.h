#pragma once

#include <atomic>
#include <vector>

#include "tenure/ops/core/record.h"

namespace tenure::ops {

/// The ops of the folders above, which all_ops() has after the others. In tenure/wiring.cpp.
std::vector<const OpRecord*> ops_from_above();

/// An op of the list by its name, looked up when it is first asked for. It needs no lock, which
/// Lasting tells why: `static constinit NamedOp op("add");`
class NamedOp {
 public:
  constexpr explicit NamedOp(const char* name) noexcept : name_(name) {}

  const OpRecord& operator*() const {
    const OpRecord* const known = op_.load(std::memory_order_acquire);
    return known != nullptr ? *known : find();
  }

 private:
  const OpRecord& find() const;

  const char* name_;
  mutable std::atomic<const OpRecord*> op_{nullptr};
};

}  // namespace tenure::ops
