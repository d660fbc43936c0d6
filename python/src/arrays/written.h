#pragma once

#include "tenure/memory/default_device.h"
#include "tenure/ops/core/named.h"
#include "tenure/tensor/host.h"
#include "tenure/tensor/pending.h"

namespace tenure::python {

/// A tensor on `device` whose elements `write(void*)` puts there, in row-major order. `op`, which
/// has static storage duration, is what errors and reports call it.
template <class Write>
Tensor written(Device device, const Shape& shape, DType dtype, const char* op, Site site,
               const Write& write) {
  return ops::in_call(op, site, [&] {
    const auto n = static_cast<std::size_t>(check_shape(shape, size_of(dtype), op));
    PendingTensor pending(mem::this_thread(), device, dtype, shape);
    HostRoom room(pending, n * size_of(dtype));
    write(room.data());
    room.finish();
    return pending.finish(op, site);
  });
}

}  // namespace tenure::python
