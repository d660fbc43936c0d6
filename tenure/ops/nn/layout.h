#pragma once

#include "tenure/ops/core/operand.h"
#include "tenure/ops/shape_ops.h"

// Images with channels first are views of images with channels last.

namespace tenure::ops {

/// [batch, channels, spatial...] as [batch, spatial..., channels]; a view that leaves x as it is.
inline Tensor channels_last(const Operand& x) {
  Axes order{0};
  for (int i = 2; i < x.tensor().shape().size(); ++i) order.push_back(i);
  order.push_back(1);
  return permute(Operand(x.tensor(), x.site()), order);
}

/// The other way round; uses up a moved x.
inline Tensor channels_first(const Operand& x) {
  const int rank = x.tensor().shape().size();
  Axes order{0, rank - 1};
  for (int i = 1; i < rank - 1; ++i) order.push_back(i);
  return permute(x, order);
}

}  // namespace tenure::ops
