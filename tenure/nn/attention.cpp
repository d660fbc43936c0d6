#include "tenure/nn/attention.h"

#include <fmt/format.h>

#include "tenure/base/error.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/attention_ops.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/layer_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/size_ops.h"

namespace tenure::nn {

Dropout::Dropout(double p, Site site) : Layer("Dropout", site), p_(p) {
  mem::require_in(mem::kBelowOne, "Dropout", {{"p", p}}, site);
}

std::string Dropout::describe() const { return fmt::format("{}", p_); }

Tensor Dropout::forward(Tensor x) const {
  return is_training() && p_ > 0 ? dropout({std::move(x), call_site()}, p_) : x;
}

MultiHeadAttention::MultiHeadAttention(std::int64_t width, std::int64_t heads,
                                       const AttentionLayerOptions& options, Site site)
    : Layer("MultiHeadAttention", site),
      heads_(heads),
      causal_(options.causal),
      query_(width, width, {.kernel_initializer = options.initializer, .dtype = options.dtype},
             site),
      key_(width, width, {.kernel_initializer = options.initializer, .dtype = options.dtype}, site),
      value_(width, width, {.kernel_initializer = options.initializer, .dtype = options.dtype},
             site),
      out_(width, width, {.kernel_initializer = options.initializer, .dtype = options.dtype},
           site) {
  mem::in_call(kind(), site, [&] {
    mem::require_least("MultiHeadAttention", {{"heads", heads}});
    if (width % heads != 0) {
      throw ValueError(fmt::format("MultiHeadAttention: a width of {} cannot be shared by {} heads",
                                   width, heads));
    }
  });
  add("query", query_);
  add("key", key_);
  add("value", value_);
  add("out", out_);
}

std::string MultiHeadAttention::describe() const {
  return fmt::format("{}, {} heads{}", query_.kernel().shape()[0], heads_,
                     causal_ ? ", causal" : "");
}

Tensor MultiHeadAttention::split(Tensor x, Site site) const {
  const auto by_heads = [heads = heads_, site](const Tensor& known) {
    const Shape& shape = known.shape();
    return reshape({known, site}, {shape[0], shape[1], heads, shape[2] / heads});
  };
  Tensor parts = x.shape().is_known() ? by_heads(x) : with_sizes(x, by_heads, site);
  return transpose({std::move(parts), site}, 1, 2);
}

Tensor MultiHeadAttention::attend(const Tensor& x, const AttentionInputs& inputs, Site site) const {
  const Tensor& memory = inputs.memory.defined() ? inputs.memory : x;
  if (x.shape().size() != 3 || memory.shape().size() != 3) {
    throw ShapeError("MultiHeadAttention", "sequences are [batch, length, width]",
                     {x.shape().to_vector(), memory.shape().to_vector()});
  }
  const auto heads = [&](const Dense& layer, const Tensor& of) {
    return split(layer(of, site), site);
  };
  KeyValueCache all{heads(key_, memory), heads(value_, memory)};
  if (inputs.cache != nullptr && inputs.cache->keys.defined()) {
    const auto behind = [site](const Tensor& before, const Tensor& more) {
      return concat(OperandList({Operand(before, site), Operand(more, site)}, site), 2);
    };
    all.keys = behind(inputs.cache->keys, all.keys);
    all.values = behind(inputs.cache->values, all.values);
  }
  Tensor queries = heads(query_, x);
  const Operand q(std::move(queries), site);
  const AttentionOptions options{.causal = causal_};
  Tensor mixed =
      inputs.mask.defined()
          ? attention(q, {all.keys, site}, {all.values, site}, {inputs.mask, site}, options)
          : attention(q, {all.keys, site}, {all.values, site}, options);
  mixed = transpose({std::move(mixed), site}, 1, 2);
  Tensor result = out_(flatten({std::move(mixed), site}, 2, 3), site);
  if (inputs.cache != nullptr) *inputs.cache = std::move(all);
  return result;
}

Tensor MultiHeadAttention::forward(Tensor x) const { return attend(x, {}, call_site()); }

Tensor MultiHeadAttention::operator()(Tensor x, const Tensor& memory, Site site) const {
  return (*this)(std::move(x), AttentionInputs{.memory = memory}, site);
}

Tensor MultiHeadAttention::operator()(Tensor x, const AttentionInputs& inputs, Site site) const {
  return apply_as(
      std::move(x), [&](const Tensor& input) { return attend(input, inputs, site); }, site);
}

TransformerBlock::TransformerBlock(std::int64_t width, std::int64_t heads,
                                   const TransformerOptions& options, Site site)
    : Layer("TransformerBlock", site),
      norm1_(width, 1e-5, options.dtype, site),
      attention_(
          width, heads,
          {.causal = options.causal, .initializer = options.initializer, .dtype = options.dtype},
          site),
      norm2_(width, 1e-5, options.dtype, site),
      up_(width, options.hidden != 0 ? options.hidden : 4 * width,
          {.kernel_initializer = options.initializer, .dtype = options.dtype}, site),
      down_(options.hidden != 0 ? options.hidden : 4 * width, width,
            {.kernel_initializer = options.initializer, .dtype = options.dtype}, site),
      dropout_(options.dropout, site) {
  add("norm1", norm1_);
  add("attention", attention_);
  add("norm2", norm2_);
  add("up", up_);
  add("down", down_);
  add("dropout", dropout_);
}

Tensor TransformerBlock::forward(Tensor x) const { return apply(std::move(x), {}, call_site()); }

Tensor TransformerBlock::operator()(Tensor x, const AttentionInputs& inputs, Site site) const {
  return apply_as(
      std::move(x), [&](Tensor input) { return apply(std::move(input), inputs, site); }, site);
}

Tensor TransformerBlock::apply(Tensor x, const AttentionInputs& inputs, Site site) const {
  const auto beside = [&](Tensor change) {
    return tenure::add({x, site}, {dropout_(std::move(change), site), site});
  };
  x = beside(attention_(norm1_(x, site), inputs, site));
  Tensor hidden = up_(norm2_(x, site), site);
  return beside(down_(gelu_tanh({std::move(hidden), site}), site));
}

}  // namespace tenure::nn
