#include "tenure/ops/core/scalar_tensor.h"

#include "tenure/ops/core/types.h"
#include "tenure/tensor/pending.h"

namespace tenure::ops {

Tensor scalar_tensor(const Scalar& scalar, const char* op, Site site) {
  const Shape shape;
  PendingTensor pending(mem::this_thread(), cpu, scalar.dtype(), shape);
  store_scalar(scalar, scalar.dtype(), pending.data(), op);
  return pending.finish("scalar", site);
}

}  // namespace tenure::ops
