#include <fmt/format.h>

#include <algorithm>

#include "tenure/kernels/cuda/conv/descriptor-inl.h"
#include "tenure/tensor/device_error.h"

namespace tenure::kernels::cuda {
namespace {

const CudnnFunctions& dnn() { return cudnn().functions; }

/// Of a kind that says: not here, or not so.
bool is_refusal(cudnnStatus_t status) {
  const int kind = CUDNN_STATUS_CATEGORY(static_cast<int>(status));
  return kind == CUDNN_STATUS_NOT_SUPPORTED || kind == CUDNN_STATUS_INTERNAL_ERROR;
}

}  // namespace

void require_cudnn(Device device, cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw DeviceError::because(
      "conv", device, fmt::format("cuDNN cannot {}: {}", what, dnn().cudnnGetErrorString(status)));
}

Descriptor::Descriptor(Device device, cudnnBackendDescriptorType_t type) : device_(device) {
  require_cudnn(device_, dnn().cudnnBackendCreateDescriptor(type, &handle_), "make a descriptor");
}

Descriptor::~Descriptor() {
  if (handle_ != nullptr) dnn().cudnnBackendDestroyDescriptor(handle_);
}

void Descriptor::put(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     std::size_t n, const void* values) {
  require_cudnn(
      device_,
      dnn().cudnnBackendSetAttribute(handle_, name, type, static_cast<std::int64_t>(n), values),
      "describe a convolution");
}

bool Descriptor::finish() {
  const cudnnStatus_t status = dnn().cudnnBackendFinalize(handle_);
  if (is_refusal(status)) return false;
  require_cudnn(device_, status, "plan a convolution");
  return true;
}

std::size_t Descriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                            std::size_t room, void* values) const {
  std::int64_t n = 0;
  require_cudnn(device_,
                dnn().cudnnBackendGetAttribute(handle_, name, type, static_cast<std::int64_t>(room),
                                               &n, values),
                "tell what it knows of a convolution");
  return room == 0 ? static_cast<std::size_t>(n) : std::min(room, static_cast<std::size_t>(n));
}

std::int64_t Descriptor::number(cudnnBackendAttributeName_t name) const {
  std::int64_t number = 0;
  get(name, CUDNN_TYPE_INT64, 1, &number);
  return number;
}

Descriptor Descriptor::part(cudnnBackendAttributeName_t name,
                            cudnnBackendDescriptorType_t type) const {
  Descriptor made(device_, type);
  get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &made.handle_);
  return made;
}

std::vector<Descriptor> Descriptor::parts(cudnnBackendAttributeName_t name,
                                          cudnnBackendDescriptorType_t type) const {
  const std::size_t n = get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<Descriptor> made;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::size_t i = 0; i < n; ++i) {
    made.emplace_back(device_, type);
    handles.push_back(made.back().handle_);
  }
  if (n > 0)
    made.erase(made.begin() + static_cast<std::ptrdiff_t>(
                                  get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, handles.data())),
               made.end());
  return made;
}

}  // namespace tenure::kernels::cuda
