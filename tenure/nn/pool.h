#pragma once

#include "tenure/nn/sequential.h"
#include "tenure/ops/image_ops.h"
#include "tenure/ops/pool_ops.h"

// Layers that change the size of images, without parameters.

namespace tenure::nn {

/// The largest element, or the mean, of each window.
Lambda MaxPool1d(const SpatialSizes& kernel, const PoolOptions& options = {},
                 Site site = Site::current());
Lambda MaxPool2d(const SpatialSizes& kernel, const PoolOptions& options = {},
                 Site site = Site::current());
Lambda MaxPool3d(const SpatialSizes& kernel, const PoolOptions& options = {},
                 Site site = Site::current());
Lambda AvgPool1d(const SpatialSizes& kernel, const PoolOptions& options = {},
                 Site site = Site::current());
Lambda AvgPool2d(const SpatialSizes& kernel, const PoolOptions& options = {},
                 Site site = Site::current());
Lambda AvgPool3d(const SpatialSizes& kernel, const PoolOptions& options = {},
                 Site site = Site::current());
/// Windows that cover an image evenly, as many as `sizes` says.
Lambda AdaptiveMaxPool1d(const SpatialSizes& sizes, Channels channels = Channels::last,
                         Site site = Site::current());
Lambda AdaptiveMaxPool2d(const SpatialSizes& sizes, Channels channels = Channels::last,
                         Site site = Site::current());
Lambda AdaptiveMaxPool3d(const SpatialSizes& sizes, Channels channels = Channels::last,
                         Site site = Site::current());
Lambda AdaptiveAvgPool1d(const SpatialSizes& sizes, Channels channels = Channels::last,
                         Site site = Site::current());
Lambda AdaptiveAvgPool2d(const SpatialSizes& sizes, Channels channels = Channels::last,
                         Site site = Site::current());
Lambda AdaptiveAvgPool3d(const SpatialSizes& sizes, Channels channels = Channels::last,
                         Site site = Site::current());
/// The mean over all spatial axes of [batch, height, width, channels].
Lambda GlobalAvgPool2d(Channels channels = Channels::last, Site site = Site::current());

/// Images `factor` times as large along their spatial axes, of which there are one to three: each
/// element is the nearest one, or interpolated. One number for all axes, or one for each.
Lambda Upsample(const SpatialSizes& factor,
                const InterpolateOptions& options = {.mode = Interpolation::nearest},
                Site site = Site::current());

}  // namespace tenure::nn
