#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/index/attributes.h"
#include "tenure/ops/index/gradients.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/index/places.h"
#include "tenure/ops/index/plan.h"
#include "tenure/ops/index/records.h"

namespace tenure::ops {
namespace {

struct IndexingOp {
  static constexpr auto family = "indexing";
  static constexpr auto types = kAllTypes;
};

/// Where a place of the region lies in the whole tensor.
Dims in_whole(const Dims& place, const Attributes& a) {
  Dims whole;
  int axis = 0;
  for (int i = 0; i < a.dims(IndexPartAttributes::starts).size(); ++i) {
    const bool dropped = a.dims(IndexPartAttributes::counts)[i] == kDropped;
    whole.push_back(a.dims(IndexPartAttributes::starts)[i] +
                    (dropped ? 0 : place[axis++] * a.dims(IndexPartAttributes::steps)[i]));
  }
  return whole;
}

struct IndexView : IndexingOp {
  static constexpr auto name = "index";
  static constexpr GradientRule gradient = reads_nothing(gradients::index_view);
  static constexpr auto signature = "index(x, {numbers, slices, new axes, ellipsis})";
  static constexpr auto doc =
      "NumPy's x[...]; with tensors of indices or masks by take, index_gather or mask_select";
  static constexpr auto memory = ops::view();
  static std::optional<ViewSpec> view(const Kernel& k) {
    ViewSpec spec = region(k.in[0].shape, k.in[0].strides, k.attributes);
    for (const std::int64_t axis : k.attributes.dims(IndexPartAttributes::axes)) {
      spec.shape.insert(static_cast<int>(axis), 1);
      spec.strides.insert(static_cast<int>(axis), 1);
    }
    return spec;
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Dims& new_axes = a.dims(IndexPartAttributes::axes);
    Shape shape = region(in[0].shape, contiguous_strides(in[0].shape), a).shape;
    for (const std::int64_t axis : new_axes) shape.insert(static_cast<int>(axis), 1);
    return {make_reference(shape, [&](Dims place) {
      for (int i = new_axes.size() - 1; i >= 0; --i) place.erase(static_cast<int>(new_axes[i]));
      return at(in[0], in_whole(place, a));
    })};
  }
  static Sample sample(const Shape& shape, std::span<const Index> indices) {
    const IndexPlan plan(shape, indices, name, Site::current());
    return {.inputs = {{.shape = shape}},
            .attributes = Attributes(plan.starts, plan.counts, plan.steps, plan.new_axes)};
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    const auto add = [&](const Shape& shape, const IndexList& list) {
      samples.push_back(sample(shape, list.items()));
    };
    add({4, 5, 6}, {1, Slice{1, -1}, Slice{.step = -2}});
    add({4, 5, 6}, {NewAxis, Ellipsis, -1, NewAxis});
    add({3}, {Slice{2, 1}});
    add({2, 3}, {1, 2});
    add({}, {NewAxis});
    return samples;
  }
};

/// Calls `f(place, whole)` for every place of the result [chosen axes.., other axes..], with where
/// it lies in a tensor of `shape`. Returns the shape of the result.
template <class F>
Shape for_each_chosen(const Shape& shape, std::span<const Reference> indices, const Axes& axes,
                      const F& f) {
  Shape chosen;
  for (const Reference& index : indices) chosen = broadcast(chosen, index.shape, "index");
  Shape result = chosen;
  Axes others;
  for (int i = 0; i < shape.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) != axes.end()) continue;
    others.push_back(i);
    result.push_back(shape[i]);
  }
  for_each_index(result, [&](const Dims& place) {
    Dims whole = shape;
    for (int i = 0; i < others.size(); ++i) {
      whole[static_cast<int>(others[i])] = place[chosen.size() + i];
    }
    for (int i = 0; i < axes.size(); ++i) {
      const Reference& index = indices[static_cast<std::size_t>(i)];
      Dims own;
      const int lead = chosen.size() - index.shape.size();
      for (int j = 0; j < index.shape.size(); ++j) {
        own.push_back(index.shape[j] == 1 ? 0 : place[lead + j]);
      }
      const int axis = static_cast<int>(axes[i]);
      const auto value = static_cast<std::int64_t>(at(index, own));
      whole[axis] = value < 0 ? value + shape[axis] : value;
    }
    f(place, whole);
  });
  return result;
}

/// The inputs from `first` on are indices of the first axes of `shape`.
std::vector<IndexBound> bounds_of(const Kernel& k, int first, const Shape& shape) {
  std::vector<IndexBound> bounds;
  for (int i = 0; first + i < static_cast<int>(k.in.size()); ++i) {
    bounds.push_back(index_of_axis(first + i, shape[i]));
  }
  return bounds;
}

