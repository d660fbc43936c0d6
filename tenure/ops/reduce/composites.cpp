#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenure/ops/core/composite.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/reduce/axes.h"
#include "tenure/ops/reduce/reduction.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/sort_ops.h"

// Reductions that are written in other ops.

namespace tenure::ops {
namespace {

template <class Op>
struct CompositeReduction : ReductionOp<Op> {
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kFloatTypes;
  static DType result_type(DType dtype) { return dtype; }
  /// Those of its op, as sum() and others take them.
  static AxisList axes_in(const Attributes& a) { return a.dims(Op::axes_at); }
  static KeepDims keepdims_in(const Attributes& a) { return a.flag(Op::axes_at + 1); }
};

struct CountNonzero : CompositeReduction<CountNonzero> {
  static constexpr auto name = "count_nonzero";
  static constexpr auto signature = "count_nonzero(x, axes = all, keepdims = false)";
  static constexpr auto doc = "how many elements are not zero; int64";
  static constexpr auto types = kAllTypes;
  static DType result_type(DType) { return DType::int64; }
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    return {sum(at(cast(at[0], DType::boolean)), axes_in(a), keepdims_in(a))};
  }
  static long double expected(const Values& values, const Attributes&) {
    return static_cast<long double>(
        std::count_if(values.begin(), values.end(), [](long double x) { return x != 0; }));
  }
};

/// The samples of a reduction with a NaN here and there, but never alone: that has no mean.
template <class Op>
std::vector<Sample> samples_with_nan() {
  std::vector<Sample> samples = ReductionOp<Op>::samples();
  for (Sample& sample : samples) {
    Sample::Input& input = sample.inputs[0];
    const std::int64_t n = count(input.shape);
    for (std::int64_t i = 0; i < n; ++i) {
      input.values.push_back(i % 11 == 3 ? NAN : static_cast<double>(i * 37 % 101) / 30);
    }
  }
  return samples;
}

struct NanSum : CompositeReduction<NanSum> {
  static constexpr auto name = "nansum";
  static constexpr auto signature = "nansum(x, axes = all, keepdims = false)";
  static constexpr auto doc = "the sum of what is not NaN";
  static constexpr double ulp = 2;
  static Tensor without_nan(const Expansion& at) { return where(at(isnan(at[0])), 0.0, at[0]); }
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    return {sum(at(without_nan(at)), axes_in(a), keepdims_in(a))};
  }
  static long double expected(const Values& values, const Attributes&) {
    long double sum = 0;
    for (const long double value : values) sum += std::isnan(value) ? 0 : value;
    return sum;
  }
  static std::vector<Sample> samples() { return samples_with_nan<NanSum>(); }
};

struct NanMean : CompositeReduction<NanMean> {
  static constexpr auto name = "nanmean";
  static constexpr auto signature = "nanmean(x, axes = all, keepdims = false)";
  static constexpr auto doc = "the mean of what is not NaN";
  static constexpr double ulp = 3;
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    const DType dtype = body_of(operands[0], name).dtype;
    // Sums of 16-bit floats overflow where their mean does not, and so would their number.
    const DType wide = dtype == DType::float64 ? dtype : DType::float32;
    Tensor total = sum(at(cast(at(NanSum::without_nan(at)), wide)), axes_in(a), keepdims_in(a));
    const Tensor counted = logical_not(at(isnan(at[0])));
    const Tensor n = cast(at(sum(at(counted), axes_in(a), keepdims_in(a))), wide);
    Tensor mean = div(at(std::move(total)), at(n));
    return {dtype == wide ? std::move(mean) : cast(at(std::move(mean)), dtype)};
  }
  static long double expected(const Values& values, const Attributes&) {
    long double sum = 0;
    long double n = 0;
    for (const long double value : values) {
      sum += std::isnan(value) ? 0 : value;
      n += std::isnan(value) ? 0 : 1;
    }
    return sum / n;
  }
  static std::vector<Sample> samples() { return samples_with_nan<NanMean>(); }
};

/// The places of the attributes of quantile.
struct QuantileAttributes {
  enum : int { q, axes, keepdims };
};

