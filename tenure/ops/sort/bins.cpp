#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenure/ops/core/composite.h"
#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/index/within.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/sort/axis.h"
#include "tenure/ops/sort_ops.h"

// Finding places in what is sorted, and counting.

namespace tenure::ops {
namespace {

struct SearchSorted {
  static constexpr auto family = "sorting";
  static constexpr auto name = "searchsorted";
  static constexpr auto signature = "searchsorted(sorted, values, right = false)";
  static constexpr auto doc = "where values belong along the last axis of a sorted tensor; int64";
  static constexpr auto memory = allocates();
  static constexpr auto types = kAllTypes;

  static Specs infer(const Kernel& k) {
    check_same_type(k.in[0], k.in[1], name);
    const Shape& sorted = k.in[0].shape;
    const Shape& values = k.in[1].shape;
    bool fits = sorted.size() == 1 || (sorted.size() == values.size() && !sorted.empty());
    for (int i = 0; i + 1 < sorted.size() && fits; ++i) fits = sorted[i] == values[i];
    if (!fits) {
      throw ShapeError(name,
                       fmt::format("{} is no vector, and its rows are not those of values {}",
                                   to_string(sorted), to_string(values)),
                       {sorted.to_vector(), values.to_vector()});
    }
    return {{DType::int64, values}};
  }
  static double flops(const Kernel& k) {
    return static_cast<double>(k.in[1].count()) *
           (1 + std::log2(1 + static_cast<double>(k.in[0].shape.back())));
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const bool right = a.flag(SearchAttributes::right);
    const std::int64_t n = in[0].shape.back();
    return {make_reference(in[1].shape, [&](const Dims& index) {
      const long double value = at(in[1], index);
      Dims place = index;
      if (in[0].shape.size() == 1) place = {0};
      long double below = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        place[place.size() - 1] = i;
        const long double element = at(in[0], place);
        below += (right ? element <= value : element < value) ? 1 : 0;
      }
      return below;
    })};
  }
  static std::vector<Sample> samples() {
    return {
        {.inputs = {{.shape = {5}, .values = {0, 0, 1, 1, 1}}, {.shape = {2, 6}}},
         .attributes = Attributes(false)},
        {.inputs = {{.shape = {5}, .values = {0, 0, 1, 1, 1}}, {.shape = {3}, .values = {1, 0, 1}}},
         .attributes = Attributes(true)},
        {.inputs = {{.shape = {2, 3}, .values = {0, 1, 1, 0, 0, 1}},
                    {.shape = {2, 4}, .values = {0, 1, 1, 0, 0, 1, 0, 1}}},
         .attributes = Attributes(true)},
        {.inputs = {{.shape = {0}}, {.shape = {}}}, .attributes = Attributes(false)},
        {.inputs = {{.shape = {3}, .values = {0, 0, 1}}, {.shape = {0, 2}}},
         .attributes = Attributes(false)}};
  }
};

struct BinCount : CompositeOp {
  static constexpr auto family = "sorting";
  static constexpr auto name = "bincount";
  static constexpr auto signature = "bincount(x, weights = none, length)";
  static constexpr auto doc = "how often each of 0, 1, ... occurs, or the sums of their weights";
  static constexpr auto types = kIndexTypes;
  static constexpr double ulp = 8;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    const std::int64_t length = a.integer(BincountAttributes::length);
    if (length < 0) throw ValueError(fmt::format("bincount: a length of {}", length));
    const TensorBody& x = body_of(operands[0], name);
    const std::int64_t n = count(x.shape);
    // Negative places would count from the end.
    const Tensor checked =
        within(at[0], 0, static_cast<double>(length - 1), {.op = name, .is_index = true});
    const Tensor place = reshape(at(checked), {n});
    if (operands.size() == 1) {
      const Tensor none = zeros({length}, DType::int64, at.site());
      return {index_add(at(none), {place}, 1)};
    }
    const TensorBody& weights = body_of(operands[1], name);
    if (weights.shape != x.shape) {
      throw ShapeError(
          name,
          fmt::format("weights of shape {} for {}", to_string(weights.shape), to_string(x.shape)),
          {x.shape.to_vector(), weights.shape.to_vector()});
    }
    // A sum in 16 bits stops growing where its terms are less than half a unit of it.
    const Tensor none = zeros({length}, widened_type(weights.dtype), at.site());
    const Tensor flat = reshape(at[1], {n});
    Tensor sums = index_add(at(none), {place}, at(flat));
    return {sums.dtype() == weights.dtype ? sums : cast(at(sums), weights.dtype)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    Reference counts{.shape = {a.integer(BincountAttributes::length)}};
    counts.values.resize(static_cast<std::size_t>(counts.shape[0]));
    for (std::size_t i = 0; i < in[0].values.size(); ++i) {
      counts.values[static_cast<std::size_t>(in[0].values[i])] +=
          in.size() == 1 ? 1 : in[1].values[i];
    }
    return {counts};
  }
  static std::vector<Sample> samples() {
    const Sample::Input x{.shape = {2, 3}, .values = {0, 2, 1, 2, 2, 4}};
    const Attributes six(std::int64_t{6});
    return {
        {.inputs = {x}, .attributes = six},
        {.inputs = {x, {.shape = {2, 3}, .low = 0, .dtype = DType::float64}}, .attributes = six},
        {.inputs = {x, {.shape = {2, 3}, .low = 0, .dtype = DType::int32}}, .attributes = six},
        {.inputs = {{.shape = {0}}}, .attributes = Attributes(std::int64_t{0})}};
  }
};

struct HistogramOp : CompositeOp {
  static constexpr auto family = "sorting";
  static constexpr auto name = "histogram";
  static constexpr auto signature = "histogram(x, bins = 10, low = smallest, high = largest)";
  static constexpr auto doc = "how many elements lie in ranges of equal width, and their edges";
  static constexpr auto types = kNumberTypes;
  static constexpr int outputs = 2;
  static constexpr double ulp_of_largest = 4;

