#include "tenure/nn/dense.h"

#include <fmt/format.h>

#include "tenure/base/error.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/nn/initial.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {

Dense::Dense(std::int64_t inputs, std::int64_t units, const DenseOptions& options, Site site)
    : Layer("Dense", site),
      kernel_(add_parameter(
          "kernel",
          [&] {
            mem::require_least("Dense", {{"inputs", inputs}, {"units", units}});
            return initial_of("kernel_initializer", options.kernel_initializer, {inputs, units},
                              {inputs, units}, options.dtype, site);
          },
          site)) {
  if (!options.bias) return;
  bias_ = add_parameter(
      "bias",
      [&] {
        return initial_of("bias_initializer", options.bias_initializer, {units}, {inputs, units},
                          options.dtype, site);
      },
      site);
}

std::string Dense::describe() const {
  return fmt::format("{} -> {}", kernel_.shape()[0], kernel_.shape()[1]);
}

Tensor Dense::forward(Tensor x) const {
  const Site site = call_site();
  Tensor product = matmul({std::move(x), site}, {read(kernel_), site});
  if (!bias_) return product;
  Tensor bias = read(*bias_);
  // Under Autocast the product is narrower than what it is of, and is not to widen again.
  if (bias.dtype() != product.dtype()) bias = cast({std::move(bias), site}, product.dtype());
  return tenure::add({std::move(product), site}, {std::move(bias), site});
}

Embedding::Embedding(std::int64_t entries, std::int64_t width, const EmbeddingOptions& options,
                     Site site)
    : Layer("Embedding", site),
      padding_index_(options.padding_index),
      table_(add_parameter(
          "table",
          [&] {
            mem::require_least("Embedding", {{"entries", entries}, {"width", width}});
            Tensor table = initial_of("initializer", options.initializer, {entries, width},
                                      {width, entries}, options.dtype, site);
            if (!padding_index_) return table;
            if (*padding_index_ < 0 || *padding_index_ >= entries) {
              throw ValueError(fmt::format("Embedding: there is no row {} for padding among {}",
                                           *padding_index_, entries));
            }
            const Tensor row = full({1}, *padding_index_, DType::int64, site);
            return index_update({std::move(table), site}, {row}, {0, site});
          },
          site)) {}

std::string Embedding::describe() const {
  return fmt::format("{} x {}", table_.shape()[0], table_.shape()[1]);
}

Tensor Embedding::forward(Tensor indices) const {
  const Site site = call_site();
  if (!padding_index_) return take({read(table_), site}, {std::move(indices), site}, 0);
  const Tensor rows = take({read(table_), site}, {indices, site}, 0);
  Tensor is_padding = equal({std::move(indices), site}, {*padding_index_, site});
  is_padding = expand_dims({std::move(is_padding), site}, -1);
  return where({std::move(is_padding), site}, {stop_gradient({rows, site}), site}, {rows, site});
}

PRelu::PRelu(std::int64_t channels, double initial, DType dtype, Site site)
    : Layer("PRelu", site),
      slope_(add_parameter(
          "slope",
          [&] {
            mem::require_least("PRelu", {{"channels", channels}});
            mem::require_in(mem::kFinite, "PRelu", {{"initial", initial}});
            return full({channels}, initial, dtype, site);
          },
          site)) {}

std::string PRelu::describe() const { return fmt::format("{}", slope_.shape()[0]); }

Tensor PRelu::forward(Tensor x) const {
  const Site site = call_site();
  return leaky_relu({std::move(x), site}, {read(slope_), site});
}

}  // namespace tenure::nn
