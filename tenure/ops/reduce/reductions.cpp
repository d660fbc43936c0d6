#include <cmath>

#include "tenure/ops/reduce/gradients.h"
#include "tenure/ops/reduce/reduction.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape/like.h"

namespace tenure::ops {
namespace {

struct Sum : ReductionOp<Sum> {
  static constexpr auto name = "sum";
  static constexpr GradientRule gradient = reads_nothing(gradients::sum);
  static constexpr auto signature = "sum(x, axes = all, keepdims = false)";
  static constexpr auto doc = "the sum of elements; of integers and bool int64";
  static constexpr double ulp = 4;  // where signs differ, of the sum of the magnitudes
  static DType result_type(DType dtype) { return sum_type(dtype); }
  static long double expected(const Values& values, const Attributes&) {
    long double sum = 0;
    for (const long double value : values) sum += value;
    return sum;
  }
  static std::vector<Sample> samples() {
    auto samples = ReductionOp::samples();
    samples.push_back(sample({0, 3}, {0}));
    return samples;
  }
};

struct SumLike {
  static constexpr auto family = "reductions";
  static constexpr auto name = "sum_like";
  static constexpr GradientRule gradient = reads_nothing(gradients::sum_like);
  static constexpr auto signature = "sum_like(x, like)";
  static constexpr auto doc = "the sum over the axes along which another tensor is repeated";
  static constexpr auto memory = allocates();
  static constexpr auto types = kAllTypes;
  static constexpr double ulp = 4;
  static Specs infer(const Kernel& k) {
    repeated_axes(k.in[0].shape, k.in[1].shape, name);  // rejects wrong ones
    return {{sum_type(k.in[0].dtype), k.in[1].shape}};
  }
  static bool is_identity(const Kernel& k) {
    // A sum makes 0 of -0.
    return k.in[0].shape == k.in[1].shape && sum_type(k.in[0].dtype) == k.in[0].dtype &&
           !is_floating(k.in[0].dtype);
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Axes over = repeated_axes(in[0].shape, in[1].shape, name);
    Reference out = make_reference(reduced_shape(in[0].shape, over, true), [&](const Dims& index) {
      return Sum::expected(values_over(in[0], over, index), a);
    });
    out.shape = in[1].shape;
    return {out};
  }
  static Sample sample(const Shape& x, const Shape& like) {
    return {.inputs = {{.shape = x, .low = 0, .high = 3}, {.shape = like}}};
  }
  static std::vector<Sample> samples() {
    return {sample({2, 3, 70}, {3, 1}), sample({21, 50}, {}), sample({4, 5}, {4, 5}),
            sample({3, 40}, {1, 40}), sample({0, 3}, {3})};
  }
};

struct Prod : ReductionOp<Prod> {
  static constexpr auto name = "prod";
  static constexpr GradientRule gradient = reads_input(gradients::prod);
  static constexpr auto signature = "prod(x, axes = all, keepdims = false)";
  static constexpr auto doc = "the product of elements; of integers and bool int64";
  // Of float64, half a unit for each of the 70 factors that a random sample has; narrower floats
  // are multiplied as float64.
  static constexpr double ulp = 35;
  static constexpr double low = 0.9, high = 1.1;
  static DType result_type(DType dtype) { return sum_type(dtype); }
  static long double expected(const Values& values, const Attributes&) {
    long double product = 1;
    for (const long double value : values) product *= value;
    return product;
  }
  static std::vector<Sample> samples() {
    auto samples = ReductionOp::samples();
    for (Sample& sample : samples) {
      Sample::Input& input = sample.inputs[0];
      for (std::int64_t i = 0; count(input.shape) > 1000 && i < count(input.shape); ++i) {
        constexpr double exact[] = {2, 1, 0.5, -1};
        input.values.push_back(exact[i % 4]);
      }
    }
    samples.push_back(sample({0, 3}, {0}));
    samples.push_back({.inputs = {{.shape = {3, 12}}}, .attributes = attributes({1}, false)});
    return samples;
  }
};

struct Mean : ReductionOp<Mean> {
  static constexpr auto name = "mean";
  static constexpr GradientRule gradient = reads_nothing(gradients::mean);
  static constexpr auto signature = "mean(x, axes = all, keepdims = false)";
  static constexpr auto doc = "the mean of elements; of integers and bool float32";
  static constexpr double ulp = 4.5;  // as of sums
  static DType result_type(DType dtype) { return is_floating(dtype) ? dtype : DType::float32; }
  static long double expected(const Values& values, const Attributes& a) {
    return Sum::expected(values, a) / static_cast<long double>(values.size());
  }
};

/// What max, min, argmax and argmin share: no elements have none of these.
template <class Op, bool largest>
struct ExtremumOp : ReductionOp<Op> {
  static constexpr double low = -100, high = 100;
  static void check(const Shape& shape, const Axes& axes, const Attributes&) {
    require_elements(shape, axes, Op::name);
  }
  static std::size_t best(const Values& values) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < values.size() && !std::isnan(values[best]); ++i) {
      const bool better = largest ? values[i] > values[best] : values[i] < values[best];
      if (better || std::isnan(values[i])) best = i;
    }
    return best;
  }
};

template <class Op, bool largest>
struct ExtremeValue : ExtremumOp<Op, largest> {
  static DType result_type(DType dtype) { return dtype; }
  static long double expected(const Values& values, const Attributes&) {
    return values[ExtremeValue::best(values)];
  }
};

