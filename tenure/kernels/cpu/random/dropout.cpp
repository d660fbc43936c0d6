#include "tenure/kernels/cpu/random/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/random/dropout.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Words below `threshold` drop their element.
void drop_floats(const float* x, const std::uint32_t* words, std::uint32_t threshold, float scale,
                 float* y, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // Comparisons are of signed numbers: both sides move by 2^31.
  const auto flip = hn::Set(di, std::int32_t{INT32_MIN});
  const auto limit = hn::Xor(hn::Set(di, static_cast<std::int32_t>(threshold)), flip);
  const auto factor = hn::Set(d, scale);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto word =
        hn::Xor(hn::LoadU(di, reinterpret_cast<const std::int32_t*>(words) + i), flip);
    const auto dropped = hn::RebindMask(d, hn::Lt(word, limit));
    hn::StoreU(hn::IfThenZeroElse(dropped, hn::Mul(hn::LoadU(d, x + i), factor)), d, y + i);
  }
  for (; i < n; ++i) y[i] = words[i] < threshold ? 0.0F : x[i] * scale;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {
namespace {
HWY_EXPORT(drop_floats);
}  // namespace

void dropout(DType dtype, std::int64_t n, const void* x, PhiloxStream stream, double p, void* y) {
  constexpr std::int64_t kTile = 1024;
  const double limit = std::round(std::ldexp(p, 32));
  const bool all = limit >= 0x1p32;
  const auto threshold = all ? 0u : static_cast<std::uint32_t>(limit);
  const double scale = all ? 0.0 : 1 / (1 - p);
  const auto floats = HWY_DYNAMIC_DISPATCH(drop_floats);
  parallel_for(n, 8 * kTile, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::uint32_t words[kTile];
    for (std::int64_t i = begin; i < end; i += kTile) {
      const std::int64_t m = std::min(kTile, end - i);
      philox::words(stream.seed, stream.offset + static_cast<std::uint64_t>(i / 4), (m + 3) / 4,
                    words);
      if (dtype == DType::float32) {
        floats(static_cast<const float*>(x) + i, words, threshold, static_cast<float>(scale),
               static_cast<float*>(y) + i, m);
        continue;
      }
      for (std::int64_t k = 0; k < m; ++k) {
        static_cast<double*>(y)[i + k] =
            words[k] < threshold ? 0.0 : static_cast<const double*>(x)[i + k] * scale;
      }
    }
  });
}

}  // namespace tenure::kernels
#endif
