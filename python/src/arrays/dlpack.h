#pragma once

#include <cstdint>

#include "python/src/core/object.h"
#include "tenure/tensor/tensor.h"

namespace tenure::python {

// The structs of DLPack, https://dmlc.github.io/dlpack/latest: a fixed layout that libraries share.
namespace dlpack {

inline constexpr std::int32_t kCpu = 1;
inline constexpr std::int32_t kCuda = 2;
struct Device {
  std::int32_t type = kCpu;
  std::int32_t id = 0;
};
Device device_of(tenure::Device device);
struct DataType {
  std::uint8_t code = 0;  // 0: int, 1: uint, 2: float, 4: bfloat, 6: bool
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;
};
struct Array {
  void* data = nullptr;
  Device device{};
  std::int32_t rank = 0;
  DataType dtype{};
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  // in elements; null: contiguous
  std::uint64_t offset = 0;         // in bytes
};
struct Managed {
  Array array;
  void* context = nullptr;
  void (*deleter)(Managed*) = nullptr;
};
struct Version {
  std::uint32_t major = 1;
  std::uint32_t minor = 0;
};
inline constexpr std::uint64_t kReadOnly = 1;
inline constexpr std::uint64_t kCopied = 2;
struct ManagedVersioned {
  Version version;
  void* context = nullptr;
  void (*deleter)(ManagedVersioned*) = nullptr;
  std::uint64_t flags = 0;
  Array array;
};

}  // namespace dlpack

/// x.__dlpack__(...): a capsule whose array is read-only where the consumer can be told so.
struct DlpackRequest {
  bool is_versioned = false;  ///< the consumer knows DLPack 1
  bool is_copied = false;
  /// Of a GPU: the consumer's, whose work comes after ours; 0: it sees to that itself.
  std::uintptr_t stream = 0;
};
Ref dlpack_capsule(const Tensor& tensor, const DlpackRequest& request, Site site);

}  // namespace tenure::python
