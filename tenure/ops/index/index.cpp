#include <algorithm>

#include "tenure/ops/core/named.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/index/plan.h"
#include "tenure/ops/index/records.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/size_ops.h"

namespace tenure::ops {
namespace {

/// The order of axes that moves `chosen` leading ones behind `place` of `others`.
Axes placed_order(int chosen, int others, int place) {
  Axes order;
  for (int i = 0; i < place; ++i) order.push_back(chosen + i);
  for (int i = 0; i < chosen; ++i) order.push_back(i);
  for (int i = place; i < others; ++i) order.push_back(chosen + i);
  return order;
}

/// Without the first axes of size 1 that are too many: assignments drop them, as in NumPy.
Tensor without_surplus(const Tensor& values, int rank, Site site) {
  Axes surplus;
  for (int i = 0; i < values.rank() - rank && values.dim(i) == 1; ++i) surplus.push_back(i);
  return surplus.empty() ? values : squeeze(Operand(values, site), surplus);
}

/// `values`, which broadcast to the shape of index(), as index_update_op() takes them.
Tensor as_put_values(const Tensor& given, const IndexPlan& plan, const char* op, Site site) {
  if (given.rank() == 0) return given;
  const Shape chosen = plan.chosen(op);
  const Axes others = plan.others();
  Tensor values = without_surplus(given, chosen.size() + others.size(), site);
  if (plan.place == 0 && plan.new_axes.empty()) return values;
  Shape front = chosen;
  for (const std::int64_t axis : others) front.push_back(plan.view_shape[static_cast<int>(axis)]);
  const Axes order = placed_order(chosen.size(), others.size(), plan.place);
  Shape shape;
  Axes back = order;
  for (int i = 0; i < order.size(); ++i) {
    shape.push_back(front[static_cast<int>(order[i])]);
    back[static_cast<int>(order[i])] = i;
  }
  Tensor result = permute(Operand(broadcast_to(Operand(values, site), shape), site), back);
  Axes extra;
  for (int i = 0; i < others.size(); ++i) {
    const bool is_new =
        std::find(plan.new_axes.begin(), plan.new_axes.end(), others[i]) != plan.new_axes.end();
    if (is_new) extra.push_back(chosen.size() + i);
  }
  return extra.empty() ? result : squeeze(Operand(result, site), extra);
}

/// What to index with when sizes are known: the tensors among the indices, and what sizes are
/// compared with.
struct Waiting {
  explicit Waiting(std::span<const Index> indices) : items(indices.begin(), indices.end()) {
    for (const Index& index : items) {
      if (const auto* const tensor = std::get_if<Tensor>(&index.value())) {
        tensors.push_back(*tensor);
      } else if (const auto* const number = std::get_if<std::int64_t>(&index.value())) {
        add(*number);
      } else if (const auto* const slice = std::get_if<Slice>(&index.value())) {
        add(slice->start);
        add(slice->stop);
      }
    }
  }
  /// The indices with other tensors in the place of theirs.
  std::vector<Index> with(std::span<const Tensor> others) const {
    std::vector<Index> list;
    std::size_t next = 0;
    for (const Index& index : items) {
      const bool is_tensor = std::holds_alternative<Tensor>(index.value());
      list.push_back(is_tensor ? Index(others[next++]) : index);
    }
    return list;
  }

  std::vector<Index> items;
  std::vector<Tensor> tensors;
  Dims numbers;

