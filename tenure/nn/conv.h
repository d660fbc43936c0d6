#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenure/nn/init.h"
#include "tenure/nn/layer.h"
#include "tenure/nn/sequential.h"
#include "tenure/ops/conv_ops.h"
#include "tenure/ops/pool_ops.h"

namespace tenure::nn {

struct ConvLayerOptions {
  SpatialSizes stride = 1;
  Padding padding = 0;
  SpatialSizes dilation = 1;
  std::int64_t groups = 1;
  Channels channels = Channels::last;
  bool bias = true;
  bool relu = false;  ///< negative results become zero, in the same pass
  Initializer kernel_initializer = init::he_normal();
  Initializer bias_initializer = init::zeros();
  DType dtype = DType::float32;
};

/// A convolution over `axes` spatial axes with weights and a bias of its own.
class Conv : public Layer {
 public:
  Conv(int axes, std::int64_t inputs, std::int64_t outputs, const SpatialSizes& kernel,
       const ConvLayerOptions& options = {}, Site site = Site::current());

  const Variable& kernel() const { return kernel_; }
  std::string describe() const override;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  int axes_;
  ConvOptions options_;
  Variable kernel_;
  std::optional<Variable> bias_;
};

class Conv1d : public Conv {
 public:
  Conv1d(std::int64_t inputs, std::int64_t outputs, const SpatialSizes& kernel,
         const ConvLayerOptions& options = {}, Site site = Site::current())
      : Conv(1, inputs, outputs, kernel, options, site) {}
};
class Conv2d : public Conv {
 public:
  Conv2d(std::int64_t inputs, std::int64_t outputs, const SpatialSizes& kernel,
         const ConvLayerOptions& options = {}, Site site = Site::current())
      : Conv(2, inputs, outputs, kernel, options, site) {}
};
class Conv3d : public Conv {
 public:
  Conv3d(std::int64_t inputs, std::int64_t outputs, const SpatialSizes& kernel,
         const ConvLayerOptions& options = {}, Site site = Site::current())
      : Conv(3, inputs, outputs, kernel, options, site) {}
};

Lambda MaxPool2d(const SpatialSizes& kernel, const PoolOptions& options = {},
                 Site site = Site::current());
Lambda AvgPool2d(const SpatialSizes& kernel, const PoolOptions& options = {},
                 Site site = Site::current());
/// The mean over all spatial axes of [batch, height, width, channels].
Lambda GlobalAvgPool2d(Channels channels = Channels::last, Site site = Site::current());

}  // namespace tenure::nn
