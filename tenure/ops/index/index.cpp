#include <algorithm>

#include "tenure/ops/elementwise.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/index/plan.h"
#include "tenure/ops/index/records.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/named.h"
#include "tenure/ops/shape_ops.h"

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
  const Tensor values = without_surplus(given, chosen.size() + others.size(), site);
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

Tensor put(const OpRecord& op, const Operand& x, const IndexList& indices, const Operand& values,
           bool add) {
  return in_name_of(op.name, x.site(), [&] {
    const TensorBody& body = body_of(x, op.name);
    IndexPlan plan(body.shape, indices.items(), op.name, x.site());
    const Tensor converted_values = converted(values, body.dtype, op.name);
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
