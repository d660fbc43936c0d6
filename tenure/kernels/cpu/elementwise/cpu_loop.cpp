#include "tenure/kernels/cpu/elementwise/cpu_loop.h"

#include <algorithm>

#include "tenure/base/error.h"

namespace tenure::kernels {
namespace {

/// One op that reads the inputs in their order, and at most a conversion of its result.
bool is_single(const Fused& fused) {
  const FusedStep& first = fused.steps.front();
  if (first.body == nullptr || fused.steps.size() > 2) return false;
  if (fused.steps.size() == 2 && fused.steps[1].body != nullptr) return false;
  const auto arity = static_cast<std::size_t>(first.arity);
  if (fused.in_types.size() != arity) return false;
  for (std::size_t i = 0; i < arity; ++i) {
    if (first.in[i] != static_cast<int>(i)) return false;
  }
  return true;
}

}  // namespace

CpuLoop::CpuLoop(Fused fused) : is_single_(is_single(fused)), fused_(std::move(fused)) {
  few_ = static_cast<std::size_t>(kWorkPerThread / std::max(fused_.cost, 1e-3));
  const FusedStep& first = fused_.steps.front();
  if (is_single_ && fused_.steps.size() == 1) {
    body_ = first.body.loop;
  } else {
    few_ = std::min(few_, kTile);
  }
  if (!is_single_) return;
  single_ = {.body = first.body, .out_type = first.out_type, .cost = fused_.cost};
  std::copy(fused_.in_types.begin(), fused_.in_types.end(), single_.in_types.begin());
}

void CpuLoop::run(const ops::LoopInputs& in, const View& out) const {
  if (is_single_) return run_elementwise(single_, in.views, out);
  run_fused(fused_, in.views, out);
}

void CpuLoop::run_flat(const void* const* in, std::uint32_t /*numbers*/, void* out,
                       std::size_t n) const {
  if (n > few_) return run_many(in, out, n);
  if (body_ != nullptr) return body_(in, out, n);
  run_fused_tile(fused_, in, out, n);
}

void CpuLoop::run_many(const void* const* in, void* out, std::size_t n) const {
  const Shape shape{static_cast<std::int64_t>(n)};
  const auto view = [&](DType dtype, void* data) {
    return View{.dtype = dtype, .shape = shape, .strides = Strides{1}, .data = data};
  };
  std::array<View, kMaxFusedInputs> views;
  const std::size_t inputs = fused_.in_types.size();
  for (std::size_t i = 0; i < inputs; ++i) {
    views[i] = view(fused_.in_types[i], const_cast<void*>(in[i]));
  }
  run({.views = {views.data(), inputs}}, view(fused_.steps.back().out_type, out));
}

std::size_t CpuLoop::bytes() const {
  const auto room = []<class T>(const std::vector<T>& list) { return list.capacity() * sizeof(T); };
  return sizeof(*this) + room(fused_.in_types) + room(fused_.steps) + room(fused_.tiles) +
         room(fused_.types);
}

std::shared_ptr<const ops::PreparedLoop> prepare_loop(const ops::Loop& loop, FindBody find) {
  Fused fused{.in_types = loop.in_types, .cost = loop.cost()};
  fused.steps.reserve(loop.steps.size());
  for (const ops::LoopStep& step : loop.steps) {
    const Body body = step.op == nullptr ? Body() : find(*step.op, step.compute);
    internal_check(step.op == nullptr || body.loop != nullptr,
                   "an op is computed in a type that it has a body for");
    fused.steps.push_back(
        {.body = body, .arity = step.arity(), .in = step.in, .out_type = step.out_type});
  }
  if (!prepare(fused)) return nullptr;
  return std::make_shared<const CpuLoop>(std::move(fused));
}

}  // namespace tenure::kernels
