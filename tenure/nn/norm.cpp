#include "tenure/nn/norm.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

/// One number for each of as many channels.
std::function<Tensor()> filled(const char* layer, const mem::NamedSize& size, double value,
                               DType dtype, Site site) {
  return [=] {
    mem::require_least(layer, {size});
    return full({size.value}, value, dtype, site);
  };
}

double checked_epsilon(const char* layer, double epsilon, Site site) {
  mem::require_in(mem::kNotNegative, layer, {{"epsilon", epsilon}}, site);
  return epsilon;
}

/// Options of a layer that have an epsilon.
template <class Options>
const Options& checked(const char* layer, const Options& options, Site site) {
  checked_epsilon(layer, options.epsilon, site);
  return options;
}

}  // namespace

LayerNorm::LayerNorm(std::int64_t width, double epsilon, DType dtype, Site site)
    : Layer("LayerNorm", site),
      epsilon_(checked_epsilon("LayerNorm", epsilon, site)),
      scale_(add_parameter("scale", filled("LayerNorm", {"width", width}, 1, dtype, site), site)),
      offset_(
          add_parameter("offset", filled("LayerNorm", {"width", width}, 0, dtype, site), site)) {}

std::string LayerNorm::describe() const { return std::to_string(scale_.shape()[0]); }

Tensor LayerNorm::forward(Tensor x) const {
  const Site site = call_site();
  return layer_norm({std::move(x), site}, {read(scale_), site}, {read(offset_), site},
                    {.epsilon = epsilon_});
}

RmsNorm::RmsNorm(std::int64_t width, double epsilon, DType dtype, Site site)
    : Layer("RmsNorm", site),
      epsilon_(checked_epsilon("RmsNorm", epsilon, site)),
      scale_(add_parameter("scale", filled("RmsNorm", {"width", width}, 1, dtype, site), site)) {}

std::string RmsNorm::describe() const { return std::to_string(scale_.shape()[0]); }

Tensor RmsNorm::forward(Tensor x) const {
  const Site site = call_site();
  return rms_norm({std::move(x), site}, {read(scale_), site}, {.epsilon = epsilon_});
}

namespace {

/// A batch's variance, of n elements of each channel, times n / (n - 1) estimates that of all data.
/// A graph may know n only when it runs.
Tensor unbiased(const Tensor& variance, const Shape& shape, const Tensor& count_in_run, Site site) {
  const auto channels = static_cast<double>(variance.shape()[0]);
  if (!count_in_run.defined()) {
    const double n = static_cast<double>(count(shape)) / channels;
    return mul({variance, site}, {n > 1 ? n / (n - 1) : 1.0, site});
  }
  const Tensor n = div({count_in_run, site}, {channels, site});
  const Tensor rest = maximum({sub({n, site}, {1.0, site}), site}, {1.0, site});
  return mul({variance, site}, {div({n, site}, {rest, site}), site});
}

/// How many elements a symbol has when the graph runs; an empty handle if that is known now.
Tensor count_in_run(const Tensor& x, Site site) {
  const Shape shape = x.shape();
  if (std::find(shape.begin(), shape.end(), kUnknown) == shape.end()) return {};
  const DType dtype = x.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const DeviceScope device(x.device());
  return sum({broadcast_like({ones({}, dtype, site), site}, {x, site}), site});
}

}  // namespace

BatchNorm::BatchNorm(std::int64_t channels, const BatchNormLayerOptions& options, Site site)
    : Layer("BatchNorm", site),
      options_(checked("BatchNorm", options, site)),
      scale_(add_parameter(
          "scale", filled("BatchNorm", {"channels", channels}, 1, options.dtype, site), site)),
      offset_(add_parameter(
          "offset", filled("BatchNorm", {"channels", channels}, 0, options.dtype, site), site)),
      mean_(add_buffer("mean", filled("BatchNorm", {"channels", channels}, 0, options.dtype, site),
                       site)),
      variance_(add_buffer(
          "variance", filled("BatchNorm", {"channels", channels}, 1, options.dtype, site), site)) {
  mem::require_in(mem::kUpToOne, "BatchNorm", {{"momentum", options.momentum}}, site);
}

std::string BatchNorm::describe() const { return std::to_string(scale_.shape()[0]); }

Tensor BatchNorm::forward(Tensor x) const {
  const BatchNormOptions options{.epsilon = options_.epsilon, .channels = options_.channels};
  const Site site = call_site();
  if (!is_training() || is_frozen()) {
    return batch_norm_with({std::move(x), site}, {mean_.value(site), site},
                           {variance_.value(site), site}, {read(scale_), site},
                           {read(offset_), site}, options);
  }
  const Shape shape = x.shape();
  const Tensor elements = count_in_run(x, site);
  tenure::BatchNorm made =
      batch_norm({std::move(x), site}, {read(scale_), site}, {read(offset_), site}, options);
  const auto follow = [this, site](const Variable& average, const Tensor& batch) {
    Tensor change = sub({stop_gradient({batch, site}), site}, {average.value(site), site});
    average.assign_add({mul({std::move(change), site}, {options_.momentum, site}), site});
  };
  follow(mean_, made.mean);
  follow(variance_, unbiased(made.variance, shape, elements, site));
  return std::move(made.y);
}

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, const BatchNormOptions& options,
                     DType dtype, Site site)
    : Layer("GroupNorm", site),
      groups_(groups),
      options_(checked("GroupNorm", options, site)),
      scale_(add_parameter("scale", filled("GroupNorm", {"channels", channels}, 1, dtype, site),
                           site)),
      offset_(add_parameter("offset", filled("GroupNorm", {"channels", channels}, 0, dtype, site),
                            site)) {
  mem::in_call(kind(), site, [&] {
    mem::require_least("GroupNorm", {{"groups", groups}});
    if (channels % groups != 0) {
      throw ValueError(
          fmt::format("GroupNorm: {} channels cannot be shared by {} groups", channels, groups));
    }
  });
}

std::string GroupNorm::describe() const {
  return fmt::format("{} in {} groups", scale_.shape()[0], groups_);
}

Tensor GroupNorm::forward(Tensor x) const {
  const Site site = call_site();
  return group_norm({std::move(x), site}, groups_, {read(scale_), site}, {read(offset_), site},
                    options_);
}

InstanceNorm::InstanceNorm(std::int64_t channels, const BatchNormOptions& options, DType dtype,
                           Site site)
    : Layer("InstanceNorm", site),
      options_(checked("InstanceNorm", options, site)),
      scale_(add_parameter("scale", filled("InstanceNorm", {"channels", channels}, 1, dtype, site),
                           site)),
      offset_(add_parameter(
          "offset", filled("InstanceNorm", {"channels", channels}, 0, dtype, site), site)) {}

std::string InstanceNorm::describe() const { return fmt::format("{}", scale_.shape()[0]); }

Tensor InstanceNorm::forward(Tensor x) const {
  const Site site = call_site();
  return group_norm({std::move(x), site}, scale_.shape()[0], {read(scale_), site},
                    {read(offset_), site}, options_);
}

}  // namespace tenure::nn
