#include "tenure/kernels/cpu/reduce/reduce.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "tenure/kernels/cpu/elementwise/cpu_loop.h"
#include "tenure/kernels/cpu/elementwise/fused_range.h"
#include "tenure/kernels/cpu/reduce/reduce_plan.h"
#include "tenure/ops/core/compute_type.h"

namespace tenure::kernels {
namespace {

using reduce::Block;
using reduce::BlockArray;
using reduce::find_convert;
using reduce::find_fold;
using reduce::Fold;
using reduce::Partials;
using reduce::ReducePlan;
using reduce::Rule;
using reduce::total;

Rule rule_of(Reduction kind) {
  switch (kind) {
    case Reduction::sum:
    case Reduction::mean:
      return Rule::sum;
    case Reduction::prod:
      return Rule::prod;
    case Reduction::max:
    case Reduction::any:
      return Rule::max;
    case Reduction::min:
    case Reduction::all:
      return Rule::min;
  }
  throw InternalError("unknown reduction");
}

DType accumulator_of(Reduction kind, DType in, std::int64_t count) {
  switch (kind) {
    case Reduction::any:
    case Reduction::all:
      return DType::boolean;
    case Reduction::max:
    case Reduction::min:
      return ops::widened_type(in);
    case Reduction::prod:
      return is_floating(in) ? DType::float64 : DType::int64;
    case Reduction::mean:
      if (is_floating(in)) return ops::widened_type(in);
      // Sums of 32 bits pass 63 only with as many terms as nobody has.
      return in == DType::int64 || count >> 32 != 0 ? DType::float64 : DType::int64;
    default:
      return is_floating(in) ? ops::widened_type(in) : DType::int64;
  }
}

/// Writes the first `count` of `values` to `out`, from element `first` on.
void store(const void* values, DType dtype, std::int64_t count, const View& out,
           std::int64_t first) {
  auto* dst = out.as<std::byte>() + first * static_cast<std::int64_t>(size_of(out.dtype));
  if (dtype == out.dtype) {
    std::memcpy(dst, values, static_cast<std::size_t>(count) * size_of(dtype));
  } else {
    find_convert(dtype, out.dtype)(values, {count, 1}, dst, {count, 1}, 1, count);
  }
}

/// Writes `value(i)`, a double, for i < count to `out`, from element `first` on.
template <class Value>
void store_each(const Value& value, std::int64_t count, const View& out, std::int64_t first) {
  if (out.dtype == DType::float32) {
    float* dst = out.as<float>() + first;
    for (std::int64_t i = 0; i < count; ++i) dst[i] = static_cast<float>(value(i));
  } else {
    double values[reduce::kBlock];
    for (std::int64_t i = 0; i < count; ++i) values[i] = value(i);
    store(values, DType::float64, count, out, first);
  }
}

/// Writes a block of a plain reduction.
void finish(Reduction kind, DType accumulator, void* high, void* low, std::int64_t terms,
            const Block& block, const View& out) {
  const bool mean = kind == Reduction::mean;
  const auto store_sums = [&]<class T>(TypeTag<T>) {
    const auto* h = static_cast<const T*>(high);
    const auto* l = static_cast<const T*>(low);
    const double divisor = mean ? static_cast<double>(terms) : 1;
    store_each([&](std::int64_t i) { return total(h[i], l[i]) / divisor; }, block.width, out,
               block.first);
  };
  const bool sum = mean || kind == Reduction::sum;
  if (sum && accumulator == DType::float32) {
    store_sums(TypeTag<float>{});
  } else if (sum && accumulator == DType::float64) {
    store_sums(TypeTag<double>{});
  } else if (mean) {
    store_sums(TypeTag<std::int64_t>{});
  } else {
    // Of no elements, `all` is the largest byte, which is no bool yet.
    const DType stored = accumulator == DType::boolean ? DType::uint8 : accumulator;
    store(high, stored, block.width, out, block.first);
  }
}

/// Calls `f(TypeTag<T>{})` with the type in which an input of floats is computed.
template <class F>
void visit_floats(const char* op, DType in, const F& f) {
  switch (ops::widened_type(in)) {
    case DType::float32:
      return f(TypeTag<float>{});
    case DType::float64:
      return f(TypeTag<double>{});
    default:
      throw DTypeError(op, "takes floats, not " + std::string(name_of(in)));
  }
}

}  // namespace

void reduce_axes(Reduction kind, const View& in, const Axes& axes, const View& out,
                 const ops::FusedNeighbours& neighbours) {
  constexpr std::int64_t kSmall = 1 << 14;
  const DType accumulator = accumulator_of(kind, in.dtype, in.count());
  const Fold& rule = find_fold(rule_of(kind), accumulator);
  const auto store_block = [&](void* high, void* low, std::int64_t terms, const Block& block) {
    finish(kind, accumulator, high, low, terms, block, out);
    if (neighbours.after == nullptr) return;
    auto* const to =
        out.as<std::byte>() + block.first * static_cast<std::int64_t>(size_of(out.dtype));
    FusedRange(fused_of(*neighbours.after), neighbours.after_inputs.views, neighbours.after_shape)
        .run(block.first, block.first + block.width, to);
  };

  // All of a small contiguous tensor: no plan needed.
  if (axes.size() == in.shape.size() && in.dtype == accumulator && in.contiguous() &&
      neighbours.before == nullptr) {
    const std::int64_t count = in.count();
    if (count > 0 && count <= kSmall) {
      alignas(8) std::byte high[8];
      alignas(8) std::byte low[8];
      rule.init(high, low, 1);
      rule.run(high, low, nullptr, in.data, count);
      store_block(high, low, count, {0, 1});
      return;
    }
  }

  const ReducePlan plan(in, axes, accumulator, neighbours);
  if (kind == Reduction::max || kind == Reduction::min) {
    internal_check(plan.terms() > 0 || plan.outputs() == 0, "an extremum has elements");
  }
  plan.for_each_block([&](const Block& block) {
    Partials partials;
    plan.fold(rule, block, nullptr, partials);
    store_block(partials.high.bytes, partials.low.bytes, plan.terms(), block);
  });
}

bool reduce_takes_loop(Reduction kind, DType dtype, const Shape& shape, const Axes& axes) {
  const View in{.dtype = dtype, .shape = shape, .strides = contiguous_strides(shape)};
  return ReducePlan(in, axes, accumulator_of(kind, dtype, in.count())).takes_loop();
}

void variance(const View& in, const Axes& axes, double correction, bool take_sqrt,
              const View& out) {
  visit_floats("variance", in.dtype, [&]<class T>(TypeTag<T>) {
    const ReducePlan plan(in, axes, dtype_of<T>());
    const Fold& sum = find_fold(Rule::sum, dtype_of<T>());
    const Fold& deviations = find_fold(Rule::sum_deviations, dtype_of<T>());
    const auto terms = static_cast<double>(plan.terms());
    const double divisor = std::max(terms - correction, 0.0);
    plan.for_each_block([&](const Block& block) {
      Partials partials;
      BlockArray means;
      T* high = partials.high.as<T>();
      T* low = partials.low.as<T>();
      T* mean = means.as<T>();
      plan.fold(sum, block, nullptr, partials);
      for (std::int64_t i = 0; i < block.width; ++i) {
        mean[i] = static_cast<T>(total(high[i], low[i]) / terms);
      }
      plan.fold(deviations, block, mean, partials);
      const auto value = [&](std::int64_t i) {
        const double variance = total(high[i], low[i]) / divisor;
        return take_sqrt ? std::sqrt(variance) : variance;
      };
      store_each(value, block.width, out, block.first);
    });
  });
}

void logsumexp(const View& in, const Axes& axes, const View& out) {
  visit_floats("logsumexp", in.dtype, [&]<class T>(TypeTag<T>) {
    const ReducePlan plan(in, axes, dtype_of<T>());
    const Fold& max = find_fold(Rule::max, dtype_of<T>());
    const Fold& sum_exp = find_fold(Rule::sum_exp, dtype_of<T>());
    plan.for_each_block([&](const Block& block) {
      Partials partials;
      BlockArray shifts;
      T* high = partials.high.as<T>();
      T* low = partials.low.as<T>();
      T* shift = shifts.as<T>();
      plan.fold(max, block, nullptr, partials);
      std::copy_n(high, block.width, shift);
      plan.fold(sum_exp, block, shift, partials);
      const auto value = [&](std::int64_t i) -> double {
        if (!std::isfinite(shift[i])) return shift[i];  // The sum is no number then.
        return shift[i] + std::log(total(high[i], low[i]));
      };
      store_each(value, block.width, out, block.first);
    });
  });
}

namespace {

/// The 2-norms of a block, each with its elements scaled by a power of two to magnitudes near one.
template <class T>
void store_scaled_norms(const ReducePlan& plan, const Block& block, Partials& partials,
                        const View& out) {
  BlockArray scales;
  T* high = partials.high.as<T>();
  T* low = partials.low.as<T>();
  T* scale = scales.as<T>();
  plan.fold(find_fold(Rule::max_abs, dtype_of<T>()), block, nullptr, partials);
  constexpr int kMaxExponent = std::numeric_limits<T>::max_exponent - 1;
  for (std::int64_t i = 0; i < block.width; ++i) {
    const bool usable = std::isfinite(high[i]) && high[i] > 0;
    const int exponent = usable ? std::min(-std::ilogb(high[i]), kMaxExponent) : 0;
    scale[i] = std::ldexp(T{1}, exponent);
  }
  plan.fold(find_fold(Rule::sum_squares, dtype_of<T>()), block, scale, partials);
  const auto value = [&](std::int64_t i) {
    return std::sqrt(total(high[i], low[i])) / static_cast<double>(scale[i]);
  };
  store_each(value, block.width, out, block.first);
}

template <class T>
void store_norms(const ReducePlan& plan, const Block& block, const View& out) {
  // Squares of what lies outside this range have lost digits, or all.
  constexpr double kLeast = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  Partials partials;
  BlockArray ones;
  T* high = partials.high.as<T>();
  T* low = partials.low.as<T>();
  std::fill_n(ones.as<T>(), block.width, T{1});
  plan.fold(find_fold(Rule::sum_squares, dtype_of<T>()), block, ones.as<T>(), partials);
  for (std::int64_t i = 0; i < block.width; ++i) {
    if (!(high[i] >= kLeast) || !std::isfinite(high[i])) {
      return store_scaled_norms<T>(plan, block, partials, out);
    }
  }
  store_each([&](std::int64_t i) { return std::sqrt(total(high[i], low[i])); }, block.width, out,
             block.first);
}

}  // namespace

void norm(const View& in, const Axes& axes, double order, const View& out) {
  visit_floats("norm", in.dtype, [&]<class T>(TypeTag<T>) {
    const ReducePlan plan(in, axes, dtype_of<T>());
    if (order == 2) {
      plan.for_each_block([&](const Block& block) { store_norms<T>(plan, block, out); });
      return;
    }
    const bool extreme = std::isinf(order);
    const Rule rule = extreme      ? (order > 0 ? Rule::max_abs : Rule::min_abs)
                      : order == 1 ? Rule::sum_abs
                                   : Rule::sum_powers;
    const Fold& fold = find_fold(rule, dtype_of<T>());
    plan.for_each_block([&](const Block& block) {
      Partials partials;
      BlockArray orders;
      std::fill_n(orders.as<T>(), block.width, static_cast<T>(order));
      plan.fold(fold, block, orders.as<T>(), partials);
      const T* high = partials.high.as<T>();
      const T* low = partials.low.as<T>();
      const auto value = [&](std::int64_t i) -> double {
        if (plan.terms() == 0) return 0;
        if (extreme) return high[i];
        const double sum = total(high[i], low[i]);
        return order == 1 || order == 0 ? sum : std::pow(sum, 1 / order);
      };
      store_each(value, block.width, out, block.first);
    });
  });
}

}  // namespace tenure::kernels
