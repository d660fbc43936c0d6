#include "tenure/ops/core/scalar_tensor.h"

#include <array>
#include <cstddef>

#include "tenure/ops/core/types.h"
#include "tenure/tensor/host.h"

namespace tenure::ops {

Tensor scalar_tensor(const Scalar& scalar, Device device, const char* op, Site site) {
  alignas(8) std::array<std::byte, 8> element;
  store_scalar(scalar, scalar.dtype(), element.data(), op);
  return tensor_from_host(device, element.data(), scalar.dtype(), {}, "scalar", site);
}

}  // namespace tenure::ops
