#include "tenure/graph/ir/variable_state.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/base/lasting.h"
#include "tenure/memory/observer.h"
#include "tenure/ops/core/backend.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/types.h"
#include "tenure/tensor/pending.h"

namespace tenure::graph {
namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

VariableState::VariableState(std::string name, bool trainable, Tensor value, Site site)
    : number(next_number()),
      name(std::move(name)),
      trainable(trainable),
      dtype(value.dtype()),
      shape(value.shape()),
      created(site),
      category(mem::this_thread().category == Category::activation ? Category::parameter
                                                                   : mem::this_thread().category),
      counted_(population(), site),
      device_(value.device()),
      value_(prepared(std::move(value))) {}

mem::Population& VariableState::population() {
  static constinit Lasting<mem::Population> variables;
  return variables.get([] { return new mem::Population("variable"); });
}

Tensor VariableState::prepared(Tensor value) const {
  TensorBody& body = value.body("variable");
  if (body.symbol() == nullptr) {
    Pin(body, "variable", body.created()).storage()->set_category(mem::this_thread(), category);
  }
  body.keep();
  body.set_kind(HolderKind::variable);
  try {
    value.set_name(name);
  } catch (const OutOfMemory&) {  // what it holds must not be lost for want of a name
  }
  return value;
}

std::string VariableState::path() const {
  const std::lock_guard lock(mutex_);
  return path_.empty() ? name : path_;
}

void VariableState::extend_path(std::string path) {
  const std::lock_guard lock(mutex_);
  const std::string& now = path_.empty() ? name : path_;
  const bool has_more = path.size() > now.size() && path[path.size() - now.size() - 1] == '/';
  if (!has_more || !path.ends_with(now)) return;
  path_.swap(path);
  // Recordings know what it holds by its place in the model; the tensor's own name stays.
  mem::ThreadContext& context = mem::this_thread();
  mem::Observer* const observer = mem::observer(context);
  const TensorBody* const held = value_.body_or_null();
  if (observer != nullptr && held != nullptr) observer->named(context, *held, path_);
}

Tensor VariableState::value() const {
  const std::lock_guard lock(mutex_);
  return value_;
}

VariableState::Held VariableState::held() const {
  const std::lock_guard lock(mutex_);
  return {.value = value_, .version = version_};
}

void VariableState::require_fit(DType type, const Shape& dims) const {
  const std::string user = fmt::format("variable \"{}\"", path());
  if (type != dtype) {
    throw DTypeError(user, fmt::format("holds {}, not {}", name_of(dtype), name_of(type)));
  }
  bool fits = dims.size() == shape.size();
  for (int d = 0; d < shape.size() && fits; ++d) fits = dims[d] == kUnknown || dims[d] == shape[d];
  if (!fits) {
    throw ShapeError(user,
                     fmt::format("has shape {}, not {}", to_string(shape), to_string(Sizes(dims))),
                     {shape.to_vector(), dims.to_vector()});
  }
}

void VariableState::replace(Tensor value, Site site) {
  require_fit(value.dtype(), value.shape());
  Tensor fresh = prepared(std::move(value));
  const std::lock_guard lock(mutex_);
  require_data("assign", site);
  ++version_;
  std::swap(value_, fresh);
}

void VariableState::require_data(const char* user, Site site) const {
  const TensorBody& body = value_.body(user, site);
  if (body.is_disposed() || body.symbol() != nullptr) throw_disposed(body, user, site);
}

bool VariableState::can_compute_in() const {
  TensorBody& body = value_.body("assign");
  Pin pin;
  return pin.try_take(body) &&
         can_take_over(body, *pin.storage(),
                       static_cast<std::size_t>(count(shape)) * size_of(dtype));
}

bool VariableState::copy_in(const Tensor& from, Site site) {
  const std::lock_guard lock(mutex_);
  require_data("assign", site);
  if (!can_compute_in()) return false;
  TensorBody& source = from.body("assign", site);
  const Pin in(source, "assign", site);
  const Pin out(value_.body("assign", site), "assign", site);
  ++version_;
  ops::backend(device()).copy(
      {.dtype = dtype, .shape = shape, .strides = contiguous_strides(shape), .data = out.data()},
      {.dtype = dtype, .shape = shape, .strides = source.strides, .data = in.data()});
  return true;
}

bool VariableState::update(const ops::OpRecord& op, const Operand& value) {
  const ops::OperandType other =
      value.is_scalar() ? ops::OperandType{.dtype = value.scalar().dtype(),
                                           .is_number = true,
                                           .kind = value.scalar().kind}
                        : ops::OperandType{.dtype = value.tensor().dtype(value.site())};
  const bool stays =
      ops::elementwise_types(op, std::array{ops::OperandType{.dtype = dtype}, other}).result ==
      dtype;
  if (!stays ||
      (!value.is_scalar() && !(broadcast(shape, value.tensor().shape(), op.name) == shape))) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  require_data("assign", value.site());
  if (!can_compute_in()) return false;
  ++version_;
  value_ = prepared(ops::call(op, Operand(std::move(value_), value.site()), value));
  return true;
}

Tensor VariableState::move_locked(Tensor value) {
  device_.store(value.device(), std::memory_order_relaxed);
  return replace_locked(std::move(value));
}

void VariableState::dispose(Site site) const {
  const std::lock_guard lock(mutex_);
  value_.dispose(site);
}

}  // namespace tenure::graph
