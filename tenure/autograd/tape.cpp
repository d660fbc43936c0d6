#include "tenure/autograd/tape.h"

#include <fmt/format.h>

#include <utility>

#include "tenure/autograd/function.h"
#include "tenure/autograd/late.h"
#include "tenure/autograd/state.h"
#include "tenure/graph/ir/variable_state.h"
#include "tenure/graph/trace/state.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/size_ops.h"
#include "tenure/tensor/share.h"

namespace tenure {

using autograd::kNoValue;
using autograd::TapeState;
using autograd::Value;

namespace {

std::string describe(const Tensor& tensor) {
  const std::string name = tensor.name();
  return fmt::format("tensor {}{}, made by {} at {}", tensor.id(),
                     name.empty() ? "" : " \"" + name + "\"", tensor.op(),
                     to_string(tensor.created()));
}

std::string describe(const Variable& variable) {
  return fmt::format("variable \"{}\"", variable.state()->path());
}

template <class T>
void require_float(const T& what, const char* user, Site site) {
  if (is_floating(what.dtype())) return;
  DTypeError error(user, fmt::format("{} is {}; only floats have gradients", describe(what),
                                     name_of(what.dtype())));
  mem::name_call(error, user, site);
  throw error;
}

void require_same(const Tensor& gradient, const Tensor& target) {
  if (gradient.dtype() != target.dtype()) {
    throw DTypeError("gradient", fmt::format("the output gradient is {}, the target {}",
                                             name_of(gradient.dtype()), name_of(target.dtype())));
  }
  if (!autograd::may_be_equal(gradient.shape(), target.shape())) {
    throw ShapeError("gradient",
                     fmt::format("the output gradient has shape {}, the target {}",
                                 to_string(gradient.shape()), to_string(target.shape())),
                     {gradient.shape().to_vector(), target.shape().to_vector()});
  }
}

/// The given gradient of a target, which a run holds to shapes that are known only then.
Tensor as_seed(const Tensor& given, const Tensor& target, Site site) {
  require_same(given, target);
  if (given.shape().is_known() && target.shape().is_known()) return given;
  const auto held = [](const std::vector<Tensor>& known) {
    const Shape shape = ops::outlined(known[1].shape());
    if (known[0].shape() == shape) return std::vector{known[0]};
    throw ShapeError("gradient",
                     fmt::format("the output gradient has shape {}, the target {}",
                                 to_string(known[0].shape()), to_string(shape)),
                     {known[0].shape().to_vector(), shape.to_vector()});
  };
  const Tensor outline = ops::outline(Operand(target, site));
  return std::move(ops::with_sizes("gradient", {given, outline}, held, site).front());
}

/// What gradients are asked by: a tensor or a variable.
struct Source {
  Value value = kNoValue;
  const Tensor* tensor = nullptr;
  const Variable* variable = nullptr;

  std::string text() const { return tensor != nullptr ? describe(*tensor) : describe(*variable); }
  DType dtype() const { return tensor != nullptr ? tensor->dtype() : variable->dtype(); }
  const Shape& shape() const { return tensor != nullptr ? tensor->shape() : variable->shape(); }
  Device device() const { return tensor != nullptr ? tensor->device() : variable->device(); }
};

/// A tensor of the caller's own with the gradient's elements, contiguous.
Tensor handed_out(Tensor gradient, Site site) {
  TensorBody& body = gradient.body("gradient", site);
  if (body.symbol() != nullptr) return gradient;
  if (!body.contiguous) return clone(Operand(std::move(gradient), site));
  const Pin pin(body, "gradient", site);
  if (!body.sole_handle() || body.kind() == HolderKind::tape) {
    // Somebody else's handle: disposing theirs or ours must not end both. Tapes around know it too.
    Tensor own = share(gradient, "gradient", site, HolderKind::view);
    for (auto* tape = static_cast<TapeState*>(ops::current_tape()); tape != nullptr;
         tape = tape->next()) {
      tape->alias(body.id(), own.id());
    }
    return own;
  }
  if (!pin.storage()->is_shared()) {
    pin.storage()->set_category(mem::this_thread(), Category::gradient);
  }
  return gradient;
}

/// What was computed of numbers alone, as a symbol of the graph that the target is of: there it can
/// be fetched like all else.
Tensor in_graph_of(const Tensor& target, Tensor gradient, Site site) {
  if (gradient.is_symbolic(site)) return gradient;
  const auto symbol = graph::look_up(target);
  if (!symbol || symbol->graph == nullptr || !symbol->graph->is_graph()) return gradient;
  return symbol->graph->constant(gradient, site);
}

Tensor zeros_of(const Source& source, Site site) {
  if (source.tensor != nullptr) return zeros_like(*source.tensor, std::nullopt, site);
  const DeviceScope device(source.device());
  return zeros(source.shape(), source.dtype(), site);
}

}  // namespace

GradientTape::GradientTape(Site site) : GradientTape(Options{}, site) {}

GradientTape::GradientTape(const Options& options, Site site)
    : state_(std::make_shared<TapeState>(options.persistent, options.watch_variables, site)) {
  TapeState::begin(state_);
}

GradientTape::~GradientTape() { TapeState::end(state_); }

void GradientTape::watch(const Tensor& tensor, Site site) {
  static_cast<void>(tensor.body("watch", site));
  require_float(tensor, "watch", site);
  state_->watch(tensor);
}

void GradientTape::watch(const std::vector<Tensor>& tensors, Site site) {
  for (const Tensor& tensor : tensors) watch(tensor, site);
}

void GradientTape::watch(const Variable& variable, Site site) {
  mem::in_call("watch", site, [&] {
    require_float(variable, "watch", site);
    state_->watch_variable(variable.state()->number);
  });
}

void GradientTape::require_usable(const Tensor& target, Site site) const {
  static_cast<void>(target.body("gradient", site));
  require_float(target, "gradient", site);
  if (is_used_) {
    throw GradientError(
        fmt::format("the tape made at {} was used up by gradient() at {}; make it persistent to "
                    "use it again",
                    to_string(state_->site), to_string(used_)),
        site);
  }
}

void GradientTape::use_up(Site site) {
  if (state_->persistent) return;
  is_used_ = true;
  used_ = site;
  state_->pause();  // for good
}

struct GradientTape::Sources {
  std::vector<Source> list;
};

std::vector<Tensor> GradientTape::go_back(const Tensor& target, const Sources& sources,
                                          const GradientOptions& options, Site site) {
  const Tensor& given = options.output_gradient;
  if (given.defined()) mem::in_call("gradient", site, [&] { require_same(given, target); });
  require_usable(target, site);
  if (options.unconnected == Unconnected::error) require_connected(target, sources, site);
  const Value from = state_->find(target);
  const bool leaves_out = options.unconnected == Unconnected::none;
  const std::vector<bool> reached =
      leaves_out ? state_->reached_from(from) : std::vector<bool>();  // before that is forgotten
  std::vector<Value> values;
  for (const Source& source : sources.list) values.push_back(source.value);
  state_->require_unwritten(from, values, site);
  use_up(site);
  const Pause pause(state_);
  const Tensor seed =
      given.defined() ? as_seed(given, target, site) : ones_like(target, std::nullopt, site);
  std::vector<Tensor> gradients =
      state_->go_back({&from, 1}, {&seed, 1}, values, state_->persistent);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    Tensor gradient = std::move(gradients[i]);
    if (leaves_out && (values[i] == kNoValue || !reached[values[i]])) continue;
    gradient = gradient.defined() ? handed_out(std::move(gradient), site)
                                  : zeros_of(sources.list[i], site);
    gradients[i] = in_graph_of(target, std::move(gradient), site);
  }
  return gradients;
}

