#include "tenure/ops/sort_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/index/gradients.h"
#include "tenure/ops/sort/axis.h"
#include "tenure/tensor/sizes.h"

namespace tenure::ops {
namespace {

struct SortingOp {
  static constexpr auto family = "sorting";
  static constexpr auto types = kAllTypes;
};

/// The order of the sorting ops: NaN is above all numbers.
bool below(long double a, long double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

/// Calls `f(first, places)` for every row along `axis`, where `places` are its elements' places in
/// sorted order and `first` is the index of its first element.
template <class F>
void for_each_sorted(const Reference& x, int axis, bool descending, const F& f) {
  Shape rows = x.shape;
  rows[axis] = 1;
  for_each_index(rows, [&](Dims first) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(x.shape[axis]));
    std::iota(places.begin(), places.end(), 0);
    const auto value = [&](std::int64_t i) {
      Dims index = first;
      index[axis] = i;
      return at(x, index);
    };
    std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) {
      return descending ? below(value(b), value(a)) : below(value(a), value(b));
    });
    f(first, places);
  });
}

/// The first k elements of every row in sorted order, and their places.
std::vector<Reference> sorted(const Reference& x, int axis, bool descending, std::int64_t k) {
  if (x.shape.empty()) return {x, {.shape = {}, .values = {0}}};
  Shape shape = x.shape;
  shape[axis] = k;
  const auto n = static_cast<std::size_t>(count(shape));
  Reference values{.shape = shape, .values = std::vector<long double>(n)};
  Reference indices = values;
  for_each_sorted(x, axis, descending, [&](Dims index, const auto& places) {
    for (std::int64_t i = 0; i < k; ++i) {
      index[axis] = i;
      const std::size_t to = flat(shape, index);
      index[axis] = places[static_cast<std::size_t>(i)];
      values.values[to] = at(x, index);
      indices.values[to] = index[axis];
    }
  });
  return {values, indices};
}

std::vector<Sample> sort_samples() {
  const auto sample = [](const Shape& shape, std::int64_t axis, bool descending) {
    return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(axis, descending)};
  };
  return {sample({5, 40}, -1, false), sample({300}, 0, true),    sample({6, 2, 3}, 0, false),
          sample({3, 5, 2}, 1, true), sample({4, 0}, -1, false), sample({0, 4}, -1, true),
          sample({}, -1, false),      sample({}, 0, true)};
}

