#pragma once

#include <optional>
#include <vector>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/reference.h"

namespace tenure::ops {

/// What all views share. Each defines view(), from which its reference follows: an index of the
/// view is an offset into its row-major input.
template <class Op>
struct ViewOp {
  static constexpr auto family = "views";
  static constexpr auto memory = ops::view();
  static constexpr auto types = kAllTypes;
  static std::vector<Reference> reference(const std::vector<Reference>& in,
                                          const Attributes& attributes) {
    const View input{.dtype = DType::float64,
                     .shape = in[0].shape,
                     .strides = contiguous_strides(in[0].shape),
                     .data = nullptr};
    const Kernel kernel{
        .op = Op::name, .in = {&input, 1}, .out = {}, .attributes = attributes, .workspace = {}};
    return {Op::expected(in[0], kernel)};
  }
};

}  // namespace tenure::ops
