#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenure/nn/init.h"
#include "tenure/nn/layer.h"

namespace tenure::nn {

struct DenseOptions {
  bool bias = true;
  Initializer kernel_initializer = init::glorot_uniform();
  Initializer bias_initializer = init::zeros();
  DType dtype = DType::float32;
};

/// x W + b over the last dimension.
class Dense : public Layer {
 public:
  Dense(std::int64_t inputs, std::int64_t units, const DenseOptions& options = {},
        Site site = Site::current());

  const Variable& kernel() const { return kernel_; }
  std::string describe() const override;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  Variable kernel_;
  std::optional<Variable> bias_;
};

/// A row of a table for each index.
class Embedding : public Layer {
 public:
  Embedding(std::int64_t entries, std::int64_t width,
            const Initializer& initializer = init::normal(), DType dtype = DType::float32,
            Site site = Site::current());

  const Variable& table() const { return table_; }
  std::string describe() const override;

 protected:
  Tensor forward(Tensor indices) const override;

 private:
  Variable table_;
};

}  // namespace tenure::nn
