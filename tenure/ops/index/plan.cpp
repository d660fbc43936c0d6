#include "tenure/ops/index/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/ops/shape/slice_range.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

const Tensor* tensor_in(const Index& index) { return std::get_if<Tensor>(&index.value()); }
bool is_ellipsis(const Index& index) { return std::holds_alternative<EllipsisTag>(index.value()); }
bool is_mask(const Tensor& tensor) { return tensor.dtype() == DType::boolean; }

/// How many axes of x an index stands for.
int axes_of(const Index& index, const char* op, Site site) {
  if (const Tensor* const tensor = tensor_in(index)) {
    const TensorBody& body = tensor->body(op, site);
    if (body.dtype != DType::boolean) return 1;
    if (body.shape.empty()) throw ShapeError(op, "a mask has at least one axis");
    return body.shape.size();
  }
  return std::holds_alternative<NewAxisTag>(index.value()) || is_ellipsis(index) ? 0 : 1;
}

/// Whether the axes of the tensors stay where the tensors stand. Numbers among them count as
/// tensors, as in NumPy.
class Adjacency {
 public:
  void choosing(int place) {
    if (state_ == State::none) place_ = place;
    state_ = state_ <= State::within ? State::within : State::apart;
  }
  void other() {
    if (state_ == State::within) state_ = State::behind;
  }
  int place() const { return state_ == State::apart ? 0 : place_; }

 private:
  enum class State { none, within, behind, apart };
  State state_ = State::none;
  int place_ = 0;
};

}  // namespace

IndexPlan::IndexPlan(const Shape& shape, std::span<const Index> indices, const char* op,
                     Site site) {
  int given = 0;
  for (const Index& index : indices) given += axes_of(index, op, site);
  const int rank = shape.size();
  if (given > rank) {
    throw IndexError(op, fmt::format("{} indices for a tensor of rank {}", given, rank), given,
                     rank);
  }
  if (std::count_if(indices.begin(), indices.end(), is_ellipsis) > 1) {
    throw ValueError(fmt::format("{}: there is more than one ellipsis", op));
  }

  Adjacency adjacency;
  const auto add_rest = [&] {
    for (int i = given; i < rank; ++i) {
      const std::int64_t n = shape[starts.size()];
      add_axis(0, n, 1, n);
    }
    given = rank;
  };
  for (const Index& index : indices) {
    const int axis = starts.size();
    const Tensor* const tensor = tensor_in(index);
    if (const auto* const number = std::get_if<std::int64_t>(&index.value())) {
      const std::int64_t n = shape[axis];
      if (*number < -n || *number >= n) {
        throw IndexError(op,
                         fmt::format("index {} is outside axis {} of size {}", *number, axis, n),
                         *number, n);
      }
      adjacency.choosing(view_shape.size());
      add_axis(*number < 0 ? *number + n : *number, kDropped, 1, n);
    } else if (tensor != nullptr) {
      adjacency.choosing(view_shape.size());
      if (is_mask(*tensor)) {
        add_mask(shape, *tensor, indices.size() == 1, op, site);
      } else {
        tensors.push_back(*tensor);
        axes.push_back(view_shape.size());
        add_axis(0, shape[axis], 1, shape[axis]);
      }
    } else {
      adjacency.other();
      if (const auto* const slice = std::get_if<Slice>(&index.value())) {
        const SliceRange range =
            slice_range(slice_position(slice->start), slice_position(slice->stop), slice->step,
                        shape[axis], op);
        // A step that is never taken may be too large to multiply with.
        add_axis(range.count == 0 ? 0 : range.start, range.count, range.count < 2 ? 1 : slice->step,
                 shape[axis]);
      } else if (is_ellipsis(index)) {
        add_rest();
      } else {
        new_axes.push_back(view_shape.size());
        view_shape.push_back(1);
        is_whole = false;
      }
    }
  }
  add_rest();
  place = adjacency.place();
}

void IndexPlan::add_axis(std::int64_t start, std::int64_t count, std::int64_t step,
                         std::int64_t size) {
  starts.push_back(start);
  counts.push_back(count);
  steps.push_back(step);
  if (count != kDropped) view_shape.push_back(count);
  is_whole = is_whole && count == size && step == 1;
}

void IndexPlan::add_mask(const Shape& shape, const Tensor& given, bool alone, const char* op,
                         Site site) {
  const Shape& own = given.shape();
  const int first = starts.size();
  for (int i = 0; i < own.size(); ++i) {
    if (own[i] != shape[first + i]) {
      throw ShapeError(op,
                       fmt::format("a mask of shape {} does not fit axes {} to {} of shape {}",
                                   to_string(own), first, first + own.size() - 1, to_string(shape)),
                       {own.to_vector(), shape.to_vector()});
    }
    axes.push_back(view_shape.size());
    add_axis(0, own[i], 1, own[i]);
  }
  if (alone && own.size() == shape.size()) {
    mask = given;
    return;
  }
  choose_nonzero(given, site);
}

void IndexPlan::choose_nonzero(const Tensor& given, Site site) {
  const Tensor places = nonzero(Operand(given, site));
  for (int i = 0; i < given.rank(); ++i) tensors.push_back(select(Operand(places, site), 1, i));
}

void IndexPlan::resolve_mask(Site site) {
  if (mask) choose_nonzero(*mask, site);
  mask.reset();
}

Shape IndexPlan::chosen(const char* op) const {
  Shape shape;
  for (const Tensor& tensor : tensors) shape = broadcast(shape, tensor.shape(), op);
  return shape;
}

Axes IndexPlan::others() const {
  Axes result;
  for (int i = 0; i < view_shape.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) result.push_back(i);
  }
  return result;
}

}  // namespace tenure::ops
