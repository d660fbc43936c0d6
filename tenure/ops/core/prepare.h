#pragma once

#include <memory>
#include <variant>

#include "tenure/ops/core/record.h"

namespace tenure::ops {

/// An attribute, the first of its op, that holds programs: they are compiled for the types and
/// shapes of a call's inputs before its kernel is asked for a workspace or run.
class Preparable : public Opaque {
 public:
  /// The attributes that the kernel gets, with what the programs were compiled into; infer has
  /// accepted the inputs.
  virtual Attributes prepared(const Kernel& kernel) const = 0;
};

/// The programs among the attributes of a call; nullptr: there are none, nothing is to be done.
inline const Preparable* preparable_in(const Attributes& attributes) {
  if (attributes.size() == 0) return nullptr;
  const auto* const opaque = std::get_if<std::shared_ptr<const Opaque>>(&attributes[0]);
  return opaque == nullptr ? nullptr : dynamic_cast<const Preparable*>(opaque->get());
}

}  // namespace tenure::ops