struct Sort : SortingOp {
  static constexpr auto name = "sort";
  static constexpr GradientRule gradient = reads_input(gradients::sort);
  static constexpr auto signature = "sort(x, axis = -1, descending = false)";
  static constexpr auto doc = "sorted along an axis; NaN is greater than every number";
  static constexpr auto memory = reuses(1).with_workspace();
  static Specs infer(const Kernel& k) {
    sorted_axis(k, SortAttributes::axis);
    return {{k.in[0].dtype, k.in[0].shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const int axis = sorted_axis(a.integer(SortAttributes::axis), in[0].shape.size(), name);
    return {
        sorted(in[0], axis, a.flag(SortAttributes::descending), size_along(in[0].shape, axis))[0]};
  }
  static std::vector<Sample> samples() { return sort_samples(); }
};

struct Argsort : SortingOp {
  static constexpr auto name = "argsort";
  static constexpr auto signature = "argsort(x, axis = -1, descending = false)";
  static constexpr auto doc = "the places of the elements in sorted order along an axis";
  static constexpr auto memory = allocates().with_workspace();
  static Specs infer(const Kernel& k) {
    sorted_axis(k, SortAttributes::axis);
    return {{DType::int64, k.in[0].shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const int axis = sorted_axis(a.integer(SortAttributes::axis), in[0].shape.size(), name);
    return {
        sorted(in[0], axis, a.flag(SortAttributes::descending), size_along(in[0].shape, axis))[1]};
  }
  static std::vector<Sample> samples() { return sort_samples(); }
};

struct TopKOp : SortingOp {
  static constexpr auto name = "topk";
  static constexpr GradientRule gradient{.needs = {{output_data(1)}}, .run = gradients::topk};
  static constexpr auto signature = "topk(x, k, axis = -1, largest = true)";
  static constexpr auto doc =
      "the k largest or smallest elements along an axis, best first, and their places";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr int outputs = 2;
  static Specs infer(const Kernel& k) {
    const int axis = sorted_axis(k, TopKAttributes::axis);
    const std::int64_t kept = k.attributes.integer(TopKAttributes::size);
    Shape shape = k.in[0].shape;
    const std::int64_t size = size_along(shape, axis);
    if (kept < 0 || kept > size) {
      throw ValueError(
          fmt::format("topk: an axis of size {} has no {} largest elements", size, kept));
    }
    if (shape.empty() && kept == 0) {
      throw ValueError("topk: a tensor without axes has one element, which cannot be left out");
    }
    if (!shape.empty()) shape[axis] = kept;
    return {{k.in[0].dtype, shape}, {DType::int64, shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const int axis = sorted_axis(a.integer(TopKAttributes::axis), in[0].shape.size(), name);
    return sorted(in[0], axis, a.flag(TopKAttributes::largest), a.integer(TopKAttributes::size));
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t k, std::int64_t axis, bool largest) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(k, axis, largest)};
    };
    return {sample({3, 100}, 5, -1, true), sample({3, 100}, 90, 1, false),
            sample({7, 2, 3}, 3, 0, true), sample({4, 5}, 5, -1, false),
            sample({4, 5}, 0, 1, true),    sample({0, 5}, 2, 1, true),
            sample({}, 1, -1, true)};
  }
};

/// unique and unique_all.
template <bool all>
struct UniqueBase : SortingOp {
  static constexpr auto memory = allocates().with_workspace();
  static constexpr bool data_dependent = true;
  static Specs infer(const Kernel& k) {
    if (!all) return {{k.in[0].dtype, {kUnknown}}};
    return {{k.in[0].dtype, {kUnknown}}, {DType::int64, k.in[0].shape}, {DType::int64, {kUnknown}}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    const Reference x{.shape = {count(in[0].shape)}, .values = in[0].values};
    Reference values{.shape = {0}};
    Reference counts{.shape = {0}};
    Reference inverse = in[0];
    for_each_sorted(x, 0, false, [&](const Dims&, const auto& places) {
      for (const std::int64_t place : places) {
        const long double value = x.values[static_cast<std::size_t>(place)];
        if (values.values.empty() || below(values.values.back(), value)) {
          values.values.push_back(value);
          counts.values.push_back(0);
        }
        ++counts.values.back();
        inverse.values[static_cast<std::size_t>(place)] =
            static_cast<long double>(values.values.size() - 1);
      }
    });
    values.shape[0] = counts.shape[0] = static_cast<std::int64_t>(values.values.size());
    return all ? std::vector{values, inverse, counts} : std::vector{values};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {2, 3}, .values = {3, 1, 2, 1, 0, 3}}}},
            {.inputs = {{.shape = {200}, .low = -3, .high = 3}}},
            {.inputs = {{.shape = {}}}},
            {.inputs = {{.shape = {0, 2}}}}};
  }
};

struct UniqueOp : UniqueBase<false> {
  static constexpr auto name = "unique";
  static constexpr auto signature = "unique(x)";
  static constexpr auto doc = "the different elements in ascending order";
};

struct UniqueAll : UniqueBase<true> {
  static constexpr auto name = "unique_all";
  static constexpr auto signature = "unique_all(x)";
  static constexpr auto doc =
      "the different elements in ascending order, which of them each element is, and their counts";
  static constexpr int outputs = 3;
};

}  // namespace

std::vector<const OpRecord*> sorting_ops() {
  return {&record<Sort>(), &record<Argsort>(), &record<TopKOp>(), &record<UniqueOp>(),
          &record<UniqueAll>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;
using ops::run_many_now;

Tensor sort(const Operand& x, int axis, bool descending) {
  return call(record<ops::Sort>(), x, Attributes(std::int64_t{axis}, descending));
}
Tensor argsort(const Operand& x, int axis, bool descending) {
  return call(record<ops::Argsort>(), x, Attributes(std::int64_t{axis}, descending));
}
TopK topk(const Operand& x, std::int64_t k, int axis, bool largest) {
  std::vector<Tensor> out = run_many_now(record<ops::TopKOp>(), {&x, 1},
                                         Attributes(k, std::int64_t{axis}, largest), x.site());
  return {.values = std::move(out[0]), .indices = std::move(out[1])};
}
Tensor unique(const Operand& x) { return call(record<ops::UniqueOp>(), x); }
Unique unique_all(const Operand& x) {
  std::vector<Tensor> out =
      run_many_now(record<ops::UniqueAll>(), {&x, 1}, ops::kNoAttributes, x.site());
  return {.values = std::move(out[0]), .inverse = std::move(out[1]), .counts = std::move(out[2])};
}

}  // namespace tenure
