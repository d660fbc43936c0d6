#pragma once

#include <utility>

#include "tenure/tensor/tensor.h"

namespace tenure::ops {
struct OpRecord;
}

namespace tenure::test {

/// An op with two outputs, each of which may be computed in the input of its number:
/// m' = m / 2 + g, p' = p - m'.
const ops::OpRecord& momentum_record();
std::pair<Tensor, Tensor> momentum_update(const Tensor& p, const Tensor& m, const Tensor& g);

}  // namespace tenure::test
