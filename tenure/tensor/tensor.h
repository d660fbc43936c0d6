#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/base/site.h"
#include "tenure/memory/holders/tenant.h"
#include "tenure/tensor/dtype.h"
#include "tenure/tensor/shape.h"
#include "tenure/tensor/sizes.h"
#include "tenure/tensor/symbol.h"

namespace tenure {

/// The tensor behind the handles: its identity and storage (Tenant), and how to read the data.
class TensorBody final : public mem::Tenant {
 public:
  TensorBody(const mem::Birth& birth, DType dtype, const Shape& shape, const Strides& strides,
             std::int64_t offset) noexcept
      : Tenant(birth),
        shape(shape),
        strides(strides),
        offset(offset),
        dtype(dtype),
        contiguous(tenure::is_contiguous(shape, strides)) {
    enter(birth.context);
  }

  /// Contiguous, from the storage's beginning.
  TensorBody(const mem::Birth& birth, DType dtype, const Shape& shape) noexcept
      : Tenant(birth),
        shape(shape),
        strides(contiguous_strides(shape)),
        offset(0),
        dtype(dtype),
        contiguous(true) {
    enter(birth.context);
  }

  /// Symbolic: it has no data of its own. Not contiguous, so that every short way passes it by.
  TensorBody(const mem::Birth& birth, Device device, std::unique_ptr<Symbol> symbol, DType dtype,
             const Shape& shape) noexcept
      : Tenant(birth, device, std::move(symbol)),
        shape(shape),
        strides(Strides::filled(shape.size(), 0)),
        offset(0),
        dtype(dtype),
        contiguous(false) {
    enter(birth.context);
  }

  /// What it stands for, if it is symbolic.
  const Symbol* symbol() const noexcept { return static_cast<const Symbol*>(part()); }

  Sizes shape;
  Strides strides;      ///< in elements
  std::int64_t offset;  ///< of the first element, in elements from the storage's beginning
  DType dtype;
  bool contiguous;
};
static_assert(sizeof(TensorBody) <= mem::kTenantSlot);

/// The number in `x[0]`, and where that stands in the source. Made implicitly; never stored.
struct Subscript {
  template <std::integral T>
  requires(!std::is_same_v<T, bool>)
      Subscript(T index, Site site = Site::current())  // NOLINT(google-explicit-constructor)
      : index(static_cast<std::int64_t>(index)), site(site) {}

  std::int64_t index;
  Site site;
};

/// A handle to a tensor. Copies are the same tensor: one id, one life. A handle that was
/// default-constructed or moved from is empty; using it throws EmptyTensorError.
class Tensor {
 public:
  constexpr Tensor() noexcept = default;
  Tensor(const Tensor& other) noexcept : body_(other.body_) {
    if (body_ != nullptr) body_->retain();
  }
  Tensor(Tensor&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Tensor& operator=(const Tensor& other) noexcept {
    Tensor(other).swap(*this);
    return *this;
  }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor(std::move(other)).swap(*this);
    return *this;
  }
  ~Tensor() {
    if (body_ != nullptr) body_->release();
  }
  void swap(Tensor& other) noexcept { std::swap(body_, other.body_); }

  /// False for an empty handle. A disposed tensor is still defined.
  bool defined() const noexcept { return body_ != nullptr; }

  // Metadata: readable for good, also after dispose().
  /// Of a symbol, sizes may be unknown until a graph runs; to read one of those throws GraphError.
  const Sizes& shape(Site site = Site::current()) const { return body("shape()", site).shape; }
  const Strides& strides(Site site = Site::current()) const {
    return body("strides()", site).strides;
  }
  DType dtype(Site site = Site::current()) const { return body("dtype()", site).dtype; }
  /// Where its data lies; of a symbol, where it will.
  Device device(Site site = Site::current()) const { return body("device()", site).device(); }
  int rank(Site site = Site::current()) const { return body("rank()", site).shape.size(); }
  /// Number of elements. Throws GraphError if it is known only when a graph runs; see size(x).
  std::int64_t size(Site site = Site::current()) const {
    return known_count(body("size()", site), "size()", site);
  }
  /// Size of dimension `axis`, which may be negative. Throws IndexError, and GraphError if it is
  /// known only when a graph runs; see dim(x, axis).
  std::int64_t dim(int axis, Site site = Site::current()) const;
  /// Bytes of its elements; a view's are part of its storage's. Throws as size() does.
  std::size_t nbytes(Site site = Site::current()) const {
    const TensorBody& b = body("nbytes()", site);
    return static_cast<std::size_t>(known_count(b, "nbytes()", site)) * size_of(b.dtype);
  }
  bool is_contiguous(Site site = Site::current()) const {
    return body("is_contiguous()", site).contiguous;
  }
  std::uint64_t id(Site site = Site::current()) const { return body("id()", site).id(); }
  std::string name(Site site = Site::current()) const { return body("name()", site).name(); }
  Tensor& set_name(const std::string& name, Site site = Site::current());
  /// Name of the op that made it.
  std::string op(Site site = Site::current()) const { return body("op()", site).op(); }
  Site created(Site site = Site::current()) const { return body("created()", site).created(); }
  /// The named scopes it was made in, as "outer/inner".
  std::string scope(Site site = Site::current()) const;

  /// Gives up the data: it is freed at once unless a view, a clone of this storage or a
  /// computation still holds it; work that its device has queued comes before. All copies of this
  /// handle see it. Doing it again does nothing.
  void dispose(Site site = Site::current()) const;
  bool is_disposed(Site site = Site::current()) const {
    const TensorBody& b = body("is_disposed()", site);
    return b.symbol() == nullptr && b.is_disposed();
  }
  /// Whether it stands for a value of a graph and has no data.
  bool is_symbolic(Site site = Site::current()) const {
    return body("is_symbolic()", site).symbol() != nullptr;
  }
  /// Whether an op that this is moved into may compute in its memory: this is the tensor's only
  /// handle, the tensor is all that there is in its storage and the only holder of it, and the
  /// memory is Tenure's own. (A tape that saves what it is moved into holds it too, then.)
  bool is_sole_holder(Site site = Site::current()) const;

