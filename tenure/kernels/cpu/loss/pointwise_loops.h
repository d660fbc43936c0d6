#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/loss/pointwise.h"

namespace tenure::kernels {

/// The vector loops of one loss on contiguous elements of T.
template <class T>
struct PointwiseLoops {
  double (*sum)(const T* x, const T* t, std::int64_t n, T p);
  void (*map)(const T* x, const T* t, std::int64_t n, T p, T* out);
  /// out = dy * factor * derivative; one dy for all elements if `dy_step` is 0, else 1.
  void (*gradient)(const T* x, const T* t, const T* dy, std::int64_t dy_step, T factor,
                   std::int64_t n, T p, T* out);
};

/// The best instance for this machine.
const PointwiseLoops<float>& find_loops(PointwiseLoss kind, float tag);
const PointwiseLoops<double>& find_loops(PointwiseLoss kind, double tag);

}  // namespace tenure::kernels
