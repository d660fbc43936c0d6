#include <cmath>

#include "tenure/ops/derivatives.h"
#include "tenure/ops/nn/types.h"
#include "tenure/ops/reduce/axes.h"
#include "tenure/ops/reduce/gradients.h"
#include "tenure/ops/reduce/reduction.h"
#include "tenure/ops/reduce_ops.h"

namespace tenure::ops {
namespace {

/// All inputs are cut, unless the op goes along what would be cut.
std::optional<Parts> parts_beside_axis(const Kernel& k) {
  const int rank = k.in[0].shape.size();
  if (rank == 0 || axis_of(k.attributes.integer(AxiswiseAttributes::axis), rank, k.op) == 0) {
    return std::nullopt;
  }
  return Parts{.in = (1u << k.in.size()) - 1};
}

/// An op along one axis, its only attribute, that leaves the shape as it is. An op adds its names,
/// result_type, and `map(values)`, the reference for one column.
template <class Op>
struct AxiswiseOp {
  static constexpr auto memory = reuses(1);
  static constexpr double low = -2, high = 2;

  static Specs infer(const Kernel& k) {
    axis_of(k.attributes.integer(AxiswiseAttributes::axis), k.in[0].shape.size(),
            Op::name);  // rejects a wrong one
    return {{Op::result_type(k.in[0].dtype), k.in[0].shape}};
  }
  static std::optional<Parts> parts(const Kernel& k) { return parts_beside_axis(k); }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const int axis = axis_of(a.integer(AxiswiseAttributes::axis), in[0].shape.size(), Op::name);
    const Axes axes = in[0].shape.empty() ? Axes{} : Axes{axis};
    return {make_reference(in[0].shape, [&](const Dims& index) {
      Values values = values_over(in[0], axes, index);
      Op::map(values);
      return values[axes.empty() ? 0 : static_cast<std::size_t>(index[axis])];
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t axis) {
      return Sample{.inputs = {{.shape = shape, .low = Op::low, .high = Op::high}},
                    .attributes = Attributes(axis)};
    };
    return {sample({2, 3, 70}, -1), sample({2, 3, 70}, 0), sample({2, 30, 7}, 1),
            sample({300, 4}, 1),    sample({}, -1),        sample({0, 3}, 0),
            sample({3, 0}, 0),      sample({1}, 0)};
  }
};

template <class Op>
struct ScanOp : AxiswiseOp<Op> {
  static constexpr auto family = "scans";
  static constexpr auto types = kAllTypes;
  // The only types of equal size that meet here are equal: all but int64 that become int64 grow.
  static DType result_type(DType dtype) { return sum_type(dtype); }
  // Of float64, half a unit for each of the 70 steps that a sample has at most; narrower floats are
  // computed as float64.
  static constexpr double ulp = 35;
};

struct CumSum : ScanOp<CumSum> {
  static constexpr auto name = "cumsum";
  static constexpr GradientRule gradient = reads_nothing(gradients::cumsum);
  static constexpr auto signature = "cumsum(x, axis)";
  static constexpr auto doc = "running sums along an axis; of integers and bool int64";
  static constexpr double low = 0, high = 3;
  static void map(Values& values) {
    for (std::size_t i = 1; i < values.size(); ++i) values[i] += values[i - 1];
  }
};

struct CumProd : ScanOp<CumProd> {
  static constexpr auto name = "cumprod";
  static constexpr GradientRule gradient{.needs = {{input_data(0) | output_data(0)}},
                                         .run = gradients::cumprod};
  static constexpr auto signature = "cumprod(x, axis)";
  static constexpr auto doc = "running products along an axis; of integers and bool int64";
  static constexpr double low = 0.9, high = 1.1;
  static void map(Values& values) {
    for (std::size_t i = 1; i < values.size(); ++i) values[i] *= values[i - 1];
  }
};

/// The largest, or smallest, so far.
template <class Op, bool largest>
struct RunningExtremum : ScanOp<Op> {
  static constexpr GradientRule gradient{.needs = {{input_data(0) | output_data(0)}},
                                         .run = gradients::running_extremum<largest>};
  static DType result_type(DType dtype) { return dtype; }
  static constexpr double ulp = 0;
  static void map(Values& values) {
    for (std::size_t i = 1; i < values.size(); ++i) {
      const long double before = values[i - 1];
      const bool stays = largest ? before > values[i] : before < values[i];
      if (stays || std::isnan(before)) values[i] = before;
    }
  }
};

struct CumMax : RunningExtremum<CumMax, true> {
  static constexpr auto name = "cummax";
  static constexpr auto signature = "cummax(x, axis)";
  static constexpr auto doc = "the largest element so far along an axis; NaN stays";
};

struct CumMin : RunningExtremum<CumMin, false> {
  static constexpr auto name = "cummin";
  static constexpr auto signature = "cummin(x, axis)";
  static constexpr auto doc = "the smallest element so far along an axis; NaN stays";
};

template <class Op>
struct SoftmaxOp : AxiswiseOp<Op> {
  static constexpr auto family = "softmax";
  static constexpr Precision precision = Precision::wide;
  static constexpr auto types = kFloatTypes;
  static DType result_type(DType dtype) { return dtype; }
};

struct Softmax : SoftmaxOp<Softmax> {
  static constexpr auto name = "softmax";
  static constexpr GradientRule gradient = reads_output(gradients::softmax);
  static constexpr auto signature = "softmax(x, axis = -1)";
  static constexpr auto doc = "exp(x) / sum(exp(x)) along an axis";
  static constexpr double ulp = 5;
  static void map(Values& values) {
    long double sum = 0;
    for (const long double value : values) sum += std::exp(value);
    for (long double& value : values) value = std::exp(value) / sum;
  }
};

struct LogSoftmax : SoftmaxOp<LogSoftmax> {
  static constexpr auto name = "log_softmax";
  static constexpr GradientRule gradient = reads_output(gradients::log_softmax);
  static constexpr auto signature = "log_softmax(x, axis = -1)";
  static constexpr auto doc = "log(softmax(x)) along an axis";
  // Next to zero, which is log(1), this is the rounding of the sum that the logarithm is taken of.
  static constexpr double ulp = 10;
  static constexpr double low = -1, high = 1;
  static void map(Values& values) {
    Softmax::map(values);
    for (long double& value : values) value = std::log(value);
  }
};

/// By the input of Softmax or LogSoftmax: of the gradient by their result, and the result.
template <bool log>
struct SoftmaxGradientOp {
  static constexpr auto family = "softmax";
  static constexpr auto types = kFloatTypes;
  static constexpr auto memory = reuses(3).with_workspace();
  // Of sums of 70 terms at most, which may cancel.
  static constexpr double ulp_of_largest = 32;

