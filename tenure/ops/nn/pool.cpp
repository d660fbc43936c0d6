#include <fmt/format.h>

#include <limits>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/nn/conv_shape.h"
#include "tenure/ops/nn/pool.h"
#include "tenure/ops/nn/pool_shape.h"

namespace tenure::ops {
namespace {

/// Calls `f(x, y, place, counted)` for every place of every window that lies inside: where its
/// element is in the input and in the result, its number, and how many places the window has.
template <class F>
void for_each_place(const Pooling& p, bool count_padding, F&& f) {
  const Pooling::Axis &a = p.axes[0], &b = p.axes[1], &c = p.axes[2];
  for_each_index({p.batch, a.out, b.out, c.out, p.channels}, [&](const Dims& o) {
    const auto counted = [&](const Pooling::Axis& axis, std::int64_t i) {
      return count_padding ? axis.places(i) : axis.end(i) - axis.begin(i);
    };
    const std::int64_t n = counted(a, o[1]) * counted(b, o[2]) * counted(c, o[3]);
    for_each_index({a.places(o[1]), b.places(o[2]), c.places(o[3])}, [&](const Dims& k) {
      const std::int64_t z = a.first(o[1]) + k[0] * a.dilation;
      const std::int64_t y = b.first(o[2]) + k[1] * b.dilation;
      const std::int64_t x = c.first(o[3]) + k[2] * c.dilation;
      if (z < 0 || y < 0 || x < 0 || z >= a.in || y >= b.in || x >= c.in) return;
      f(flat({p.batch, a.in, b.in, c.in, p.channels}, {o[0], z, y, x, o[4]}),
        flat({p.batch, a.out, b.out, c.out, p.channels}, o),
        (k[0] * b.most() + k[1]) * c.most() + k[2], n);
    });
  });
}

Reference zeros_of(const Shape& shape) {
  return make_reference(shape, [](const Dims&) { return 0.0L; });
}

/// What all pooling has in common.
struct PoolOp {
  static constexpr bool stages = true;
  static constexpr auto family = "pooling";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kFloatTypes;
  static constexpr double ulp_of_largest = 64;
  static std::optional<Parts> parts(const Kernel& k) {
    return Parts{.in = (1u << k.in.size()) - 1};
  }
};

/// A call of the samples.
struct PoolSample {
  Shape x;
  PoolArguments arguments;
};

struct MaxPool : PoolOp {
  static constexpr auto name = "max_pool";
  static constexpr auto signature = "max_pool(x, kernel, stride, low, high, dilation)";
  static constexpr auto doc =
      "the largest element of each window of channels-last images, and its place in the window";
  static constexpr int outputs = 2;

