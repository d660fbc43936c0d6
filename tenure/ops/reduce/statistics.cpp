#include <cmath>
#include <limits>

#include "tenure/ops/reduce/axes.h"
#include "tenure/ops/reduce/gradients.h"
#include "tenure/ops/reduce/reduction.h"
#include "tenure/ops/reduce_ops.h"

namespace tenure::ops {
namespace {

template <class Op>
struct FloatReduction : ReductionOp<Op> {
  static constexpr auto types = kFloatTypes;
  static DType result_type(DType dtype) { return dtype; }
};

/// The variance or its root.
template <class Op, bool root>
struct VarianceOp : FloatReduction<Op> {
  static Attributes attributes(const Axes& axes, bool keepdims) {
    return Attributes(axes, keepdims, 1.0);
  }
  static long double expected(const Values& values, const Attributes& a) {
    const auto n = static_cast<long double>(values.size());
    long double mean = 0;
    for (const long double value : values) mean += value;
    mean /= n;
    long double squares = 0;
    for (const long double value : values) squares += (value - mean) * (value - mean);
    const long double variance =
        squares /
        std::max(n - static_cast<long double>(a.number(VarianceAttributes::correction)), 0.0L);
    return root ? std::sqrt(variance) : variance;
  }
  static std::vector<Sample> samples() {
    auto samples = ReductionOp<Op>::samples();
    samples.push_back(ReductionOp<Op>::sample({3, 5}, {-1}, true));
    for (Sample& sample : samples) {
      // Fixed values, so that they never are all equal: of those, only rounding errors vary.
      Sample::Input& input = sample.inputs[0];
      for (std::int64_t i = 0; i < count(input.shape); ++i) {
        input.values.push_back(static_cast<double>(i * 37 % 101) / 30);
      }
      if (input.shape.empty()) sample.attributes = Attributes(Axes{}, false, 0.0);
    }
    return samples;
  }
};

struct Var : VarianceOp<Var, false> {
  static constexpr auto name = "var";
  static constexpr GradientRule gradient = reads_input(gradients::var);
  static constexpr auto signature = "var(x, axes = all, keepdims = false, correction = 1)";
  static constexpr auto doc = "squared deviations from the mean / max(n - correction, 0)";
  static constexpr double ulp = 6;
};

struct StdDev : VarianceOp<StdDev, true> {
  static constexpr auto name = "stddev";
  static constexpr GradientRule gradient{.needs = {{input_data(0) | output_data(0)}},
                                         .run = gradients::stddev};
  static constexpr auto signature = "stddev(x, axes = all, keepdims = false, correction = 1)";
  static constexpr auto doc = "the root of the variance";
  static constexpr double ulp = 4;
};

struct LogSumExp : FloatReduction<LogSumExp> {
  static constexpr auto name = "logsumexp";
  static constexpr GradientRule gradient{.needs = {{input_data(0) | output_data(0)}},
                                         .run = gradients::logsumexp};
  static constexpr auto signature = "logsumexp(x, axes = all, keepdims = false)";
  static constexpr auto doc = "log(sum(exp(x))) without overflow";
  static constexpr double ulp = 4;
  static constexpr double low = 0, high = 4;
  static long double expected(const Values& values, const Attributes&) {
    long double sum = 0;
    for (const long double value : values) sum += std::exp(value);
    return std::log(sum);
  }
};

struct Norm : FloatReduction<Norm> {
  static constexpr auto name = "norm";
  static constexpr GradientRule gradient{.needs = {{input_data(0) | output_data(0)}},
                                         .run = gradients::norm};
  static constexpr auto signature = "norm(x, order = 2, axes = all, keepdims = false)";
  static constexpr auto doc = "sum(|x|^order)^(1/order); 0 counts, inf and -inf are extremes";
  static constexpr double ulp = 8;
  static constexpr int axes_at = 1;
  static Attributes attributes(const Axes& axes, bool keepdims) {
    return Attributes(2.0, axes, keepdims);
  }
  static void check(const Shape& shape, const Axes& axes, const Attributes& a) {
    const double order = a.number(VectorNormAttributes::order);
    if (std::isnan(order)) throw ValueError("norm: the order is NaN");
    if (order < 0) require_elements(shape, axes, name);
  }
  static long double expected(const Values& values, const Attributes& a) {
    const auto order = static_cast<long double>(a.number(VectorNormAttributes::order));
    long double largest = 0;
    long double smallest = std::numeric_limits<long double>::infinity();
    long double nonzero = 0;
    long double powers = 0;
    for (const long double value : values) {
      const long double size = std::fabs(value);
      largest = std::max(largest, size);
      smallest = std::min(smallest, size);
      nonzero += size != 0;
      powers += std::pow(size, order);
    }
    if (std::isinf(order)) return order > 0 ? largest : smallest;
    return order == 0 ? nonzero : std::pow(powers, 1 / order);
  }
  static std::vector<Sample> samples() {
    auto samples = ReductionOp::samples();
    samples.push_back(sample({0, 3}, {0}));
    const double inf = std::numeric_limits<double>::infinity();
    for (const double order : {0.0, 0.5, 1.0, 3.0, -1.0, inf, -inf}) {
      samples.push_back({.inputs = {{.shape = {3, 40}, .low = 0.5, .high = 3}},
                         .attributes = Attributes(order, Axes{-1}, false)});
    }
    return samples;
  }
};

}  // namespace

std::vector<const OpRecord*> statistics_ops() {
  return {&record<Var>(), &record<StdDev>(), &record<LogSumExp>(), &record<Norm>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor var(const Operand& x, const AxisList& axes, KeepDims keepdims, double correction) {
  return call(record<ops::Var>(), x, Attributes(axes.get(), bool(keepdims), correction));
}
Tensor stddev(const Operand& x, const AxisList& axes, KeepDims keepdims, double correction) {
  return call(record<ops::StdDev>(), x, Attributes(axes.get(), bool(keepdims), correction));
}
Tensor logsumexp(const Operand& x, const AxisList& axes, KeepDims keepdims) {
  return call(record<ops::LogSumExp>(), x, Attributes(axes.get(), bool(keepdims)));
}
Tensor norm(const Operand& x, double order, const AxisList& axes, KeepDims keepdims) {
  return call(record<ops::Norm>(), x, Attributes(order, axes.get(), bool(keepdims)));
}

}  // namespace tenure
