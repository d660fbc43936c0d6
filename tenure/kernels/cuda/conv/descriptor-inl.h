#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "tenure/kernels/cuda/driver/cudnn-inl.h"
#include "tenure/memory/kinds.h"

// cuDNN's backend, in which all is a descriptor: it is given attributes, and finished. In
// descriptor.cpp.

namespace tenure::kernels::cuda {

/// Throws a DeviceError unless `status` is success; `what` the call was for.
void require_cudnn(Device device, cudnnStatus_t status, const char* what);

class Descriptor {
 public:
  Descriptor(Device device, cudnnBackendDescriptorType_t type);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept
      : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  template <class Value>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Value& value) {
    put(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> numbers) {
    put(name, CUDNN_TYPE_INT64, numbers.size(), numbers.data());
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    put(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.handle_);
  }
  void put(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::size_t n,
           const void* values);

  /// False: the library has no way to do such a thing.
  bool finish();

  std::int64_t number(cudnnBackendAttributeName_t name) const;
  /// A descriptor that is an attribute of this one.
  Descriptor part(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type) const;
  /// All of them.
  std::vector<Descriptor> parts(cudnnBackendAttributeName_t name,
                                cudnnBackendDescriptorType_t type) const;
  /// Whether a list of notes has one of these.
  template <class Note>
  bool has_note(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                std::initializer_list<Note> some) const {
    std::array<Note, 32> notes{};
    const std::size_t n = get(name, type, notes.size(), notes.data());
    for (std::size_t i = 0; i < n; ++i) {
      for (const Note note : some) {
        if (notes[i] == note) return true;
      }
    }
    return false;
  }
  cudnnBackendDescriptor_t handle() const { return handle_; }

 private:
  /// How many there are.
  std::size_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  std::size_t room, void* values) const;

  Device device_;
  cudnnBackendDescriptor_t handle_ = nullptr;
};

}  // namespace tenure::kernels::cuda
