#include "tenure/ops/core/loop.h"

#include <fmt/format.h>

namespace tenure::ops {

double Loop::cost() const {
  double cost = 0;
  for (const LoopStep& step : steps) cost += step.op == nullptr ? 0 : step.op->elementwise->cost;
  return cost;
}

std::size_t Loop::bytes() const {
  return in_types.capacity() * sizeof(DType) + steps.capacity() * sizeof(LoopStep);
}

Loop loop_of(const OpRecord& op, const ElementwiseTypes& types) {
  const int arity = op.elementwise->arity;
  Loop loop;
  LoopStep step{.op = &op, .compute = types.compute, .out_type = types.body_out};
  for (int k = 0; k < arity; ++k) {
    loop.in_types.push_back(types.in[static_cast<std::size_t>(k)]);
    step.in[static_cast<std::size_t>(k)] = k;
  }
  loop.steps.push_back(step);
  if (types.result != types.body_out) {
    loop.steps.push_back({.in = {arity}, .out_type = types.result});
  }
  return loop;
}

std::string to_string(const Loop& loop) {
  std::string text;
  for (const DType type : loop.in_types) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name_of(type));
  }
  std::size_t number = loop.in_types.size();
  for (const LoopStep& step : loop.steps) {
    text += fmt::format("{} {} = {}(", number == loop.in_types.size() ? ":" : ";", number,
                        step.op == nullptr ? name_of(step.out_type) : step.op->name);
    for (int k = 0; k < step.arity(); ++k) {
      text += fmt::format("{}{}", k == 0 ? "" : ", ", step.in[static_cast<std::size_t>(k)]);
    }
    text += ')';
    if (step.op != nullptr) text += fmt::format(" in {}", name_of(step.compute));
    ++number;
  }
  return text;
}

}  // namespace tenure::ops
