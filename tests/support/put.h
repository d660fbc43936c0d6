#pragma once

#include <cstdint>

#include "tenure/ops/core/backend.h"
#include "tenure/tensor/tensor.h"

namespace tenure::test {

/// Writes element i of a contiguous tensor, as mutable_span() lets one do it on the CPU; on any
/// device. It counts as a write, too.
template <Element T>
void put(const Tensor& tensor, std::int64_t i, T value, Site site = Site::current()) {
  if (tensor.device() == cpu) {
    tensor.mutable_span<T>(site)[static_cast<std::size_t>(i)] = value;
    return;
  }
  const Pin pin(tensor.body("put()", site), "put()", site);
  pin.storage()->note_write(site);
  ops::backend(tensor.device()).write(static_cast<T*>(pin.data()) + i, &value, sizeof value);
}

}  // namespace tenure::test
