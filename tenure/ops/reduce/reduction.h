#pragma once

#include <vector>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/reduce/axes.h"

// What the records of ops over axes share.

namespace tenure::ops {

using Values = std::vector<long double>;

/// The values from which element `index` of a result with all dimensions kept comes, in row-major
/// order.
inline Values values_over(const Reference& x, const Axes& axes, Dims index) {
  Shape searched;
  for (const std::int64_t axis : axes) searched.push_back(x.shape[static_cast<int>(axis)]);
  return make_reference(searched,
                        [&](const Dims& inner) {
                          for (int i = 0; i < axes.size(); ++i) {
                            index[static_cast<int>(axes[i])] = inner[i];
                          }
                          return at(x, index);
                        })
      .values;
}

/// A reduction. An op adds its names, and
///
///   expected(values, attributes)   the reference for one result
///   result_type(dtype)             of an input of that type
///
/// and what differs from the defaults below.
template <class Op>
struct ReductionOp {
  static constexpr auto family = "reductions";
  static constexpr Precision precision = Precision::wide;
  static constexpr auto memory = allocates();
  static constexpr auto types = kAllTypes;
  static constexpr int axes_at = 0;           // which attribute; keepdims follows
  static constexpr double low = 0, high = 3;  // of the samples: sums do not cancel
  static void check(const Shape&, const Axes&, const Attributes&) {}
  /// Attributes as the op's signature has them.
  static Attributes attributes(const Axes& axes, bool keepdims) {
    return Attributes(axes, keepdims);
  }

  static Axes axes(const Kernel& k) {
    return reduced_axes(k.attributes.dims(Op::axes_at), k.in[0].shape.size(), Op::name);
  }
  static Specs infer(const Kernel& k) {
    const Axes over = axes(k);
    Op::check(k.in[0].shape, over, k.attributes);
    return {{Op::result_type(k.in[0].dtype),
             reduced_shape(k.in[0].shape, over, k.attributes.flag(Op::axes_at + 1))}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Axes over = reduced_axes(a.dims(Op::axes_at), in[0].shape.size(), Op::name);
    Reference out = make_reference(reduced_shape(in[0].shape, over, true), [&](const Dims& index) {
      return Op::expected(values_over(in[0], over, index), a);
    });
    out.shape = reduced_shape(in[0].shape, over, a.flag(Op::axes_at + 1));
    return {out};
  }
  static Sample sample(const Shape& shape, const Axes& axes, bool keepdims = false) {
    return {.inputs = {{.shape = shape, .low = Op::low, .high = Op::high}},
            .attributes = Op::attributes(axes, keepdims)};
  }
  static std::vector<Sample> samples() {
    return {
        sample({2, 3, 70}, {-1}),  sample({2, 3, 70}, {0}),          sample({2, 3, 70}, {1}, true),
        sample({5, 4, 3}, {0, 2}), sample({5, 4, 3}, {-2, 0}, true), sample({21, 50}, {}),
        sample({3, 4}, {}, true),  sample({1100, 2}, {0}),           sample({}, {}),
        sample({2, 0, 3}, {0})};
  }
};

}  // namespace tenure::ops
