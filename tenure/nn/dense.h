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

struct EmbeddingOptions {
  Initializer initializer = init::normal();
  /// The row of an index that stands for no word: zeros at first, and no gradient goes to it.
  std::optional<std::int64_t> padding_index{};
  DType dtype = DType::float32;
};

/// A row of a table for each index.
class Embedding : public Layer {
 public:
  Embedding(std::int64_t entries, std::int64_t width, const EmbeddingOptions& options = {},
            Site site = Site::current());
  Embedding(std::int64_t entries, std::int64_t width, const Initializer& initializer,
            DType dtype = DType::float32, Site site = Site::current())
      : Embedding(entries, width, {.initializer = initializer, .dtype = dtype}, site) {}

  const Variable& table() const { return table_; }
  std::string describe() const override;

 protected:
  Tensor forward(Tensor indices) const override;

 private:
  std::optional<std::int64_t> padding_index_;
  Variable table_;
};

/// x where it is positive, else x times a learned slope: one for all, or one for each channel,
/// which is the last dimension.
class PRelu : public Layer {
 public:
  explicit PRelu(std::int64_t channels = 1, double initial = 0.25, DType dtype = DType::float32,
                 Site site = Site::current());
  std::string describe() const override;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  Variable slope_;
};

}  // namespace tenure::nn
