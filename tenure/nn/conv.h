#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenure/nn/init.h"
#include "tenure/nn/layer.h"
#include "tenure/ops/conv_ops.h"

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

struct ConvTransposeLayerOptions {
  SpatialSizes stride = 1;
  SpatialSizes padding = 0;         ///< taken off both sides of the result
  SpatialSizes output_padding = 0;  ///< added to its end; smaller than the stride
  SpatialSizes dilation = 1;
  std::int64_t groups = 1;
  Channels channels = Channels::last;
  bool bias = true;
  Initializer kernel_initializer = init::he_normal();
  Initializer bias_initializer = init::zeros();
  DType dtype = DType::float32;
};

/// The transpose of a convolution over `axes` spatial axes: with a stride of 2 images become twice
/// as large.
class ConvTranspose : public Layer {
 public:
  ConvTranspose(int axes, std::int64_t inputs, std::int64_t outputs, const SpatialSizes& kernel,
                const ConvTransposeLayerOptions& options = {}, Site site = Site::current());

  const Variable& kernel() const { return kernel_; }
  std::string describe() const override;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  int axes_;
  ConvTransposeOptions options_;
  Variable kernel_;
  std::optional<Variable> bias_;
};

class ConvTranspose1d : public ConvTranspose {
 public:
  ConvTranspose1d(std::int64_t inputs, std::int64_t outputs, const SpatialSizes& kernel,
                  const ConvTransposeLayerOptions& options = {}, Site site = Site::current())
      : ConvTranspose(1, inputs, outputs, kernel, options, site) {}
};
class ConvTranspose2d : public ConvTranspose {
 public:
  ConvTranspose2d(std::int64_t inputs, std::int64_t outputs, const SpatialSizes& kernel,
                  const ConvTransposeLayerOptions& options = {}, Site site = Site::current())
      : ConvTranspose(2, inputs, outputs, kernel, options, site) {}
};
class ConvTranspose3d : public ConvTranspose {
 public:
  ConvTranspose3d(std::int64_t inputs, std::int64_t outputs, const SpatialSizes& kernel,
                  const ConvTransposeLayerOptions& options = {}, Site site = Site::current())
      : ConvTranspose(3, inputs, outputs, kernel, options, site) {}
};

}  // namespace tenure::nn
