#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tenure/memory/default_device.h"
#include "tenure/ops/core/backend.h"
#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/view_room.h"
#include "tenure/tensor/pending.h"

namespace tenure::eager {

/// The pins of a call on n tensors, where nothing but their data is wanted.
template <std::size_t n>
class Pins {
 public:
  /// `attends`: needs_attention(context).
  Pins(mem::ThreadContext& context, bool attends) noexcept : context_(context), attends_(attends) {}
  ~Pins() {
    for (std::size_t i = 0; i < taken_; ++i) bodies_[i]->unpin(context_);
  }
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

  /// Throws DisposedError in the name of `op`.
  mem::Storage& take(TensorBody& body, const ops::OpRecord& op, Site site) {
    mem::Storage* const storage = body.pin(context_);
    if (storage == nullptr) [[unlikely]]
      throw_disposed(body, op.name, site);
    bodies_[taken_++] = &body;
    if (attends_) [[unlikely]]
      body.announce_use(context_, op.name, site);
    return *storage;
  }

 private:
  mem::ThreadContext& context_;
  const bool attends_;
  std::array<TensorBody*, n> bodies_;
  std::size_t taken_ = 0;
};

/// Where the first element lies.
inline void* data_of(const TensorBody& body, const mem::Storage& storage) {
  return static_cast<std::byte*>(storage.data()) +
         body.offset * static_cast<std::int64_t>(size_of(body.dtype));
}

/// Where a call runs: where its tensors are. Numbers are everywhere; without tensors it is the
/// default device.
class CallDevice {
 public:
  explicit CallDevice(const char* op) noexcept : op_(op) {}
  /// Throws DeviceError if another tensor of the call is elsewhere.
  void add(const TensorBody& body) {
    if (is_known_ && body.device() != device_) [[unlikely]]
      throw DeviceError(op_, body.device(), device_);
    device_ = body.device();
    is_known_ = true;
  }
  Device get() const noexcept { return is_known_ ? device_ : default_device(); }

 private:
  const char* op_;
  Device device_ = cpu;
  bool is_known_ = false;
};

/// The tensors of one call, pinned: their data stays while the call runs.
class Inputs {
 public:
  /// Throws EmptyTensorError, DisposedError or DeviceError in the name of `op`. Numbers become
  /// tensors on the device of the call.
  Inputs(const ops::OpRecord& op, std::span<const Operand> operands);
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  std::size_t size() const { return size_; }
  std::span<const ops::View> views() const { return {views_, size_}; }
  const Pin& pin(std::size_t i) const { return pins_[i]; }
  TensorBody& body(std::size_t i) const { return *pins_[i].body(); }
  mem::Storage* storage(std::size_t i) const { return pins_[i].storage(); }
  Device device() const { return device_; }
  /// Whether an output of this shape and type may be computed in the memory of input i.
  bool can_reuse(std::size_t i, const Operand& operand, DType dtype, const Shape& shape) const;

 private:
  static constexpr std::size_t kFew = 3;
  void write_view(std::size_t i);
  void add_numbers(const char* name, std::span<const Operand> operands);

  std::size_t size_;
  Device device_ = cpu;
  std::vector<Tensor> made_;  // from numbers; outlives the pins
  std::array<Pin, kFew> few_pins_;
  ops::ViewRoom<kFew> few_views_;
  std::unique_ptr<Pin[]> many_pins_;
  std::unique_ptr<ops::View[]> many_views_;
  Pin* pins_ = few_pins_.data();
  ops::View* views_ = few_views_.data();
};

/// True when the moved tensor's memory can be computed in: nobody else holds it, and an output of
/// this type and shape has its layout.
bool is_reusable(const TensorBody& body, mem::Storage& storage, DType dtype, const Shape& shape);

}  // namespace tenure::eager
