#pragma once

#include <algorithm>

#include "tenure/ops/core/record.h"

// The axis of the sorting ops. The only element of a tensor without axes counts as lying along
// axis 0.

namespace tenure::ops {

// The places of the attributes of each op, in the order of its signature.

struct SortAttributes {
  enum : int { axis, descending };
};
struct TopKAttributes {
  enum : int { size, axis, largest };
};

struct SearchAttributes {
  enum : int { right };
};
struct BincountAttributes {
  enum : int { length };
};
struct HistogramAttributes {
  enum : int { bins, low, high };
};

inline int sorted_axis(std::int64_t axis, int rank, const char* op) {
  return normalize_axis(axis, std::max(rank, 1), op);
}
inline int sorted_axis(const Kernel& k, int attribute) {
  return sorted_axis(k.attributes.integer(attribute), k.in[0].shape.size(), k.op);
}
inline std::int64_t size_along(const Shape& shape, int axis) {
  return shape.empty() ? 1 : shape[axis];
}
/// With that axis.
inline View with_axis(View view) {
  if (view.shape.empty()) view.shape = view.strides = {1};
  return view;
}

}  // namespace tenure::ops
