#include "tenure/kernels/cpu/elementwise/stream.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/elementwise/stream.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void stream_copy(const void* from, void* to, std::size_t n) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* in = static_cast<const std::uint8_t*>(from);
  auto* out = static_cast<std::uint8_t*>(to);
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(out) % lanes;
  if (head >= n) {
    std::memcpy(out, in, n);
    return;
  }
  if (head != 0) std::memcpy(out, in, head);
  std::size_t i = head;
  for (; i + lanes <= n; i += lanes) hn::Stream(hn::LoadU(d, in + i), d, out + i);
  if (i != n) std::memcpy(out + i, in + i, n - i);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(stream_copy);

void stream_copy(const void* from, void* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(stream_copy)(from, to, n);
}

void stream_fence() { hwy::FlushStream(); }

}  // namespace tenure::kernels
#endif