/// Median and quantile.
template <class Op>
struct QuantileOp : CompositeReduction<Op> {
  static constexpr double ulp_of_largest = 3;
  static void check(const Shape& shape, const Axes& axes, const Attributes& a) {
    require_elements(shape, axes, Op::name);
    const double q = Op::part(a);
    if (!(q >= 0 && q <= 1)) {
      throw ValueError(fmt::format("{}: the part {} is not in [0, 1]", Op::name, q));
    }
  }
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    const Shape shape = body_of(operands[0], Op::name).shape;
    const Axes over = reduced_axes(a.dims(Op::axes_at), shape.size(), Op::name);
    check(shape, over, a);
    // The axes that go, as one at the end.
    Axes order;
    Shape behind;
    for (int i = 0; i < shape.size(); ++i) {
      if (contains(over, i)) continue;
      order.push_back(i);
      behind.push_back(shape[i]);
    }
    std::int64_t n = 1;
    for (const std::int64_t axis : over) {
      order.push_back(axis);
      n *= shape[static_cast<int>(axis)];
    }
    behind.push_back(n);
    const Tensor x = reshape(at(permute(at[0], order)), behind);
    const Shape result = reduced_shape(shape, over, a.flag(Op::axes_at + 1));
    if (n == 0) return {reshape(at(sum(at(x), -1)), result)};  // there are no results either
    const Tensor sorted = sort(at(x), -1);
    const double place = Op::part(a) * static_cast<double>(n - 1);
    const auto low = static_cast<std::int64_t>(place);
    const double weight = place - static_cast<double>(low);
    Tensor y = select(at(sorted), -1, low);
    if (weight > 0) {
      const Tensor next = select(at(sorted), -1, low + 1);
      y = lerp(at(y), at(next), weight);
    }
    const Tensor last = select(at(sorted), -1, n - 1);  // NaN is the last
    y = where(at(isnan(at(last))), at(last), at(std::move(y)));
    return {reshape(at(std::move(y)), result)};
  }
  static long double expected(const Values& values, const Attributes& a) {
    Values sorted = values;
    for (const long double value : values) {
      if (std::isnan(value)) return value;
    }
    std::sort(sorted.begin(), sorted.end());
    const long double place = static_cast<long double>(Op::part(a)) * (sorted.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    if (low + 1 == sorted.size()) return sorted[low];
    return sorted[low] + (place - low) * (sorted[low + 1] - sorted[low]);
  }
};

struct Median : QuantileOp<Median> {
  static constexpr auto name = "median";
  static constexpr auto signature = "median(x, axes = all, keepdims = false)";
  static constexpr auto doc = "the element in the middle, or the mean of the two that are there";
  static double part(const Attributes&) { return 0.5; }
};

struct Quantile : QuantileOp<Quantile> {
  static constexpr auto name = "quantile";
  static constexpr auto signature = "quantile(x, q, axes = all, keepdims = false)";
  static constexpr auto doc = "what a part q of the elements is below, linear between elements";
  static constexpr int axes_at = QuantileAttributes::axes;
  static double part(const Attributes& a) { return a.number(QuantileAttributes::q); }
  static Attributes attributes(const Axes& axes, bool keepdims) {
    return Attributes(0.3, axes, keepdims);
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples = ReductionOp::samples();
    for (const double q : {0.0, 1.0}) {
      samples.push_back(
          {.inputs = {{.shape = {2, 5}}}, .attributes = Attributes(q, Axes{1}, true)});
    }
    samples.push_back(
        {.inputs = {{.shape = {2, 2}, .dtype = DType::float32, .values = {1, NAN, 2, 3}}},
         .attributes = Attributes(0.25, Axes{1}, false)});
    return samples;
  }
};

}  // namespace

std::vector<const OpRecord*> reduce_composites() {
  return {&record<CountNonzero>(), &record<NanSum>(), &record<NanMean>(), &record<Median>(),
          &record<Quantile>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor count_nonzero(const Operand& x, const AxisList& axes, KeepDims keepdims) {
  return call(record<ops::CountNonzero>(), x, Attributes(axes.get(), bool(keepdims)));
}
Tensor nansum(const Operand& x, const AxisList& axes, KeepDims keepdims) {
  return call(record<ops::NanSum>(), x, Attributes(axes.get(), bool(keepdims)));
}
Tensor nanmean(const Operand& x, const AxisList& axes, KeepDims keepdims) {
  return call(record<ops::NanMean>(), x, Attributes(axes.get(), bool(keepdims)));
}
Tensor median(const Operand& x, const AxisList& axes, KeepDims keepdims) {
  return call(record<ops::Median>(), x, Attributes(axes.get(), bool(keepdims)));
}
Tensor quantile(const Operand& x, double q, const AxisList& axes, KeepDims keepdims) {
  return call(record<ops::Quantile>(), x, Attributes(q, axes.get(), bool(keepdims)));
}

}  // namespace tenure
