#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenure/nn/layer.h"
#include "tenure/ops/norm_ops.h"

namespace tenure::nn {

/// Brings the last dimension to mean 0 and variance 1, then to a learned scale and offset.
class LayerNorm : public Layer {
 public:
  explicit LayerNorm(std::int64_t width, double epsilon = 1e-5, DType dtype = DType::float32,
                     Site site = Site::current());
  std::string describe() const override;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  double epsilon_;
  Variable scale_;
  Variable offset_;
};

/// Brings the last dimension to mean square 1, then to a learned scale.
class RmsNorm : public Layer {
 public:
  explicit RmsNorm(std::int64_t width, double epsilon = 1e-5, DType dtype = DType::float32,
                   Site site = Site::current());
  std::string describe() const override;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  double epsilon_;
  Variable scale_;
};

struct BatchNormLayerOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;  ///< the weight of a batch in the moving averages
  Channels channels = Channels::last;
  DType dtype = DType::float32;
};

/// Normalizes each channel over the batch in training, and by moving averages of what training has
/// seen otherwise; of variances, the average is of the unbiased estimates. A frozen one does not
/// train.
class BatchNorm : public Layer {
 public:
  explicit BatchNorm(std::int64_t channels, const BatchNormLayerOptions& options = {},
                     Site site = Site::current());
  std::string describe() const override;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  BatchNormLayerOptions options_;
  Variable scale_;
  Variable offset_;
  Variable mean_;
  Variable variance_;
};

/// Normalizes groups of channels of each image.
class GroupNorm : public Layer {
 public:
  GroupNorm(std::int64_t groups, std::int64_t channels, const BatchNormOptions& options = {},
            DType dtype = DType::float32, Site site = Site::current());
  std::string describe() const override;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  std::int64_t groups_;
  BatchNormOptions options_;
  Variable scale_;
  Variable offset_;
};

/// Normalizes each channel of each image, then brings it to a learned scale and offset.
class InstanceNorm : public Layer {
 public:
  explicit InstanceNorm(std::int64_t channels, const BatchNormOptions& options = {},
                        DType dtype = DType::float32, Site site = Site::current());
  std::string describe() const override;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  BatchNormOptions options_;
  Variable scale_;
  Variable offset_;
};

}  // namespace tenure::nn