 private:
  void add(std::optional<std::int64_t> number) {
    if (number && numbers.size() < kMaxRank) numbers.push_back(*number);
  }
};

/// Which indices mean what depends on sizes that are known only in a run.
bool is_open(const Shape& shape, std::span<const Index> indices) {
  return has_unknown(shape) || std::any_of(indices.begin(), indices.end(), [](const Index& index) {
           const auto* const tensor = std::get_if<Tensor>(&index.value());
           return tensor != nullptr && tensor->defined() && !tensor->shape().is_known();
         });
}

Tensor put(const OpRecord& op, const Operand& x, const IndexList& indices, const Operand& values,
           bool add) {
  return in_name_of(op.name, x.site(), [&] {
    const TensorBody& body = body_of(x, op.name);
    const bool waits = !values.is_scalar() && has_unknown_size(std::span(&values, 1));
    if (waits || is_open(body.shape, indices.items())) {
      const Waiting waiting(indices.items());
      const Tensor given = values.is_scalar() ? converted(values, body, op.name) : values.tensor();
      std::vector<Tensor> tensors{x.tensor(), given};
      tensors.insert(tensors.end(), waiting.tensors.begin(), waiting.tensors.end());
      const auto later = [&op, waiting, add, site = x.site()](const std::vector<Tensor>& known) {
        const std::vector<Index> list = waiting.with(std::span(known).subspan(2));
        return std::vector{put(op, {known[0], site}, list, {known[1], site}, add)};
      };
      Tensor result = std::move(
          with_sizes(op.name, tensors, later, x.site(), {.numbers = waiting.numbers}).front());
      x.consume();
      values.consume();
      return result;
    }
    IndexPlan plan(body.shape, indices.items(), op.name, x.site());
    const Tensor converted_values = converted(values, body, op.name);
    Tensor result;
    if (plan.mask && !add && converted_values.rank() == 0) {
      const Operand mask(*plan.mask, x.site());
      result = where(mask, Operand(converted_values, x.site()), x);
    } else {
      plan.resolve_mask(x.site());
      const Tensor placed = as_put_values(converted_values, plan, op.name, x.site());
      std::vector<Operand> operands{x, Operand(placed, x.site())};
      for (const Tensor& tensor : plan.tensors) operands.emplace_back(tensor, x.site());
      Axes axes;  // of the region, which has no new axes
      for (const std::int64_t axis : plan.axes) {
        axes.push_back(axis - std::count_if(plan.new_axes.begin(), plan.new_axes.end(),
                                            [&](std::int64_t other) { return other < axis; }));
      }
      result = call(op, operands, Attributes(plan.starts, plan.counts, plan.steps, axes));
    }
    values.consume();
    return result;
  });
}

Tensor gather_indexed(const Tensor& x, const IndexPlan& plan, Site site) {
  const Operand source(x, site);
  if (plan.mask) return mask_select(source, Operand(*plan.mask, site));
  if (plan.tensors.size() == 1 && plan.place == plan.axes[0]) {
    return take(source, Operand(plan.tensors[0], site), plan.place);
  }
  std::vector<Operand> operands{source};
  for (const Tensor& tensor : plan.tensors) operands.emplace_back(tensor, site);
  Tensor result = call(index_gather_op(), operands, Attributes(plan.axes));
  if (plan.place == 0) return result;
  const int others = plan.view_shape.size() - plan.axes.size();
  result = permute(Operand(result, site), placed_order(result.rank() - others, others, plan.place));
  result.body("index").set_kind(HolderKind::user);  // of data of its own
  return result;
}

}  // namespace
}  // namespace tenure::ops

namespace tenure {

Tensor index(const Operand& x, const IndexList& indices) {
  return ops::in_name_of("index", x.site(), [&] {
    const TensorBody& body = ops::body_of(x, "index");
    if (ops::is_open(body.shape, indices.items())) {
      const ops::Waiting waiting(indices.items());
      std::vector<Tensor> tensors{x.tensor()};
      tensors.insert(tensors.end(), waiting.tensors.begin(), waiting.tensors.end());
      const auto later = [waiting, site = x.site()](const std::vector<Tensor>& known) {
        return std::vector{index({known[0], site}, waiting.with(std::span(known).subspan(1)))};
      };
      Tensor result = std::move(
          ops::with_sizes("index", tensors, later, x.site(), {.numbers = waiting.numbers}).front());
      x.consume();
      return result;
    }
    const ops::IndexPlan plan(body.shape, indices.items(), "index", x.site());
    Tensor view = x.tensor();
    if (!plan.is_whole || plan.axes.empty()) {
      view = ops::call(ops::index_view_op(), {Operand(view, x.site())},
                       ops::Attributes(plan.starts, plan.counts, plan.steps, plan.new_axes));
    }
    if (!plan.axes.empty()) view = ops::gather_indexed(view, plan, x.site());
    x.consume();
    return view;
  });
}

Tensor index_update(const Operand& x, const IndexList& indices, const Operand& values) {
  return ops::put(ops::index_update_op(), x, indices, values, false);
}

Tensor index_add(const Operand& x, const IndexList& indices, const Operand& values) {
  return ops::put(ops::index_add_op(), x, indices, values, true);
}

}  // namespace tenure
