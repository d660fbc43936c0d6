#include "tenure/kernels/cuda/launch/device_view.h"

namespace tenure::kernels::cuda {
namespace {

DeviceView begun(const View& view) {
  return {.data = view.data,
          .rank = 0,
          .dtype = static_cast<std::int32_t>(view.dtype),
          .count = view.count(),
          .shape = {},
          .strides = {}};
}

}  // namespace

DeviceView device_view(const View& view) {
  DeviceView made = begun(view);
  for (int d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] == 1) continue;
    const int last = made.rank - 1;
    if (made.rank > 0 && made.strides[last] == view.strides[d] * view.shape[d]) {
      made.shape[last] *= view.shape[d];
      made.strides[last] = view.strides[d];
    } else {
      made.shape[made.rank] = view.shape[d];
      made.strides[made.rank++] = view.strides[d];
    }
  }
  return made;
}

DeviceView device_view_as_is(const View& view) {
  DeviceView made = begun(view);
  for (const std::int64_t size : view.shape) made.shape[made.rank++] = size;
  for (int d = 0; d < made.rank; ++d) made.strides[d] = view.strides[d];
  return made;
}

}  // namespace tenure::kernels::cuda
