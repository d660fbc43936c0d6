#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tenure/memory/default_device.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/layout.h"
#include "tenure/ops/nn/pool.h"
#include "tenure/ops/nn/pool_shape.h"
#include "tenure/ops/pool_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/size_ops.h"

namespace tenure::ops {
namespace {

enum class Pool { max, average };

Tensor run_record(Pool pool, const Operand& x, const PoolArguments& a, bool count_padding) {
  if (pool == Pool::average) {
    return call(average_pool_record(), x,
                Attributes(a.kernel, a.stride, a.low, a.high, count_padding));
  }
  return std::move(run_many_now(max_pool_record(), std::span(&x, 1),
                                Attributes(a.kernel, a.stride, a.low, a.high, a.dilation), x.site())
                       .front());
}

Tensor run_pool(const char* op, int axes, Pool pool, const Operand& x, const PoolArguments& a,
                bool count_padding, Channels channels) {
  if (x.is_scalar()) throw ShapeError(op, "a number is not an image");
  const Shape& shape = x.tensor().body(op, x.site()).shape;
  if (shape.size() != axes + 2) {
    throw ShapeError(
        op, fmt::format("images have {} dimensions, not those of {}", axes + 2, to_string(shape)),
        {shape.to_vector()});
  }
  if (channels == Channels::last) return run_record(pool, x, a, count_padding);
  Tensor y = run_record(pool, {channels_last(x), x.site()}, a, count_padding);
  x.consume();
  return channels_first({std::move(y), x.site()});
}

/// The padding at the end of an axis of `in` elements that makes room for a last window.
std::int64_t padding_of_ceil(std::int64_t in, std::int64_t padding, std::int64_t stride,
                             std::int64_t span) {
  const std::int64_t rest = in + 2 * padding - span;
  if (rest < 0) return padding;  // refused later, with its reason
  const std::int64_t windows = (rest + stride - 1) / stride + 1;
  const std::int64_t begin = (windows - 1) * stride;
  return begin >= in + padding ? padding : padding + (begin - rest);
}

Tensor run_fixed(const char* op, int axes, Pool pool, const Operand& x, const SpatialSizes& kernel,
                 const PoolOptions& options) {
  return in_name_of(op, x.site(), [&] {
    PoolArguments a = pool_arguments(op, axes, pool == Pool::average, kernel, options);
    Shape x_shape;  // where ceil_mode asks for it
    if (options.ceil_mode) {
      if (!x.is_scalar() && has_unknown_size(std::span(&x, 1))) {
        const Site site = x.site();
        const auto later = [=](const std::vector<Tensor>& known) {
          return std::vector{run_fixed(op, axes, pool, {known[0], site}, kernel, options)};
        };
        Tensor y = std::move(with_sizes(op, {x.tensor()}, later, site).front());
        x.consume();
        return y;
      }
      if (!x.is_scalar()) x_shape = x.tensor().body(op, x.site()).shape;
      const int first = options.channels == Channels::first ? 2 : 1;
      for (int i = 0; i < axes && x_shape.size() == axes + 2; ++i) {
        const std::int64_t span = (a.kernel[i] - 1) * a.dilation[i] + 1;
        a.high[i] = padding_of_ceil(x_shape[first + i], a.low[i], a.stride[i], span);
      }
    }
    Tensor y = run_pool(op, axes, pool, x, a, options.count_padding, options.channels);
    if (pool == Pool::max || !options.count_padding) return y;
    // What ceil_mode adds at the end is no padding, and is not counted.
    const DeviceScope device(y.device());
    const int first = options.channels == Channels::first ? 2 : 1;
    for (int i = 0; i < axes; ++i) {
      if (a.high[i] == a.low[i]) continue;
      const std::int64_t end = x_shape[first + i] + 2 * a.low[i];
      Shape broadcast = Shape::filled(axes + 2, 1);
      broadcast[first + i] = y.shape()[first + i];
      std::vector<double> factors;
      for (std::int64_t o = 0; o < broadcast[first + i]; ++o) {
        const std::int64_t counted = std::min(a.kernel[i], end - o * a.stride[i]);
        factors.push_back(static_cast<double>(a.kernel[i]) / static_cast<double>(counted));
      }
      const Tensor factor = cast({tensor(factors, broadcast, x.site()), x.site()}, y.dtype());
      y = mul({std::move(y), x.site()}, {factor, x.site()});
    }
    return y;
  });
}

Tensor run_adaptive(const char* op, int axes, Pool pool, const Operand& x,
                    const SpatialSizes& sizes, Channels channels) {
  return in_name_of(op, x.site(), [&] {
    return run_pool(op, axes, pool, x, pool_arguments(op, axes, sizes), false, channels);
  });
}

}  // namespace
}  // namespace tenure::ops

namespace tenure {

using ops::Pool;
using ops::run_adaptive;
using ops::run_fixed;

Tensor max_pool1d(const Operand& x, const SpatialSizes& kernel, const PoolOptions& options) {
  return run_fixed("max_pool1d", 1, Pool::max, x, kernel, options);
}
Tensor max_pool2d(const Operand& x, const SpatialSizes& kernel, const PoolOptions& options) {
  return run_fixed("max_pool2d", 2, Pool::max, x, kernel, options);
}
Tensor max_pool3d(const Operand& x, const SpatialSizes& kernel, const PoolOptions& options) {
  return run_fixed("max_pool3d", 3, Pool::max, x, kernel, options);
}
Tensor avg_pool1d(const Operand& x, const SpatialSizes& kernel, const PoolOptions& options) {
  return run_fixed("avg_pool1d", 1, Pool::average, x, kernel, options);
}
Tensor avg_pool2d(const Operand& x, const SpatialSizes& kernel, const PoolOptions& options) {
  return run_fixed("avg_pool2d", 2, Pool::average, x, kernel, options);
}
Tensor avg_pool3d(const Operand& x, const SpatialSizes& kernel, const PoolOptions& options) {
  return run_fixed("avg_pool3d", 3, Pool::average, x, kernel, options);
}
Tensor adaptive_max_pool1d(const Operand& x, const SpatialSizes& sizes, Channels channels) {
  return run_adaptive("adaptive_max_pool1d", 1, Pool::max, x, sizes, channels);
}
Tensor adaptive_max_pool2d(const Operand& x, const SpatialSizes& sizes, Channels channels) {
  return run_adaptive("adaptive_max_pool2d", 2, Pool::max, x, sizes, channels);
}
Tensor adaptive_max_pool3d(const Operand& x, const SpatialSizes& sizes, Channels channels) {
  return run_adaptive("adaptive_max_pool3d", 3, Pool::max, x, sizes, channels);
}
Tensor adaptive_avg_pool1d(const Operand& x, const SpatialSizes& sizes, Channels channels) {
  return run_adaptive("adaptive_avg_pool1d", 1, Pool::average, x, sizes, channels);
}
Tensor adaptive_avg_pool2d(const Operand& x, const SpatialSizes& sizes, Channels channels) {
  return run_adaptive("adaptive_avg_pool2d", 2, Pool::average, x, sizes, channels);
}
Tensor adaptive_avg_pool3d(const Operand& x, const SpatialSizes& sizes, Channels channels) {
  return run_adaptive("adaptive_avg_pool3d", 3, Pool::average, x, sizes, channels);
}

}  // namespace tenure