  static Specs infer(const Kernel& k) {
    require_same_type(k);
    axis_of(k.attributes.integer(AxiswiseAttributes::axis), k.in[0].shape.size(),
            k.op);  // rejects a wrong one
    if (k.in[0].shape != k.in[1].shape) {
      throw ShapeError(k.op, "a gradient has the shape of what it is of",
                       {k.in[0].shape.to_vector(), k.in[1].shape.to_vector()});
    }
    return {{k.in[0].dtype, k.in[0].shape}};
  }
  static double flops(const Kernel& k) {
    return (log ? 12.0 : 4.0) * static_cast<double>(k.in[0].count());
  }
  static std::optional<Parts> parts(const Kernel& k) { return parts_beside_axis(k); }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const int along = axis_of(a.integer(AxiswiseAttributes::axis), in[0].shape.size(), "softmax");
    const Axes axes = in[0].shape.empty() ? Axes{} : Axes{along};
    return {make_reference(in[0].shape, [&](const Dims& index) {
      const Values dy = values_over(in[0], axes, index);
      const Values y = values_over(in[1], axes, index);
      long double sum = 0;
      for (std::size_t i = 0; i < dy.size(); ++i) sum += log ? dy[i] : dy[i] * y[i];
      const std::size_t i = axes.empty() ? 0 : static_cast<std::size_t>(index[along]);
      return log ? dy[i] - std::exp(y[i]) * sum : y[i] * (dy[i] - sum);
    })};
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples = AxiswiseOp<Softmax>::samples();
    for (Sample& sample : samples) {
      sample.inputs.push_back(sample.inputs[0]);
      sample.inputs[1].low = log ? -3 : 0;
      sample.inputs[1].high = log ? 0 : 1;
    }
    return samples;
  }
};

struct SoftmaxGradient : SoftmaxGradientOp<false> {
  static constexpr auto name = "softmax_gradient";
  static constexpr GradientRule gradient{.needs = {{input_data(1), input_data(0, 1)}},
                                         .run = gradients::softmax_gradient};
  static constexpr auto signature = "softmax_gradient(gradient, y, axis)";
  static constexpr auto doc = "y * (gradient - sum(gradient * y)) along an axis; y is softmax(x)";
};

struct LogSoftmaxGradient : SoftmaxGradientOp<true> {
  static constexpr auto name = "log_softmax_gradient";
  static constexpr GradientRule gradient{.needs = {{input_data(1), input_data(0, 1)}},
                                         .run = gradients::log_softmax_gradient};
  static constexpr auto signature = "log_softmax_gradient(gradient, y, axis)";
  static constexpr auto doc =
      "gradient - exp(y) * sum(gradient) along an axis; y is log_softmax(x)";
};

}  // namespace

std::vector<const OpRecord*> axiswise_ops() {
  return {&record<CumSum>(),          &record<CumProd>(),           &record<CumMax>(),
          &record<CumMin>(),          &record<Softmax>(),           &record<LogSoftmax>(),
          &record<SoftmaxGradient>(), &record<LogSoftmaxGradient>()};
}

}  // namespace tenure::ops

namespace tenure {
namespace {

template <class Op>
Tensor along(const Operand& x, int axis) {
  return ops::call(ops::record<Op>(), x, ops::Attributes(std::int64_t{axis}));
}

}  // namespace

Tensor cumsum(const Operand& x, int axis) { return along<ops::CumSum>(x, axis); }
Tensor cumprod(const Operand& x, int axis) { return along<ops::CumProd>(x, axis); }
Tensor cummax(const Operand& x, int axis) { return along<ops::CumMax>(x, axis); }
Tensor cummin(const Operand& x, int axis) { return along<ops::CumMin>(x, axis); }
Tensor softmax(const Operand& x, int axis) { return along<ops::Softmax>(x, axis); }
Tensor log_softmax(const Operand& x, int axis) { return along<ops::LogSoftmax>(x, axis); }

Tensor softmax_gradient(const Operand& gradient, const Operand& y, int axis) {
  return ops::call(ops::record<ops::SoftmaxGradient>(), {gradient, y},
                   ops::Attributes(std::int64_t{axis}));
}
Tensor log_softmax_gradient(const Operand& gradient, const Operand& y, int axis) {
  return ops::call(ops::record<ops::LogSoftmaxGradient>(), {gradient, y},
                   ops::Attributes(std::int64_t{axis}));
}

}  // namespace tenure
