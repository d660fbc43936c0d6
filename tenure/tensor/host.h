#pragma once

#include <array>
#include <cstddef>

#include "tenure/tensor/pending.h"
#include "tenure/tensor/tensor.h"

// How the host reads and writes elements, wherever they are: in place on the CPU, else through
// memory of the CPU's and the two functions that a device's backend has for it.

namespace tenure {

/// Copies bytes that lie on a device to the host's memory, after all that the device has to do.
/// wiring.cpp says who does it and the next.
void read_from_device(Device device, void* host, const void* from, std::size_t bytes);
/// The other way round, before all that the device is given to do later. The host's memory is the
/// caller's again when it returns.
void write_to_device(Device device, void* to, const void* host, std::size_t bytes);

/// Temporary memory of the CPU's, counted as such.
class HostMemory {
 public:
  HostMemory() noexcept = default;
  /// Throws OutOfMemory.
  explicit HostMemory(std::size_t bytes);
  ~HostMemory() {
    if (storage_ != nullptr) storage_->release();
  }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  HostMemory(HostMemory&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  HostMemory& operator=(HostMemory&& other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  std::byte* data() const noexcept {
    return storage_ == nullptr ? nullptr : static_cast<std::byte*>(storage_->data());
  }

 private:
  mem::Storage* storage_ = nullptr;
};

/// The elements of a tensor, for the host to read with the tensor's strides. To read one takes no
/// memory: the loss of a step that is done can be had.
class HostElements {
 public:
  /// `pin` is the caller's while he reads. Throws OutOfMemory, and what the device throws.
  explicit HostElements(const Pin& pin) : data_(pin.data()) {
    if (pin.body()->device() != cpu) [[unlikely]]
      fetch(pin);
  }
  HostElements(const HostElements&) = delete;
  HostElements& operator=(const HostElements&) = delete;
  /// The first element.
  const void* data() const noexcept { return data_; }

 private:
  void fetch(const Pin& pin);

  const void* data_;
  HostMemory copy_;
  alignas(8) std::array<std::byte, 8> one_;  ///< the copy, if it is so small
};

/// Room for the host to write the elements of a tensor in the making, contiguous.
class HostRoom {
 public:
  HostRoom(PendingTensor& pending, std::size_t bytes);
  void* data() const noexcept { return data_; }
  /// All are written.
  void finish();

 private:
  PendingTensor& pending_;
  std::size_t bytes_;
  HostMemory memory_;
  void* data_;
};

/// A tensor on `device` of the elements that the host has at `elements`, in row-major order. `op`
/// has static storage duration.
Tensor tensor_from_host(Device device, const void* elements, DType dtype, const Shape& shape,
                        const char* op, Site site);

}  // namespace tenure