Tensor GradientTape::jacobian(const Tensor& target, const Tensor& source, Unconnected unconnected,
                              Site site) {
  require_usable(target, site);
  static_cast<void>(source.body("jacobian", site));
  const Sources sources{{{.value = state_->find(source), .tensor = &source}}};
  if (unconnected == Unconnected::error) require_connected(target, sources, site);
  if (has_unknown(target.shape()) || has_unknown(source.shape())) {
    throw GradientError("a jacobian has to know the shapes of target and source", site);
  }
  const Value from = state_->find(target);
  state_->require_unwritten(from, {&sources.list[0].value, 1}, site);
  use_up(site);
  const Pause pause(state_);
  const std::int64_t n = target.size();
  const DeviceScope device(target.device());
  const Tensor units = eye(n, n, 0, target.dtype(), site);
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < n; ++i) {
    const Tensor seed = reshape(Operand(select(Operand(units, site), 0, i), site), target.shape());
    const bool keep = state_->persistent || i + 1 < n;
    rows.push_back(state_->go_back({&from, 1}, {&seed, 1}, {&sources.list[0].value, 1}, keep)[0]);
    if (!rows.back().defined()) rows.back() = zeros_of(sources.list[0], site);
  }
  Shape shape = target.shape();
  for (const std::int64_t size : source.shape()) shape.push_back(size);
  if (rows.empty()) {
    if (!state_->persistent) state_->forget();
    return in_graph_of(target, zeros(shape, source.dtype(), site), site);
  }
  Tensor all = reshape(Operand(stack(OperandList(std::move(rows), site)), site), shape);
  return in_graph_of(target, std::move(all), site);
}

void GradientTape::require_connected(const Tensor& target, const Sources& sources,
                                     Site site) const {
  const std::vector<bool> reached = state_->reached_from(state_->find(target));
  for (const Source& source : sources.list) {
    if (source.value != kNoValue && reached[source.value]) continue;
    throw GradientError(
        fmt::format("{} does not depend on {}, as far as the tape made at {} saw{}\n"
                    "  watch the source before it is used, or take zeros by Unconnected::zero",
                    describe(target), source.text(), to_string(state_->site),
                    source.value == kNoValue ? ": it did not watch that" : ""),
        site);
  }
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, const std::vector<Tensor>& sources,
                                           const GradientOptions& options, Site site) {
  Sources asked;
  for (const Tensor& source : sources) {
    static_cast<void>(source.body("gradient", site));
    asked.list.push_back({.value = state_->find(source), .tensor = &source});
  }
  return go_back(target, asked, options, site);
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target,
                                           const std::vector<Variable>& sources,
                                           const GradientOptions& options, Site site) {
  Sources asked;
  mem::in_call("gradient", site, [&] {
    for (const Variable& source : sources) {
      asked.list.push_back(
          {.value = state_->find_variable(source.state()->number), .variable = &source});
    }
  });
  return go_back(target, asked, options, site);
}

Tensor GradientTape::gradient(const Tensor& target, const Tensor& source,
                              const GradientOptions& options, Site site) {
  return std::move(gradient(target, std::vector{source}, options, site).front());
}

Tensor GradientTape::gradient(const Tensor& target, const Variable& source,
                              const GradientOptions& options, Site site) {
  return std::move(gradient(target, std::vector{source}, options, site).front());
}

GradientTape::Pause::Pause(std::shared_ptr<TapeState> state) : state_(std::move(state)) {
  state_->pause();
}

GradientTape::Pause::~Pause() { state_->resume(); }

}  // namespace tenure
