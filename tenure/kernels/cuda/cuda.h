#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/base/site.h"
#include "tenure/memory/kinds.h"

namespace tenure {

/// The GPU of this index, ready for tensors: `ones({3}, {.device = cuda(0)})`, copy_to(x, cuda()).
/// The first call for it loads the driver, and takes a part of a second. Throws DeviceError where
/// there is no such GPU, or something that it takes is missing; it says what to install. Throws
/// OutOfMemory where the host has none to share with it.
Device cuda(int index = 0, Site site = Site::current());

/// The device of a name: "cpu", "cuda:1"; "cuda" is cuda(0). Throws ValueError for others, and as
/// cuda() does.
Device device_named(std::string_view name, Site site = Site::current());

/// A library that CUDA's kernels need, as it was found.
struct CudaLibrary {
  std::string name;       ///< "driver", "NVRTC", "cuBLASLt", "cuDNN"
  std::string version{};  ///< "13.0"; empty: it was not found
  std::string path{};     ///< of the file
  std::string problem{};  ///< why it cannot be used; empty: it can
  std::string advice{};   ///< what to install then
};

/// A GPU that the driver knows.
struct CudaGpu {
  int index = 0;
  std::string name{};
  int architecture = 0;  ///< 90: of compute capability 9.0
  std::size_t memory = 0;
};

/// What there is of CUDA here; nothing is thrown for what is missing.
struct CudaReport {
  bool is_built = false;  ///< whether this build of Tenure can use it
  std::string build{};    ///< with which version of CUDA's headers, or why not
  std::vector<CudaLibrary> libraries{};
  std::vector<CudaGpu> gpus{};
  std::string cache{};  ///< the folder of compiled kernels; empty: there is none
};
CudaReport cuda_report();

/// Where the ledger has the pinned memory of a GPU, which copies between it and the host go
/// through: memory(cuda_pinned(device)). No tensor is there.
constexpr Device cuda_pinned(Device device) {
  return {.kind = Device::Kind::pinned, .index = device.index};
}

/// Whether products of float32 on GPUs may round what they multiply to TF32, whose mantissa has 10
/// bits instead of 23: several times as fast. Off, unless TENURE_CUDA_TF32=1 or this says so; for
/// all threads, from their next calls on.
void set_cuda_tf32(bool is_allowed);
bool cuda_tf32();

// Other libraries' streams, by their handles (a CUstream, or 1 for the legacy default stream and 2
// for that of a thread): for tensors whose memory they use. Each throws DeviceError.

/// The handle of the queue that Tenure gives its work to.
std::uintptr_t cuda_stream(Device device, Site site = Site::current());
/// What `stream` is given from now on begins after all that Tenure has queued.
void cuda_let_wait(std::uintptr_t stream, Device device, Site site = Site::current());
/// What Tenure queues from now on begins after all that `stream` has been given.
void cuda_wait_for(std::uintptr_t stream, Device device, Site site = Site::current());

/// Bytes of a GPU's memory that are taken by others than Tenure's tensors and pool: its context,
/// libraries, other programs. With memory(device).reserved they make what nvidia-smi shows. Throws
/// DeviceError.
std::int64_t cuda_memory_outside(Device device, Site site = Site::current());

}  // namespace tenure