  static void check(const Attributes& a) {
    const std::int64_t bins = a.integer(HistogramAttributes::bins);
    if (bins < 1) throw ValueError(fmt::format("histogram: {} ranges; at least 1", bins));
    const std::optional<double> low = optional_number(a, HistogramAttributes::low);
    const std::optional<double> high = optional_number(a, HistogramAttributes::high);
    if (!std::isfinite(low.value_or(0)) || !std::isfinite(high.value_or(0))) {
      throw ValueError("histogram: an end is not finite");
    }
    if (low && high && *low > *high) {
      throw ValueError("histogram: the lower end is above the upper one");
    }
  }
  /// The two ends; around a single number, or where there is none, a range of width 1.
  static std::vector<Tensor> ends(const Expansion& at, const Tensor& x, const Attributes& a) {
    const auto end = [&](int place, auto found, double otherwise) {
      const std::optional<double> told = optional_number(a, place);
      if (told) return full({}, *told, x.dtype(), at.site());
      return x.size() == 0 ? full({}, otherwise, x.dtype(), at.site()) : found(at(x), {}, false);
    };
    const Tensor low = end(HistogramAttributes::low, tenure::min, 0);
    const Tensor high = end(HistogramAttributes::high, tenure::max, 1);
    const Tensor half =
        where(at(equal(at(low), at(high))), 0.5, at(zeros({}, x.dtype(), at.site())));
    return {sub(at(low), at(half)), add(at(high), at(half))};
  }
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    check(a);
    const TensorBody& body = body_of(operands[0], name);
    const std::int64_t bins = a.integer(HistogramAttributes::bins);
    const DType dtype = is_floating(body.dtype) ? widened_type(body.dtype) : DType::float64;
    const Tensor x = reshape(at(cast(at[0], dtype)), {count(body.shape)});
    const std::vector<Tensor> end = ends(at, x, a);
    const Tensor step = div(at(sub(at(end[1]), at(end[0]))), static_cast<double>(bins));
    Tensor lower = mul(at(arange(bins, dtype, at.site())), at(step));
    lower = add(at(std::move(lower)), at(end[0]));
    Tensor edges = concat({at(lower), at(expand_dims(at(end[1]), 0))});
    Tensor place = sub(at(searchsorted(at(edges), at(x), true)), 1);
    place = where(at(equal(at(x), at(end[1]))), bins - 1, at(std::move(place)));
    const Tensor is_outside = logical_or(at(less(at(place), 0)), at(greater(at(place), bins)));
    place = where(at(is_outside), bins, at(std::move(place)));  // one more, which is dropped
    const Tensor counts =
        index_add(at(zeros({bins + 1}, DType::int64, at.site())), {std::move(place)}, 1);
    return {clone(at(slice(at(counts), 0, 0, bins))), std::move(edges)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const std::int64_t bins = a.integer(HistogramAttributes::bins);
    const std::vector<long double>& x = in[0].values;
    long double low = x.empty() ? 0 : *std::min_element(x.begin(), x.end());
    long double high = x.empty() ? 1 : *std::max_element(x.begin(), x.end());
    if (const auto told = optional_number(a, HistogramAttributes::low)) low = *told;
    if (const auto told = optional_number(a, HistogramAttributes::high)) high = *told;
    if (low == high) {
      low -= 0.5L;
      high += 0.5L;
    }
    const Reference edges =
        make_reference({bins + 1}, [&](const Dims& i) { return low + (high - low) * i[0] / bins; });
    const Reference counts = make_reference({bins}, [&](const Dims& i) -> long double {
      const long double from = edges.values[static_cast<std::size_t>(i[0])];
      const long double to = edges.values[static_cast<std::size_t>(i[0] + 1)];
      return std::count_if(x.begin(), x.end(), [&](long double value) {
        return value >= from && (value < to || (i[0] == bins - 1 && value == high));
      });
    });
    return {counts, edges};
  }
  static std::vector<Sample> samples() {
    const Attribute none;
    return {{.inputs = {{.shape = {3, 20}}}, .attributes = Attributes(std::int64_t{4}, none, none)},
            {.inputs = {{.shape = {30}}}, .attributes = Attributes(std::int64_t{4}, -1.0, 1.0)},
            // Equal elements; where they are not any more, the ends jump, and have no slope.
            {.inputs = {{.shape = {4}, .dtype = DType::int32, .values = {1, 1, 1, 1}}},
             .attributes = Attributes(std::int64_t{2}, none, none)},
            {.inputs = {{.shape = {6}, .dtype = DType::float64, .values = {0, 1, 2, 3, NAN, 4}}},
             .attributes = Attributes(std::int64_t{3}, 0.0, 3.0)},
            {.inputs = {{.shape = {0}}}, .attributes = Attributes(std::int64_t{2}, none, none)}};
  }
};

}  // namespace

