#include "tenure/ops/nn/types.h"

#include <fmt/format.h>

namespace tenure::ops {

void require_same_type(const Kernel& k, std::size_t count) {
  for (std::size_t i = 1; i < count; ++i) {
    if (k.in[i].dtype == k.in[0].dtype) continue;
    throw DTypeError(k.op, fmt::format("takes inputs of one type, not {} and {}; use cast",
                                       name_of(k.in[0].dtype), name_of(k.in[i].dtype)));
  }
}

}  // namespace tenure::ops
