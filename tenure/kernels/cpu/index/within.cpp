#include "tenure/kernels/cpu/index/within.h"

#include "tenure/kernels/cpu/index/loop.h"
#include "tenure/ops/index/attributes.h"
#include "tenure/ops/index/outside.h"

namespace tenure::kernels {

void check_within(const ops::Kernel& k) {
  using Names = ops::WithinAttributes;
  const View& x = k.in[0];
  const double low = k.attributes.number(Names::low);
  const double high = k.attributes.number(Names::high);
  const auto loop = index::make_loop(x.shape, x.strides);
  const std::int64_t step = loop.steps()[0];
  std::int64_t seen = 0;
  visit_dtype(x.dtype, [&]<class T>(TypeTag<T>) {
    loop.rows(0, loop.count(), [&](const auto& at, std::int64_t length) {
      const T* const row = x.as<const T>() + at[0];
      for (std::int64_t i = 0; i < length; ++i) {
        const auto value = static_cast<double>(row[i * step]);
        if (value >= low && value <= high) continue;
        ops::refuse_outside(k, row + i * step, seen + i);
      }
      seen += length;
    });
  });
}

}  // namespace tenure::kernels
