#include "tenure/nn/dense.h"

#include <fmt/format.h>

#include "tenure/nn/sizes.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/operators.h"

namespace tenure::nn {

Dense::Dense(std::int64_t inputs, std::int64_t units, const DenseOptions& options, Site site)
    : Layer("Dense"),
      kernel_(add_parameter(
          "kernel",
          [&] {
            require_positive("Dense", {inputs, units});
            return options.kernel_initializer({inputs, units}, {inputs, units}, options.dtype,
                                              site);
          },
          site)) {
  if (!options.bias) return;
  bias_ = add_parameter(
      "bias",
      [&] {
        return options.bias_initializer({units}, {inputs, units}, options.dtype, site);
      },
      site);
}

std::string Dense::describe() const {
  return fmt::format("{} -> {}", kernel_.shape()[0], kernel_.shape()[1]);
}

Tensor Dense::forward(Tensor x) const {
  Tensor product = matmul(std::move(x), read(kernel_));
  return bias_ ? std::move(product) + read(*bias_) : product;
}

Embedding::Embedding(std::int64_t entries, std::int64_t width, const Initializer& initializer,
                     DType dtype, Site site)
    : Layer("Embedding"),
      table_(add_parameter(
          "table",
          [&] {
            require_positive("Embedding", {entries, width});
            return initializer({entries, width}, {width, entries}, dtype, site);
          },
          site)) {}

std::string Embedding::describe() const {
  return fmt::format("{} x {}", table_.shape()[0], table_.shape()[1]);
}

Tensor Embedding::forward(Tensor indices) const {
  return take(read(table_), std::move(indices), 0);
}

}  // namespace tenure::nn
