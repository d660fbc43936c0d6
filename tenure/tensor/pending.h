#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "tenure/memory/holders/evictable.h"
#include "tenure/tensor/tensor.h"

namespace tenure {

/// Whether a new tensor of `bytes` may take over the storage of one that the caller has a handle
/// to, pinned: nobody else has one, the tensor is all that there is in its storage, and nothing
/// that was given up is computed from it.
inline bool can_take_over(const TensorBody& body, mem::Storage& storage, std::size_t bytes) {
  return body.sole_handle() && !storage.is_shared() && !storage.is_foreign() && body.contiguous &&
         body.offset == 0 && storage.bytes() == bytes &&
         (!storage.is_tracked() || mem::let_go(storage));
}

/// A tensor in the making: everything that can fail happens before its data is written, so that a
/// kernel may overwrite an input that the new tensor takes over. The shape is borrowed.
class PendingTensor {
 public:
  PendingTensor() noexcept {}  // NOLINT(modernize-use-equals-default): members stay undefined
  PendingTensor(mem::ThreadContext& context, Device device, DType dtype, const Shape& shape) {
    allocate(context, device, dtype, shape);
  }
  PendingTensor(mem::ThreadContext& context, Device device, DType dtype, Shape&& shape) = delete;
  ~PendingTensor() {
    if (slot_ != nullptr) [[unlikely]]
      abandon();
  }
  PendingTensor(const PendingTensor&) = delete;
  PendingTensor& operator=(const PendingTensor&) = delete;

  /// With a new storage. Throws OutOfMemory, and ValueError for an absent device.
  void allocate(mem::ThreadContext& context, Device device, DType dtype, const Shape& shape) {
    storage_ = mem::Storage::allocate(context, device,
                                      static_cast<std::size_t>(count(shape)) * size_of(dtype));
    try {
      slot_ = mem::allocate_tenant(context);
    } catch (...) {
      storage_->release();
      throw;
    }
    donor_ = nullptr;
    describe(context, dtype, shape);
  }
  void allocate(mem::ThreadContext& context, Device device, DType dtype, Shape&& shape) = delete;
  /// On the storage of `donor`, a contiguous tensor of at least as many bytes whose sole handle the
  /// caller has, pinned until finish(). It stays the donor's until finish(). Throws OutOfMemory.
  void borrow(mem::ThreadContext& context, DType dtype, const Shape& shape, TensorBody& donor) {
    slot_ = mem::allocate_tenant(context);
    storage_ = donor.pinned_storage();
    donor_ = &donor;
    describe(context, dtype, shape);
  }

  bool is_ready() const noexcept { return slot_ != nullptr; }
  Device device() const noexcept { return storage_->device(); }
  void* data() const noexcept { return storage_->data(); }
  Tensor finish(const char* op, Site site) noexcept {
    if (donor_ != nullptr) donor_->take_storage();
    void* const slot = std::exchange(slot_, nullptr);
    return Tensor::adopt(new (slot) TensorBody(
        {.context = *context_, .storage = storage_, .op = op, .site = site}, dtype_, *shape_));
  }

 private:
  void abandon() noexcept;
  void describe(mem::ThreadContext& context, DType dtype, const Shape& shape) noexcept {
    context_ = &context;
    shape_ = &shape;
    dtype_ = dtype;
  }

  void* slot_ = nullptr;
  mem::ThreadContext* context_;
  mem::Storage* storage_;
  TensorBody* donor_;
  const Shape* shape_;
  DType dtype_;
};

}  // namespace tenure
