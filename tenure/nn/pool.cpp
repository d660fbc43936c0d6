#include "tenure/nn/pool.h"

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/nn/pool_shape.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

// Layers that call `pool` with sizes and options, along so many spatial axes.

enum class Pool { max, average };

Lambda pooling(const char* kind, int axes, Pool of,
               Tensor (*pool)(const Operand&, const SpatialSizes&, const PoolOptions&),
               const SpatialSizes& kernel, const PoolOptions& options, Site site) {
  mem::in_call(kind, site,
               [&] { ops::pool_arguments(kind, axes, of == Pool::average, kernel, options); });
  const auto call = [=](Tensor x, Site at) { return pool({std::move(x), at}, kernel, options); };
  return {kind, call, site};
}
Lambda pooling(const char* kind, int axes,
               Tensor (*pool)(const Operand&, const SpatialSizes&, Channels),
               const SpatialSizes& sizes, Channels channels, Site site) {
  mem::in_call(kind, site, [&] { ops::pool_arguments(kind, axes, sizes); });
  const auto call = [=](Tensor x, Site at) { return pool({std::move(x), at}, sizes, channels); };
  return {kind, call, site};
}

}  // namespace

Lambda MaxPool1d(const SpatialSizes& kernel, const PoolOptions& options, Site site) {
  return pooling("MaxPool1d", 1, Pool::max, max_pool1d, kernel, options, site);
}
Lambda MaxPool2d(const SpatialSizes& kernel, const PoolOptions& options, Site site) {
  return pooling("MaxPool2d", 2, Pool::max, max_pool2d, kernel, options, site);
}
Lambda MaxPool3d(const SpatialSizes& kernel, const PoolOptions& options, Site site) {
  return pooling("MaxPool3d", 3, Pool::max, max_pool3d, kernel, options, site);
}
Lambda AvgPool1d(const SpatialSizes& kernel, const PoolOptions& options, Site site) {
  return pooling("AvgPool1d", 1, Pool::average, avg_pool1d, kernel, options, site);
}
Lambda AvgPool2d(const SpatialSizes& kernel, const PoolOptions& options, Site site) {
  return pooling("AvgPool2d", 2, Pool::average, avg_pool2d, kernel, options, site);
}
Lambda AvgPool3d(const SpatialSizes& kernel, const PoolOptions& options, Site site) {
  return pooling("AvgPool3d", 3, Pool::average, avg_pool3d, kernel, options, site);
}
Lambda AdaptiveMaxPool1d(const SpatialSizes& sizes, Channels channels, Site site) {
  return pooling("AdaptiveMaxPool1d", 1, adaptive_max_pool1d, sizes, channels, site);
}
Lambda AdaptiveMaxPool2d(const SpatialSizes& sizes, Channels channels, Site site) {
  return pooling("AdaptiveMaxPool2d", 2, adaptive_max_pool2d, sizes, channels, site);
}
Lambda AdaptiveMaxPool3d(const SpatialSizes& sizes, Channels channels, Site site) {
  return pooling("AdaptiveMaxPool3d", 3, adaptive_max_pool3d, sizes, channels, site);
}
Lambda AdaptiveAvgPool1d(const SpatialSizes& sizes, Channels channels, Site site) {
  return pooling("AdaptiveAvgPool1d", 1, adaptive_avg_pool1d, sizes, channels, site);
}
Lambda AdaptiveAvgPool2d(const SpatialSizes& sizes, Channels channels, Site site) {
  return pooling("AdaptiveAvgPool2d", 2, adaptive_avg_pool2d, sizes, channels, site);
}
Lambda AdaptiveAvgPool3d(const SpatialSizes& sizes, Channels channels, Site site) {
  return pooling("AdaptiveAvgPool3d", 3, adaptive_avg_pool3d, sizes, channels, site);
}
Lambda GlobalAvgPool2d(Channels channels, Site site) {
  const auto pool = [channels](Tensor x, Site at) {
    return flatten({adaptive_avg_pool2d({std::move(x), at}, 1, channels), at}, 1);
  };
  return {"GlobalAvgPool2d", pool, site};
}

Lambda Upsample(const SpatialSizes& factor, const InterpolateOptions& options, Site site) {
  mem::in_call("Upsample", site, [&] { factor.require("Upsample", "factor", 1); });
  const auto enlarge = [=](Tensor x, Site at) {
    const int axes = x.shape().size() - 2;
    if (axes < 1 || axes > 3) {
      throw ShapeError("Upsample", "images have a batch, one to three spatial axes and channels",
                       {x.shape().to_vector()});
    }
    const Dims factors = factor.of(axes, "Upsample", "factor", 1);
    const int first = options.channels == Channels::first ? 2 : 1;
    Dims sizes;
    for (int i = 0; i < axes; ++i) {
      sizes.push_back(x.shape()[first + i] * factors[i]);
      if (options.mode != Interpolation::nearest || factors[i] == 1) continue;
      x = repeat({std::move(x), at}, factors[i], first + i);
    }
    if (options.mode == Interpolation::nearest) return x;
    if (std::all_of(factors.begin(), factors.end(), [&](auto f) { return f == factors[0]; })) {
      return interpolate_by({std::move(x), at}, static_cast<double>(factors[0]), options);
    }
    return interpolate({std::move(x), at}, sizes, options);
  };
  const auto named = [enlarge](Tensor x, Site at) {
    return mem::in_call("Upsample", at, [&] { return enlarge(std::move(x), at); });
  };
  return {"Upsample", named, site};
}

}  // namespace tenure::nn
