#include "tenure/graph/passes/unit.h"

#include "tenure/base/units.h"
#include "tenure/graph/passes/kernel_views.h"

namespace tenure::graph {

bool is_whole(const Layout& layout, const Buffer& buffer) {
  return layout.offset == 0 && is_contiguous(layout.shape, layout.strides) &&
         bytes_of(ops::Spec{layout.dtype, layout.shape}) == buffer.bytes;
}

std::int64_t aligned(const Lowered& lowered, std::int64_t bytes) {
  const std::int64_t alignment = ops::backend(lowered.request.device).alignment();
  return static_cast<std::int64_t>(
      round_up(static_cast<std::size_t>(bytes), static_cast<std::size_t>(alignment)));
}

std::size_t workspace_on(const Unit& unit, const ops::Backend& device, int threads) {
  if (unit.nodes == 0 || unit.slot->workspace == nullptr) return 0;
  return device.workspace(*unit.slot, KernelViews(unit).kernel(), threads);
}

}  // namespace tenure::graph