struct Max : ExtremeValue<Max, true> {
  static constexpr auto name = "max";
  static constexpr GradientRule gradient{.needs = {{input_data(0) | output_data(0)}},
                                         .run = gradients::extremum};
  static constexpr auto signature = "max(x, axes = all, keepdims = false)";
  static constexpr auto doc = "the largest element, or NaN if there is one";
};

struct Min : ExtremeValue<Min, false> {
  static constexpr auto name = "min";
  static constexpr GradientRule gradient{.needs = {{input_data(0) | output_data(0)}},
                                         .run = gradients::extremum};
  static constexpr auto signature = "min(x, axes = all, keepdims = false)";
  static constexpr auto doc = "the smallest element, or NaN if there is one";
};

/// The axes are one or none.
template <class Op, bool largest>
struct ExtremePlace : ExtremumOp<Op, largest> {
  static DType result_type(DType) { return DType::int64; }
  static long double expected(const Values& values, const Attributes&) {
    return static_cast<long double>(ExtremumOp<Op, largest>::best(values));
  }
  static std::vector<Sample> samples() {
    const auto sample = ReductionOp<Op>::sample;
    return {sample({2, 3, 70}, {-1}, false), sample({2, 3, 70}, {0}, false),
            sample({2, 3, 70}, {1}, true),   sample({21, 50}, {}, false),
            sample({3, 4}, {}, true),        sample({1100, 2}, {0}, false),
            sample({}, {}, false),           sample({2, 0, 3}, {0}, false)};
  }
};

struct ArgMax : ExtremePlace<ArgMax, true> {
  static constexpr auto name = "argmax";
  static constexpr auto signature = "argmax(x, axis = flattened, keepdims = false)";
  static constexpr auto doc = "the index of the first largest element or NaN";
};

struct ArgMin : ExtremePlace<ArgMin, false> {
  static constexpr auto name = "argmin";
  static constexpr auto signature = "argmin(x, axis = flattened, keepdims = false)";
  static constexpr auto doc = "the index of the first smallest element or NaN";
};

template <class Op, bool of_none>
struct TruthOp : ReductionOp<Op> {
  static DType result_type(DType) { return DType::boolean; }
  static long double expected(const Values& values, const Attributes&) {
    for (const long double value : values) {
      if ((value != 0) != of_none) return !of_none;
    }
    return of_none;
  }
  static std::vector<Sample> samples() {
    auto samples = ReductionOp<Op>::samples();
    samples.push_back(ReductionOp<Op>::sample({0, 3}, {0}));
    samples.push_back(
        {.inputs = {{.shape = {3, 4}, .values = {0, 0, 0, 0, 1, 0, 0, 2, 1, 1, 3, 1}}},
         .attributes = Attributes(Axes{1}, false)});
    return samples;
  }
};

struct Any : TruthOp<Any, false> {
  static constexpr auto name = "any";
  static constexpr auto signature = "any(x, axes = all, keepdims = false)";
  static constexpr auto doc = "whether some element is not zero";
};

struct All : TruthOp<All, true> {
  static constexpr auto name = "all";
  static constexpr auto signature = "all(x, axes = all, keepdims = false)";
  static constexpr auto doc = "whether no element is zero";
};

}  // namespace

std::vector<const OpRecord*> reduction_ops() {
  return {&record<Sum>(),    &record<SumLike>(), &record<Prod>(), &record<Mean>(),
          &record<Max>(),    &record<Min>(),     &record<Any>(),  &record<All>(),
          &record<ArgMax>(), &record<ArgMin>()};
}

}  // namespace tenure::ops

namespace tenure {
namespace {

template <class Op>
Tensor reduced(const Operand& x, const AxisList& axes, KeepDims keepdims) {
  return ops::call(ops::record<Op>(), x, ops::Attributes(axes.get(), bool(keepdims)));
}
Axes axes_of(std::optional<int> axis) { return axis ? Axes{*axis} : Axes{}; }

}  // namespace

Tensor sum(const Operand& x, const AxisList& axes, KeepDims keepdims) {
  return reduced<ops::Sum>(x, axes, keepdims);
}
Tensor sum_like(const Operand& x, const Operand& like) {
  return ops::call_like(ops::record<ops::SumLike>(), x, like);
}
Tensor prod(const Operand& x, const AxisList& axes, KeepDims keepdims) {
  return reduced<ops::Prod>(x, axes, keepdims);
}
Tensor mean(const Operand& x, const AxisList& axes, KeepDims keepdims) {
  return reduced<ops::Mean>(x, axes, keepdims);
}
Tensor max(const Operand& x, const AxisList& axes, KeepDims keepdims) {
  return reduced<ops::Max>(x, axes, keepdims);
}
Tensor min(const Operand& x, const AxisList& axes, KeepDims keepdims) {
  return reduced<ops::Min>(x, axes, keepdims);
}
Tensor any(const Operand& x, const AxisList& axes, KeepDims keepdims) {
  return reduced<ops::Any>(x, axes, keepdims);
}
Tensor all(const Operand& x, const AxisList& axes, KeepDims keepdims) {
  return reduced<ops::All>(x, axes, keepdims);
}
Tensor argmax(const Operand& x, std::optional<int> axis, KeepDims keepdims) {
  return reduced<ops::ArgMax>(x, axes_of(axis), keepdims);
}
Tensor argmin(const Operand& x, std::optional<int> axis, KeepDims keepdims) {
  return reduced<ops::ArgMin>(x, axes_of(axis), keepdims);
}

}  // namespace tenure