std::vector<const OpRecord*> bin_ops() {
  return {&record<SearchSorted>(), &record<BinCount>(), &record<HistogramOp>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor searchsorted(const Operand& sorted, const Operand& values, bool right) {
  if (!values.is_scalar() || sorted.is_scalar()) {
    return call(record<ops::SearchSorted>(), {sorted, values}, Attributes(right));
  }
  const Tensor number =
      ops::converted(values, sorted.tensor().body("searchsorted", sorted.site()), "searchsorted");
  return call(record<ops::SearchSorted>(), {sorted, Operand(number, values.site())},
              Attributes(right));
}
Tensor bincount(const Operand& x, std::int64_t length) {
  return call(record<ops::BinCount>(), x, Attributes(length));
}
Tensor bincount(const Operand& x, const Operand& weights, std::int64_t length) {
  return call(record<ops::BinCount>(), {x, weights}, Attributes(length));
}
Histogram histogram(const Operand& x, std::int64_t bins, std::optional<double> low,
                    std::optional<double> high) {
  std::vector<Tensor> out = ops::run_many_now(
      record<ops::HistogramOp>(), {&x, 1},
      Attributes(bins, ops::to_attribute(low), ops::to_attribute(high)), x.site());
  return {.counts = std::move(out[0]), .edges = std::move(out[1])};
}

}  // namespace tenure
