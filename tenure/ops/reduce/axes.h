#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "tenure/base/error.h"
#include "tenure/tensor/dtype.h"
#include "tenure/tensor/shape.h"

// Which axes an op works along, and what shapes and types come of it.

namespace tenure::ops {

// The places of the attributes of each op, in the order of its signature.
// Reductions have the axes and keepdims.

/// Of ops along one axis: softmax, cumulative sums, ...
struct AxiswiseAttributes {
  enum : int { axis };
};

/// Of var and stddev.
struct VarianceAttributes {
  enum : int { axes, keepdims, correction };
};

/// Of norm.
struct VectorNormAttributes {
  enum : int { order, axes, keepdims };
};

/// One axis, normalized. The only element of a tensor without axes counts as lying along axis 0.
inline int axis_of(std::int64_t axis, int rank, const char* op) {
  return normalize_axis(axis, std::max(rank, 1), op);
}
/// Axes to reduce over, normalized; all if none are given.
inline Axes reduced_axes(const Axes& given, int rank, const char* op) {
  const Axes axes = normalize_axes(given, std::max(rank, 1), op);
  return rank == 0 ? Axes{} : axes;
}

inline bool contains(const Axes& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

inline Shape reduced_shape(const Shape& shape, const Axes& axes, bool keepdims) {
  Shape result;
  for (int i = 0; i < shape.size(); ++i) {
    if (!contains(axes, i)) {
      result.push_back(shape[i]);
    } else if (keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

/// Throws ShapeError if a result has no element to come from.
inline void require_elements(const Shape& shape, const Axes& axes, const char* op) {
  if (count(reduced_shape(shape, axes, false)) == 0) return;
  for (int i = 0; i < shape.size(); ++i) {
    if (contains(axes, i) && shape[i] == 0) {
      throw ShapeError(
          op, "axis " + std::to_string(i) + " of shape " + to_string(shape) + " has no elements",
          {shape.to_vector()});
    }
  }
}

/// Sums and products of integers and bool are int64.
inline DType sum_type(DType dtype) { return is_floating(dtype) ? dtype : DType::int64; }

/// The axes of `x` along which `like` is repeated. Throws ShapeError, in the name of `op`, unless
/// `like` broadcasts to `x`.
inline Axes repeated_axes(const Shape& x, const Shape& like, const char* op) {
  if (broadcast(like, x, op) != x) {
    throw ShapeError(op, to_string(like) + " does not broadcast to " + to_string(x),
                     {x.to_vector(), like.to_vector()});
  }
  const int lead = x.size() - like.size();
  Axes axes;
  for (int i = 0; i < x.size(); ++i) {
    if (i < lead || (like[i - lead] == 1 && x[i] != 1)) axes.push_back(i);
  }
  return axes;
}

}  // namespace tenure::ops