  static Specs infer(const Kernel& k) {
    const Pooling p = max_pooling(k.op, k.in[0].shape, k.attributes);
    const Shape shape = pooled_shape(p, k.in[0].shape.size() - 2);
    return {{k.in[0].dtype, shape}, {place_type(PoolArguments::of(k.attributes)), shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Pooling p = max_pooling(name, in[0].shape, a);
    Reference y = zeros_of(pooled_shape(p, in[0].shape.size() - 2));
    Reference places = y;
    for (long double& value : y.values) value = -std::numeric_limits<long double>::infinity();
    for_each_place(p, false, [&](std::size_t x, std::size_t o, std::int64_t place, std::int64_t) {
      if (in[0].values[x] <= y.values[o]) return;
      y.values[o] = in[0].values[x];
      places.values[o] = place;
    });
    return {y, places};
  }
  static std::vector<PoolSample> cases() {
    return {{{2, 6, 8, 5}, {{2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}}},
            {{1, 7, 9, 20}, {{3, 2}, {2, 1}, {1, 1}, {1, 0}, {1, 2}}},
            {{3, 10, 2}, {{4}, {3}, {2}, {1}, {1}}},
            {{1, 4, 5, 6, 3}, {{2, 2, 3}, {1, 2, 2}, {0, 1, 1}, {0, 0, 1}, {1, 1, 1}}},
            {{1, 18, 19, 1}, {{17, 17}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}},
            {{2, 7, 5, 3}, {{0, 0}, {3, 2}, {0, 0}, {0, 0}, {1, 1}}},
            {{0, 4, 4, 3}, {{2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}}},
            {{1, 7, 6, 16}, {{3, 2}, {2, 2}, {1, 1}, {1, 0}, {1, 1}}},
            {{1, 6, 4, 3}, {{0, 0}, {3, 2}, {0, 0}, {0, 0}, {1, 1}}}};
  }
  static Attributes attributes(const PoolArguments& a) {
    return Attributes(a.kernel, a.stride, a.low, a.high, a.dilation);
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    for (const PoolSample& s : cases()) {
      samples.push_back({.inputs = {{.shape = s.x}}, .attributes = attributes(s.arguments)});
    }
    return samples;
  }
  static void run_gradient(Backward& b);
  static constexpr GradientRule gradient{.needs = {{output_data(1)}}, .run = run_gradient};
};

/// From windows to images or back, by the places of maxima.
template <class Op>
struct PlacesOp : PoolOp {
  static Specs infer(const Kernel& k) {
    const Pooling p = Op::pooling(k.op, k.in[0].shape, k.attributes);
    const int axes = k.in[0].shape.size() - 2;
    const DType places = place_type(PoolArguments::of(k.attributes));
    if (k.in[1].shape != pooled_shape(p, axes) || k.in[1].dtype != places) {
      throw ShapeError(k.op, fmt::format("places of these windows are {} {}, not {} {}",
                                         name_of(places), to_string(pooled_shape(p, axes)),
                                         name_of(k.in[1].dtype), to_string(k.in[1].shape)));
    }
    return {{k.in[0].dtype, Op::result(p, k.in[0].shape, k.attributes)}};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const PoolSample& s, double last) {
      const Pooling p = pooling_of(Op::name, s.x, s.arguments);
      const Shape pooled = pooled_shape(p, s.x.size() - 2);
      return Sample{
          .inputs = {{.shape = Op::kFromWindows ? pooled : s.x},
                     {.shape = pooled, .low = 0, .high = last, .dtype = place_type(s.arguments)}},
          .attributes = Attributes(s.arguments.kernel, s.arguments.stride, s.arguments.low,
                                   s.arguments.high, s.arguments.dilation, spatial_of(s.x))};
    };
    const auto all =
        MaxPool::cases();  // of those, the ones without padding, whose places are all inside
    return {sample(all[0], 3),
            sample(all[4], 288),
            sample(all[6], 3),
            sample({{2, 11, 3}, {{3}, {2}, {0}, {0}, {2}}}, 2),
            sample({{1, 7, 5, 16}, {{3, 2}, {2, 1}, {0, 0}, {0, 0}, {1, 1}}}, 5),
            sample({{1, 6, 4, 3}, {{0, 0}, {3, 2}, {0, 0}, {0, 0}, {1, 1}}}, 1),
            sample({{1, 17, 34, 2}, {{17, 17}, {17, 17}, {0, 0}, {0, 0}, {1, 1}}}, 288)};
  }
};

struct MaxPoolGradient : PlacesOp<MaxPoolGradient> {
  static constexpr auto name = "max_pool_gradient";
  static constexpr auto signature =
      "max_pool_gradient(dy, places, kernel, stride, low, high, dilation, spatial)";
  static constexpr auto doc = "adds the elements of windows to zeros at places of images";
  static constexpr bool kFromWindows = true;
  static constexpr auto pooling = max_pooling_of_windows;

  static Shape result(const Pooling&, const Shape& dy, const Attributes& a) {
    return image_of_windows(name, dy, a);
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Pooling p = pooling(name, in[0].shape, a);
    Reference dx = zeros_of(result(p, in[0].shape, a));
    for_each_place(p, false, [&](std::size_t x, std::size_t o, std::int64_t place, std::int64_t) {
      if (in[1].values[o] == place) dx.values[x] += in[0].values[o];
    });
    return {dx};
  }
  static void run_gradient(Backward& b);
  static constexpr GradientRule gradient{.needs = {{input_data(1)}}, .run = run_gradient};
};

struct MaxPoolSelect : PlacesOp<MaxPoolSelect> {
  static constexpr auto name = "max_pool_select";
  static constexpr auto signature =
      "max_pool_select(x, places, kernel, stride, low, high, dilation, spatial)";
  static constexpr auto doc = "the element of each window at a place";
  static constexpr bool kFromWindows = false;
  static constexpr auto pooling = max_pooling;

  static Shape result(const Pooling& p, const Shape& x, const Attributes&) {
    return pooled_shape(p, x.size() - 2);
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Pooling p = pooling(name, in[0].shape, a);
    Reference y = zeros_of(result(p, in[0].shape, a));
    for_each_place(p, false, [&](std::size_t x, std::size_t o, std::int64_t place, std::int64_t) {
      if (in[1].values[o] == place) y.values[o] = in[0].values[x];
    });
    return {y};
  }
  static void run_gradient(Backward& b);
  static constexpr GradientRule gradient{.needs = {{input_data(1)}}, .run = run_gradient};
};

/// Average pooling and its gradient, which are each other's transposes.
struct AverageOp : PoolOp {
  static std::vector<PoolSample> cases() {
    std::vector<PoolSample> cases = MaxPool::cases();
    for (PoolSample& s : cases) s.arguments.dilation = Dims::filled(s.x.size() - 2, 1);
    return cases;
  }
};

struct AveragePool : AverageOp {
  static constexpr auto name = "average_pool";
  static constexpr auto signature = "average_pool(x, kernel, stride, low, high, count_padding)";
  static constexpr auto doc = "the mean of each window of channels-last images";

