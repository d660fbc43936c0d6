#include "tenure/nn/dense.h"

#include <fmt/format.h>

#include "tenure/nn/sizes.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/linalg_ops.h"

namespace tenure::nn {

Dense::Dense(std::int64_t inputs, std::int64_t units, const DenseOptions& options, Site site)
    : Layer("Dense", site),
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
  const Site site = call_site();
  Tensor product = matmul({std::move(x), site}, {read(kernel_), site});
  return bias_ ? tenure::add({std::move(product), site}, {read(*bias_), site}) : product;
}

Embedding::Embedding(std::int64_t entries, std::int64_t width, const Initializer& initializer,
                     DType dtype, Site site)
    : Layer("Embedding", site),
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
  const Site site = call_site();
  return take({read(table_), site}, {std::move(indices), site}, 0);
}

}  // namespace tenure::nn
