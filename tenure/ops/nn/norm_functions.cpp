#include <fmt/format.h>

#include "tenure/memory/threads/arguments.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/layout.h"
#include "tenure/ops/nn/norm.h"
#include "tenure/ops/norm_ops.h"
#include "tenure/ops/size_ops.h"

namespace tenure {
namespace {

using ops::Attributes;

const Shape& shape_of(const Operand& x, const char* op) {
  if (x.is_scalar()) throw ShapeError(op, "a number cannot be normalized, nor be a weight");
  return x.tensor().body(op, x.site()).shape;
}

void require_epsilon(const char* op, double epsilon, Site site) {
  mem::require_in(mem::kNotNegative, op, {{"epsilon", epsilon}}, site);
}

Attributes attributes_of(const char* op, std::int64_t dims, double epsilon, Site site) {
  require_epsilon(op, epsilon, site);
  return Attributes(dims, epsilon);
}

/// [channels] in the shape that broadcasts against images of this rank.
Tensor by_channel(const Operand& x, int rank, Channels channels) {
  Tensor view = reshape(Operand(x.tensor(), x.site()), {-1});
  if (channels == Channels::last) return view;
  Shape shape = Dims::filled(rank - 1, 1);
  shape[0] = -1;
  return reshape({std::move(view), x.site()}, shape);
}

}  // namespace

Tensor layer_norm(const Operand& x, const LayerNormOptions& options) {
  return ops::call(ops::layer_norm_record(), x,
                   attributes_of("layer_norm", options.dims, options.epsilon, x.site()));
}

Tensor layer_norm(const Operand& x, const Operand& weight, const Operand& bias,
                  const LayerNormOptions& options) {
  const int dims =
      ops::in_call("layer_norm", x.site(), [&] { return shape_of(weight, "layer_norm").size(); });
  return ops::call(ops::layer_norm_record(), {x, weight, bias},
                   attributes_of("layer_norm", dims, options.epsilon, x.site()));
}

Tensor rms_norm(const Operand& x, const LayerNormOptions& options) {
  return ops::call(ops::rms_norm_record(), x,
                   attributes_of("rms_norm", options.dims, options.epsilon, x.site()));
}

Tensor rms_norm(const Operand& x, const Operand& weight, const LayerNormOptions& options) {
  const int dims =
      ops::in_call("rms_norm", x.site(), [&] { return shape_of(weight, "rms_norm").size(); });
  return ops::call(ops::rms_norm_record(), {x, weight},
                   attributes_of("rms_norm", dims, options.epsilon, x.site()));
}

BatchNorm batch_norm(const Operand& x, const Operand& weight, const Operand& bias,
                     const BatchNormOptions& options) {
  require_epsilon("batch_norm", options.epsilon, x.site());
  return ops::in_name_of("batch_norm", x.site(), [&] {
    const bool first = options.channels == Channels::first;
    if (first && shape_of(x, "batch_norm").size() < 2) {
      throw ShapeError("batch_norm", "images have a batch and channels");
    }
    const Tensor last = first ? ops::channels_last(x) : Tensor();
    const std::array operands{first ? Operand(last, x.site()) : x, weight, bias};
    std::vector<Tensor> results = ops::run_many_now(ops::batch_norm_record(), operands,
                                                    Attributes(options.epsilon), x.site());
    x.consume();
    Tensor y =
        first ? ops::channels_first({std::move(results[0]), x.site()}) : std::move(results[0]);
    return BatchNorm{std::move(y), std::move(results[1]), std::move(results[2])};
  });
}

Tensor batch_norm_with(const Operand& x, const Operand& mean, const Operand& variance,
                       const Operand& weight, const Operand& bias,
                       const BatchNormOptions& options) {
  require_epsilon("batch_norm_with", options.epsilon, x.site());
  return ops::in_name_of("batch_norm_with", x.site(), [&] {
    const int rank = shape_of(x, "batch_norm_with").size();
    const Site site = x.site();
    const DType type = x.tensor().dtype();
    const auto channel = [&](const Operand& v) { return by_channel(v, rank, options.channels); };
    Tensor scale = rsqrt({add({channel(variance), site}, {options.epsilon, site}), site});
    scale = mul({std::move(scale), site}, {channel(weight), site});
    Tensor y = sub(x, {channel(mean), site});
    y = mul({std::move(y), site}, {std::move(scale), site});
    y = add({std::move(y), site}, {channel(bias), site});
    // As batch_norm: 16 bits beside float32 stay 16 bits.
    return is_narrow_float(type) && y.dtype() == DType::float32 ? cast({std::move(y), site}, type)
                                                                : y;
  });
}

Tensor group_norm(const Operand& x, std::int64_t groups, const Operand& weight, const Operand& bias,
                  const BatchNormOptions& options) {
  require_epsilon("group_norm", options.epsilon, x.site());
  return ops::in_name_of("group_norm", x.site(), [&] {
    const Site site = x.site();
    const Shape& shape = shape_of(x, "group_norm");
    const int rank = shape.size();
    const bool first = options.channels == Channels::first;
    if (rank < 2) throw ShapeError("group_norm", "images have a batch and channels");
    if (has_unknown(shape)) {
      const auto later = [groups, options, site](const std::vector<Tensor>& known) {
        return std::vector{
            group_norm({known[0], site}, groups, {known[1], site}, {known[2], site}, options)};
      };
      shape_of(weight, "group_norm");
      shape_of(bias, "group_norm");
      Tensor y =
          std::move(ops::with_sizes("group_norm", {x.tensor(), weight.tensor(), bias.tensor()},
                                    later, site, {.numbers = {groups}})
                        .front());
      x.consume();
      return y;
    }
    const std::int64_t channels = shape[first ? 1 : rank - 1];
    if (groups < 1 || channels % groups != 0) {
      throw ShapeError("group_norm",
                       fmt::format("{} groups do not divide {} channels", groups, channels),
                       {shape.to_vector()});
    }
    // Each group of an image becomes a row.
    const Tensor images = first ? x.tensor() : ops::channels_first({x.tensor(), site});
    const std::int64_t columns = count(shape) == 0 ? 0 : count(shape) / (shape[0] * groups);
    Tensor rows = reshape({images, site}, {shape[0] * groups, columns});
    rows = layer_norm({std::move(rows), site}, {.dims = 1, .epsilon = options.epsilon});
    Tensor y = reshape({std::move(rows), site}, images.shape());
    if (!first) y = ops::channels_last({y, site});
    y = mul({std::move(y), site}, {by_channel(weight, rank, options.channels), site});
    y = add({std::move(y), site}, {by_channel(bias, rank, options.channels), site});
    x.consume();
    return y;
  });
}

}  // namespace tenure
