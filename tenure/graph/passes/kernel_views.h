#pragma once

#include <vector>

#include "tenure/graph/passes/unit.h"

namespace tenure::graph {

/// The kernel of a unit as it sees a call, without data and without the loops that joined it.
class KernelViews {
 public:
  explicit KernelViews(const Unit& unit) : node_(*unit.node) {
    const std::size_t before = unit.loop.inputs();
    const std::size_t after = unit.after.empty() ? 0 : unit.after.inputs() - 1;
    if (before > 0) in_.push_back(view_of(unit.made));
    for (std::size_t i = before; i < unit.in.size() - after; ++i) {
      in_.push_back(view_of(unit.in[i]));
    }
    for (const Layout& layout : unit.out) out_.push_back(view_of(layout));
    if (unit.after.empty()) return;
    const ops::Spec& own = node_.outputs[0];
    out_[0] = {.dtype = own.dtype,
               .shape = own.shape,
               .strides = contiguous_strides(own.shape),
               .data = nullptr};
  }
  ops::Kernel kernel() const {
    return {.op = node_.op->name,
            .in = in_,
            .out = out_,
            .attributes = node_.attribute_list(),
            .workspace = {}};
  }

 private:
  const Node& node_;
  std::vector<ops::View> in_;
  std::vector<ops::View> out_;
};

}  // namespace tenure::graph
