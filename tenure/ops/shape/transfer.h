#pragma once

#include "tenure/memory/pool/devices.h"
#include "tenure/ops/core/attributes.h"

// What the attributes of copy_to are, for its record and its kernels.

namespace tenure::ops {

inline Attributes transfer_attributes(Device to, Device from) {
  return Attributes(static_cast<std::int64_t>(mem::place_of(to)),
                    static_cast<std::int64_t>(mem::place_of(from)));
}
inline Device transfer_target(const Attributes& attributes) {
  return mem::device_at(static_cast<std::size_t>(attributes.integer(0)));
}
inline Device transfer_origin(const Attributes& attributes) {
  return mem::device_at(static_cast<std::size_t>(attributes.integer(1)));
}

}  // namespace tenure::ops
