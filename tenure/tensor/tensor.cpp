#include "tenure/tensor/tensor.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "tenure/memory/accounts/name_path.h"
#include "tenure/memory/callers.h"
#include "tenure/memory/observer.h"
#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/threads/call.h"
#include "tenure/tensor/device_error.h"
#include "tenure/tensor/hand_out.h"
#include "tenure/tensor/host.h"
#include "tenure/tensor/pending.h"
#include "tenure/tensor/strided.h"

namespace tenure {
namespace {

std::string describe(const TensorBody& body) {
  const std::string name = body.name();
  return fmt::format("tensor {}{} ({}{}{})", body.id(), name.empty() ? "" : " \"" + name + "\"",
                     name_of(body.dtype), to_string(body.shape),
                     body.device() == cpu ? "" : " on " + name_of(body.device()));
}

std::string with_scope(const char* op, const TensorBody& body) {
  return body.path() == nullptr ? std::string(op)
                                : fmt::format("{} in scope {}", op, body.path()->text());
}

/// An element as another type, as cast() does it: integers take the nearest they have, and 0 for
/// NaN.
template <class T, class From>
T convert(From value) {
  if constexpr (NarrowFloat<From>) {
    return convert<T>(static_cast<float>(value));
  } else if constexpr (NarrowFloat<T>) {
    return round_to<T>(value);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<T> &&
                       !std::is_same_v<T, bool>) {
    using Limits = std::numeric_limits<T>;
    // The upper bound itself may not be a floating-point number; one past it is, and rounding the
    // bound gives it.
    constexpr From past = static_cast<From>(Limits::max()) + 1;
    if (std::isnan(value)) return 0;
    if (value < static_cast<From>(Limits::min())) return Limits::min();
    return value < past ? static_cast<T>(value) : Limits::max();
  } else {
    return static_cast<T>(value);
  }
}

/// Copies all elements of `body` in row-major order to `to`, converted.
template <class T>
void copy_elements(const TensorBody& body, const void* data, T* to) {
  visit_dtype(body.dtype, [&]<class From>(TypeTag<From>) {
    const auto* const from = static_cast<const From*>(data);
    for_each_offset(body.shape, body.strides,
                    [&](std::int64_t offset) { *to++ = convert<T>(from[offset]); });
  });
}

/// Room for `n` elements; a view that repeats few may have more than memory holds.
template <class T>
std::vector<T> vector_of(std::int64_t n) {
  const auto size = static_cast<std::size_t>(n);
  constexpr std::size_t kAddresses = std::size_t{1} << 47;  // no process has more
  try {
    if (size <= kAddresses) return std::vector<T>(size);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  mem::throw_out_of_memory(OutOfMemory::Cause::system, size * sizeof(T), nullptr);
}

}  // namespace

Tensor make_tensor(mem::ThreadContext& context, mem::Storage* storage, DType dtype,
                   const Shape& shape, const Strides& strides, std::int64_t offset, const char* op,
                   Site site, HolderKind kind) {
  void* slot = nullptr;
  try {
    slot = mem::allocate_tenant(context);
  } catch (...) {
    storage->release();
    throw;
  }
  auto* const body = new (slot)
      TensorBody({.context = context, .storage = storage, .op = op, .site = site, .kind = kind},
                 dtype, shape, strides, offset);
  if (storage->is_tracked()) [[unlikely]]
    body->tag_as_result();
  return Tensor::adopt(body);
}

Tensor make_symbolic(std::unique_ptr<Symbol> symbol, DType dtype, const Shape& shape,
                     const char* op, Site site, Device device) {
  mem::ThreadContext& context = mem::this_thread();
  void* const slot = mem::allocate_tenant(context);
  return Tensor::adopt(
      new (slot) TensorBody({.context = context, .storage = nullptr, .op = op, .site = site},
                            device, std::move(symbol), dtype, shape));
}

void PendingTensor::abandon() noexcept {
  mem::free_tenant(*context_, slot_);
  if (donor_ == nullptr) storage_->release();
}

void throw_disposed(const TensorBody& body, const char* user, Site site) {
  if (const Symbol* const symbol = body.symbol()) {
    SymbolError error(user, symbol->describe(), symbol->lack(), body.created(), site);
    mem::add_calls_of_maker(error, *symbol);
    throw error;
  }
  mem::ThreadContext& context = mem::this_thread();
  if (mem::Observer* const observer = mem::observer(context)) {
    observer->missed(context, body, user, site);
  }
  const char* const by = body.disposed_by();
  DisposedError error({.id = body.id(),
                       .tensor = describe(body),
                       .created_by = with_scope(body.op(), body),
                       .created = body.created(),
                       .disposed_by = by == nullptr ? "" : by,
                       .disposed = body.disposed(),
                       .used_by = user,
                       .used = site});
  if (const mem::Callers* const callers = mem::callers()) {
    const mem::Callers::OfTensor calls = callers->of(body.id());
    mem::add_calls(error, "calls that created it", calls.created);
    mem::add_calls(error, "calls that disposed it", calls.disposed);
    mem::add_calls_here(error, "calls that used it");
  }
  throw error;
}

std::int64_t Tensor::dim(int axis, Site site) const {
  const TensorBody& b = body("dim()", site);
  return mem::in_call("dim()", site, [&] {
    const int i = normalize_axis(axis, b.shape.size(), "dim()");
    if (!b.shape.is_known(i)) throw_unknown_size("dim()", site);
    return b.shape[i];
  });
}

Tensor& Tensor::set_name(const std::string& name, Site site) {
  body("set_name()", site).set_name(name);
  return *this;
}

std::string Tensor::scope(Site site) const {
  const mem::NamePath* const path = body("scope()", site).path();
  return path == nullptr ? std::string() : path->text();
}

void Tensor::dispose(Site site) const { body("dispose()", site).dispose("dispose()", site); }

bool Tensor::is_sole_holder(Site site) const {
  TensorBody& b = body("is_sole_holder()", site);
  Pin pin;
  return pin.try_take(b) &&
         can_take_over(b, *pin.storage(),
                       static_cast<std::size_t>(count(b.shape)) * size_of(b.dtype));
}

template <Element T>
T Tensor::item(Site site) const {
  TensorBody& b = body("item()", site);
  mem::in_call("item()", site, [&] {
    if (count(b.shape) == 1) return;
    throw ShapeError(
        "item()",
        fmt::format("shape {} has {} elements, not one", to_string(b.shape), count(b.shape)),
        {b.shape.to_vector()});
  });
  const Pin pin(b, "item()", site);
  const HostElements elements(pin);
  T value{};
  copy_elements(b, elements.data(), &value);
  return value;
}

template <Element T>
std::vector<T> Tensor::to_vector(Site site) const {
  TensorBody& b = body("to_vector()", site);
  const Pin pin(b, "to_vector()", site);
  auto values = mem::in_call("to_vector()", site, [&] { return vector_of<T>(count(b.shape)); });
  const HostElements elements(pin);
  if constexpr (std::is_same_v<T, bool>) {  // std::vector<bool> has no array to copy to
    std::size_t i = 0;
    visit_dtype(b.dtype, [&]<class From>(TypeTag<From>) {
      const auto* const from = static_cast<const From*>(elements.data());
      for_each_offset(b.shape, b.strides,
                      [&](std::int64_t o) { values[i++] = static_cast<bool>(from[o]); });
    });
  } else {
    copy_elements(b, elements.data(), values.data());
  }
  return values;
}

namespace {

/// Throws unless the elements are of this type and lie one after the other, in the host's memory.
void require_span(const TensorBody& b, DType wanted, const char* user) {
  if (b.dtype != wanted) {
    throw DTypeError(user,
                     fmt::format("the elements are {}, not {}", name_of(b.dtype), name_of(wanted)));
  }
  if (!b.contiguous && b.symbol() == nullptr) {
    throw ShapeError(user,
                     "the elements do not lie one after the other; keep the result of contiguous() "
                     "in a variable",
                     {b.shape.to_vector()});
  }
  if (b.device() != cpu && b.symbol() == nullptr) throw DeviceError::unreadable(user, b.device());
}

}  // namespace

void* Tensor::contiguous_data(DType wanted, Site site) const {
  TensorBody& b = body("span()", site);
  mem::in_call("span()", site, [&] { require_span(b, wanted, "span()"); });
  return hand_out(b, HandedOut::to_read, "span()", site);
}

void* Tensor::writable_data(DType wanted, Site site) const {
  TensorBody& b = body("mutable_span()", site);
  mem::in_call("mutable_span()", site, [&] { require_span(b, wanted, "mutable_span()"); });
  return hand_out(b, HandedOut::to_write, "mutable_span()", site);
}

#define TENURE_INSTANTIATE(dtype, T, name) \
  template T Tensor::item<T>(Site) const;  \
  template std::vector<T> Tensor::to_vector<T>(Site) const;
TENURE_ELEMENT_TYPES(TENURE_INSTANTIATE)
#undef TENURE_INSTANTIATE

}  // namespace tenure