  /// Element `i` along the first axis, which disappears; negative numbers count from the end. A
  /// view: select(x, 0, i). Throws IndexError. Defined in ops/shape/slices.cpp, where views are.
  Tensor operator[](Subscript i) const;
  /// This tensor, if it is on the device, else a copy there, with a gradient that comes back:
  /// copy_to(x, device). Throws ValueError for a device that is not present. Defined in
  /// ops/shape/copies.cpp.
  Tensor to(Device device, Site site = Site::current()) const;

  // Data. Each throws DisposedError if it is gone.

  /// The only element, converted to T. Throws ShapeError unless there is exactly one.
  template <Element T>
  T item(Site site = Site::current()) const;
  /// All elements in row-major order, converted to T.
  template <Element T>
  std::vector<T> to_vector(Site site = Site::current()) const;
  /// The elements in place; T must be the element type and the layout contiguous. Valid until the
  /// data is disposed, so a temporary has none: its data may end with the expression.
  template <Element T>
  std::span<const T> span(Site site = Site::current()) const& {
    return {static_cast<const T*>(contiguous_data(dtype_of<T>(), site)),
            static_cast<std::size_t>(size())};
  }
  template <Element T>
  std::span<const T> span(Site site = Site::current()) const&& = delete;
  /// The same, to write to. Every tensor that shares the storage sees what is written. To take it
  /// counts as a write, what is done with it later cannot be seen: a tape that saved the data
  /// before refuses to compute gradients with it.
  template <Element T>
  std::span<T> mutable_span(Site site = Site::current()) const& {
    return {static_cast<T*>(writable_data(dtype_of<T>(), site)), static_cast<std::size_t>(size())};
  }
  template <Element T>
  std::span<T> mutable_span(Site site = Site::current()) const&& = delete;

  /// For the layers above: the body, or EmptyTensorError in the name of `user`.
  TensorBody& body(const char* user, Site site = Site::current()) const {
    if (body_ == nullptr) [[unlikely]]
      throw EmptyTensorError(user, site);
    return *body_;
  }
  TensorBody* body_or_null() const noexcept { return body_; }
  /// Takes over a body's first handle.
  static Tensor adopt(TensorBody* body) noexcept {
    Tensor tensor;
    tensor.body_ = body;
    return tensor;
  }

 private:
  void* contiguous_data(DType wanted, Site site) const;
  void* writable_data(DType wanted, Site site) const;
  std::int64_t known_count(const TensorBody& b, const char* user, Site site) const {
    if (!b.shape.is_known()) [[unlikely]]
      throw_unknown_size(user, site);
    return count(b.shape);
  }
  [[noreturn]] void throw_unknown_size(const char* user, Site site) const;

  TensorBody* body_ = nullptr;
};

/// Makes a tensor over `storage`, taking over the caller's reference; on OutOfMemory that reference
/// is given up too. `op` has static storage duration.
Tensor make_tensor(mem::ThreadContext& context, mem::Storage* storage, DType dtype,
                   const Shape& shape, const Strides& strides, std::int64_t offset, const char* op,
                   Site site, HolderKind kind = HolderKind::user);

/// A tensor without data that stands for a value of a graph, on `device`. `op` has static storage
/// duration.
Tensor make_symbolic(std::unique_ptr<Symbol> symbol, DType dtype, const Shape& shape,
                     const char* op, Site site, Device device = cpu);

/// Throws DisposedError, or SymbolError if it never had any: `user` at `site` wanted the data of
/// `body`.
[[noreturn]] void throw_disposed(const TensorBody& body, const char* user, Site site);

/// Keeps the data of a tensor alive while it is computed with.
class Pin {
 public:
  Pin() noexcept {}  // NOLINT(modernize-use-equals-default): members stay undefined
  Pin(TensorBody& body, const char* user, Site site) { take(body, user, site); }
  ~Pin() {
    if (body_ != nullptr) body_->unpin(*context_);
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

  /// Throws DisposedError in the name of `user`, and OutOfMemory if the data was given up and there
  /// is no room to compute it again.
  void take(TensorBody& body, const char* user, Site site) {
    if (!try_take(body)) [[unlikely]]
      throw_disposed(body, user, site);
    if (mem::needs_attention(*context_)) [[unlikely]]
      body.announce_use(*context_, user, site);
  }
  /// False if it is disposed. Throws OutOfMemory as take() does.
  bool try_take(TensorBody& body) {
    context_ = &mem::this_thread();
    storage_ = body.pin(*context_);
    if (storage_ == nullptr) [[unlikely]]
      return false;
    body_ = &body;
    return true;
  }
  TensorBody* body() const noexcept { return body_; }
  mem::Storage* storage() const noexcept { return storage_; }
  /// The first element.
  void* data() const noexcept {
    return static_cast<std::byte*>(storage_->data()) +
           body_->offset * static_cast<std::int64_t>(size_of(body_->dtype));
  }

 private:
  TensorBody* body_ = nullptr;
  mem::ThreadContext* context_;
  mem::Storage* storage_;
};

/// Excludes a tensor from every scope: it lives until its handles go or it is disposed.
inline Tensor keep(Tensor tensor, Site site = Site::current()) {
  tensor.body("keep()", site).keep();
  return tensor;
}

/// Shape, type and elements, large tensors shortened. In print.cpp.
std::string to_string(const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace tenure