struct IndexGather : IndexingOp {
  static constexpr auto name = "index_gather";
  static constexpr GradientRule gradient{.needs = {{{.inputs = ~1u}}},
                                         .run = gradients::index_gather};
  static constexpr auto signature = "index_gather(x, indices..., axes)";
  static constexpr auto doc =
      "the elements that tensors of indices choose along several axes, whose common axes come "
      "first";
  static constexpr auto memory = allocates();
  static Specs infer(const Kernel& k) {
    const View x = axes_first(k.in[0], k.attributes.dims(IndexGatherAttributes::axes));
    return {{x.dtype, IndexViews(k.in.subspan(1), k.op).chosen_from(x.shape)}};
  }
  static std::vector<IndexBound> index_bounds(const Kernel& k) {
    return bounds_of(k, 1,
                     axes_first(k.in[0], k.attributes.dims(IndexGatherAttributes::axes)).shape);
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    Reference out;
    out.shape = for_each_chosen(
        in[0].shape, std::span(in).subspan(1), a.dims(IndexGatherAttributes::axes),
        [&](const Dims&, const Dims& whole) { out.values.push_back(at(in[0], whole)); });
    return {out};
  }
  static std::vector<Sample> samples() {
    const Sample::Input rows{.shape = {2, 1}, .dtype = int64, .values = {2, -3}};
    const Sample::Input columns{.shape = {3}, .dtype = int32, .values = {0, 3, -1}};
    const Sample::Input none{.shape = {0}, .dtype = int64};
    return {
        {.inputs = {{.shape = {3, 4}}, rows, columns}, .attributes = Attributes(Dims{0, 1})},
        {.inputs = {{.shape = {3, 35, 4}}, rows, columns}, .attributes = Attributes(Dims{0, 2})},
        {.inputs = {{.shape = {2, 4, 5}}, columns}, .attributes = Attributes(Dims{1})},
        {.inputs = {{.shape = {3, 4}}, none, none}, .attributes = Attributes(Dims{0, 1})}};
  }
};

/// index_update and index_add.
template <class Op, bool add>
struct IndexPut : IndexingOp {
  static constexpr auto memory = reuses(1);
  static Specs infer(const Kernel& k) {
    check_same_type(k.in[0], k.in[1], k.op);
    const Shape wanted =
        IndexViews(k.in.subspan(2), k.op).chosen_from(part_of(k.in[0], k.attributes).shape);
    if (broadcast(k.in[1].shape, wanted, k.op) != wanted) {
      throw ShapeError(k.op,
                       fmt::format("values of shape {} do not fit {} places",
                                   to_string(k.in[1].shape), to_string(wanted)),
                       {k.in[1].shape.to_vector(), wanted.to_vector()});
    }
    return {{k.in[0].dtype, k.in[0].shape}};
  }
  static std::vector<IndexBound> index_bounds(const Kernel& k) {
    return bounds_of(k, 2, part_of(k.in[0], k.attributes).shape);
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    Reference out = in[0];
    const Shape part = region(out.shape, contiguous_strides(out.shape), a).shape;
    const Reference& values = in[1];
    for_each_chosen(part, std::span(in).subspan(2), a.dims(IndexPartAttributes::axes),
                    [&](const Dims& place, const Dims& in_part) {
                      Dims own;
                      const int lead = place.size() - values.shape.size();
                      for (int j = 0; j < values.shape.size(); ++j) {
                        own.push_back(values.shape[j] == 1 ? 0 : place[lead + j]);
                      }
                      long double& element = out.values[flat(out.shape, in_whole(in_part, a))];
                      element = (add ? element : 0) + at(values, own);
                    });
    return {out};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, const IndexList& basic, const Shape& values,
                           const Axes& axes, const std::vector<Sample::Input>& indices) {
      const IndexPlan plan(shape, basic.items(), Op::name, Site::current());
      // Positive, so that sums do not cancel.
      Sample made{.inputs = {{.shape = shape, .low = 1}, {.shape = values, .low = 1}},
                  .attributes = Attributes(plan.starts, plan.counts, plan.steps, axes)};
      made.inputs.insert(made.inputs.end(), indices.begin(), indices.end());
      return made;
    };
    const Sample::Input rows{.shape = {2, 1}, .dtype = int64, .values = {2, -3}};
    const Sample::Input columns{.shape = {3}, .dtype = int32, .values = {0, 3, 0}};
    const Sample::Input none{.shape = {0}, .dtype = int64};
    return {sample({4, 40}, {Slice{1, 3}}, {40}, {}, {}),
            sample({4, 40}, {2, Slice{.step = -3}}, {}, {}, {}),
            sample({3, 4}, {Slice{1, 1}}, {1, 4}, {}, {}),
            sample({3, 4}, {}, {2, 3}, {0, 1}, {rows, columns}),
            sample({2, 4, 5}, {Ellipsis, Slice{.step = 2}}, {1, 2, 3}, {1}, {columns}),
            sample({2, 4}, {}, {1}, {0}, {none})};
  }
};

struct IndexUpdate : IndexPut<IndexUpdate, false> {
  static constexpr auto name = "index_update";
  static constexpr GradientRule gradient{.needs = {{{.inputs = ~3u}, {.inputs = ~3u}}},
                                         .run = gradients::index_update};
  static constexpr auto signature = "index_update(x, indices, values)";
  static constexpr auto doc = "x with other values in the places of index(x, indices)";
};

struct IndexAdd : IndexPut<IndexAdd, true> {
  static constexpr auto name = "index_add";
  static constexpr GradientRule gradient{.needs = {{{}, {.inputs = ~3u}}},
                                         .run = gradients::index_add};
  static constexpr auto signature = "index_add(x, indices, values)";
  static constexpr auto doc = "x with values added to the places of index(x, indices)";
  static constexpr auto ulp = 2.0;  // of a sum of several values
};

}  // namespace

const OpRecord& index_view_op() { return record<IndexView>(); }
const OpRecord& index_gather_op() { return record<IndexGather>(); }
const OpRecord& index_update_op() { return record<IndexUpdate>(); }
const OpRecord& index_add_op() { return record<IndexAdd>(); }

std::vector<const OpRecord*> index_ops() {
  return {&index_view_op(), &index_gather_op(), &index_update_op(), &index_add_op()};
}

}  // namespace tenure::ops