  static Specs infer(const Kernel& k) {
    const Pooling p = average_pooling(k.op, k.in[0].shape, k.attributes);
    return {{k.in[0].dtype, pooled_shape(p, k.in[0].shape.size() - 2)}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Pooling p = average_pooling(name, in[0].shape, a);
    Reference y = zeros_of(pooled_shape(p, in[0].shape.size() - 2));
    for_each_place(p, a.flag(PoolArguments::kCountPadding),
                   [&](std::size_t x, std::size_t o, std::int64_t, std::int64_t counted) {
                     y.values[o] += in[0].values[x] / counted;
                   });
    return {y};
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    for (const PoolSample& s : cases()) {
      const PoolArguments& a = s.arguments;
      samples.push_back(
          {.inputs = {{.shape = s.x, .low = -0.5}},
           .attributes = Attributes(a.kernel, a.stride, a.low, a.high, samples.size() % 2 == 0)});
    }
    return samples;
  }
  static void run_gradient(Backward& b);
  static constexpr GradientRule gradient{.run = run_gradient};
};

struct AveragePoolGradient : AverageOp {
  static constexpr auto name = "average_pool_gradient";
  static constexpr auto signature =
      "average_pool_gradient(dy, kernel, stride, low, high, count_padding, spatial)";
  static constexpr auto doc = "spreads the elements of windows evenly over the windows of images";

  static Specs infer(const Kernel& k) {
    const Shape& dy = k.in[0].shape;
    const Pooling p = average_pooling_of_windows(k.op, dy, k.attributes);
    if (pooled_shape(p, dy.size() - 2) != dy) {
      throw ShapeError(k.op, fmt::format("windows make {} of such images, not {}",
                                         to_string(pooled_shape(p, dy.size() - 2)), to_string(dy)));
    }
    return {{k.in[0].dtype, image_of_windows(k.op, dy, k.attributes)}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Pooling p = average_pooling_of_windows(name, in[0].shape, a);
    Reference dx = zeros_of(image_of_windows(name, in[0].shape, a));
    for_each_place(p, a.flag(PoolArguments::kCountPadding),
                   [&](std::size_t x, std::size_t o, std::int64_t, std::int64_t counted) {
                     dx.values[x] += in[0].values[o] / counted;
                   });
    return {dx};
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    for (const PoolSample& s : cases()) {
      const PoolArguments& a = s.arguments;
      const Pooling p = pooling_of(name, s.x, a);
      samples.push_back({.inputs = {{.shape = pooled_shape(p, s.x.size() - 2), .low = -0.5}},
                         .attributes = Attributes(a.kernel, a.stride, a.low, a.high,
                                                  samples.size() % 2 == 0, spatial_of(s.x))});
    }
    return samples;
  }
  static void run_gradient(Backward& b);
  static constexpr GradientRule gradient{.run = run_gradient};
};

Attributes with_spatial(const Attributes& a, const Shape& image) {
  const PoolArguments given = PoolArguments::of(a);
  return Attributes(given.kernel, given.stride, given.low, given.high, given.dilation,
                    spatial_of(image));
}

void MaxPool::run_gradient(Backward& b) {
  b.results[0] =
      call(record<MaxPoolGradient>(),
           {Operand(std::move(b.gradients[0]), b.site), Operand(std::move(b.outputs[1]), b.site)},
           with_spatial(b.attributes, b.specs[0].shape));
}
void MaxPoolGradient::run_gradient(Backward& b) {
  b.results[0] = call(record<MaxPoolSelect>(),
                      {Operand(std::move(b.gradients[0]), b.site), b.input(1)}, b.attributes);
}
void MaxPoolSelect::run_gradient(Backward& b) {
  b.results[0] = call(record<MaxPoolGradient>(),
                      {Operand(std::move(b.gradients[0]), b.site), b.input(1)}, b.attributes);
}
void AveragePool::run_gradient(Backward& b) {
  const PoolArguments a = PoolArguments::undilated(b.attributes);
  b.results[0] = call(
      record<AveragePoolGradient>(), Operand(std::move(b.gradients[0]), b.site),
      Attributes(a.kernel, a.stride, a.low, a.high, b.attributes.flag(PoolArguments::kCountPadding),
                 spatial_of(b.specs[0].shape)));
}
void AveragePoolGradient::run_gradient(Backward& b) {
  const PoolArguments a = PoolArguments::undilated(b.attributes);
  b.results[0] = call(record<AveragePool>(), Operand(std::move(b.gradients[0]), b.site),
                      Attributes(a.kernel, a.stride, a.low, a.high,
                                 b.attributes.flag(PoolArguments::kCountPadding)));
}

}  // namespace

const OpRecord& max_pool_record() { return record<MaxPool>(); }
const OpRecord& average_pool_record() { return record<AveragePool>(); }

std::vector<const OpRecord*> pooling_ops() {
  return {&record<MaxPool>(), &record<MaxPoolGradient>(), &record<MaxPoolSelect>(),
          &record<AveragePool>(), &record<AveragePoolGradient>()};
}

}  // namespace tenure::ops
