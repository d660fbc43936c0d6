#include <fmt/format.h>

#include "tenure/ops/core/named.h"
#include "tenure/ops/nn/layout.h"
#include "tenure/ops/nn/pool.h"
#include "tenure/ops/nn/pool_shape.h"
#include "tenure/ops/pool_ops.h"

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

Tensor run_fixed(const char* op, int axes, Pool pool, const Operand& x, const SpatialSizes& kernel,
                 const PoolOptions& options) {
  return in_name_of(op, x.site(), [&] {
    const Dims sizes = kernel.of(axes, op, "kernel");
    for (const std::int64_t size : sizes) {
      if (size < 1) throw ValueError(fmt::format("{}: a kernel of {}", op, to_string(sizes)));
    }
    const Dims padding = options.padding.of(axes, op, "padding");
    return run_pool(op, axes, pool, x,
                    {.kernel = sizes,
                     .stride = options.stride ? options.stride->of(axes, op, "stride") : sizes,
                     .low = padding,
                     .high = padding,
                     .dilation = options.dilation.of(axes, op, "dilation")},
                    options.count_padding, options.channels);
  });
}

Tensor run_adaptive(const char* op, int axes, Pool pool, const Operand& x,
                    const SpatialSizes& sizes, Channels channels) {
  return in_name_of(op, x.site(), [&] {
    const Dims zeros = Dims::filled(axes, 0);
    return run_pool(op, axes, pool, x,
                    {.kernel = zeros,
                     .stride = sizes.of(axes, op, "size"),
                     .low = zeros,
                     .high = zeros,
                     .dilation = Dims::filled(axes, 1)},
                    false, channels);
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
