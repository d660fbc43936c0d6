#include <elf.h>

#include <atomic>
#include <cstring>

#include "tests/cuda_emulator/driver.h"

// Modules, the functions in them, and their launches.

namespace {

using tenure::test::Command;
using tenure::test::current_gpu;
using tenure::test::queue;
using tenure::test::state;
using tenure::test::state_with_memory;

std::size_t bytes_of_object(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  return header.e_shoff + std::size_t{header.e_shentsize} * header.e_shnum;
}

/// Blocks of a cluster; 0: what is asked for is not of this GPU.
unsigned cluster_of(const CUlaunchConfig& config) {
  if (config.numAttrs == 0) return 1;
  const CUlaunchAttribute& asked = config.attrs[0];
  const auto& size = asked.value.clusterDim;
  const bool is_known = config.numAttrs == 1 && asked.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  return is_known && size.y == 1 && size.z == 1 ? size.x : 0;
}

std::atomic<std::uint64_t> launches = 0;

}  // namespace

extern "C" {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (const CUresult now = state_with_memory(); now != CUDA_SUCCESS) return now;
  Command command{};
  command.kind = Command::load;
  command.attached = bytes_of_object(image);
  if (command.attached == 0) return CUDA_ERROR_INVALID_IMAGE;
  const std::uint64_t handle = current_gpu().ask(command, image);
  if (handle == 0) return CUDA_ERROR_INVALID_IMAGE;
  *module = new CUmod_st{&current_gpu(), handle};
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  Command command{};
  command.kind = Command::find;
  command.to = module->handle;
  command.attached = std::strlen(name) + 1;
  const std::uint64_t address = module->gpu->ask(command, name);
  if (address == 0) return CUDA_ERROR_NOT_FOUND;
  *function = new CUfunc_st{address};
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value > 227 * 1024) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  function->most_shared_bytes = static_cast<unsigned>(value);
  return CUDA_SUCCESS;
}
// For tests.
std::uint64_t emulated_launches() { return launches; }
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  if (parameters != nullptr || extra == nullptr || extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER ||
      extra[2] != CU_LAUNCH_PARAM_BUFFER_SIZE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const unsigned x = config->gridDimX;
  const unsigned y = config->gridDimY;
  const unsigned z = config->gridDimZ;
  const std::uint64_t threads =
      std::uint64_t{config->blockDimX} * config->blockDimY * config->blockDimZ;
  if (x == 0 || y == 0 || z == 0 || x > 0x7fffffff || y > 65535 || z > 65535 || threads == 0 ||
      threads > 1024 || config->blockDimZ > 64 ||
      config->sharedMemBytes > function->most_shared_bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const unsigned cluster = cluster_of(*config);
  if (cluster == 0 || cluster > 8 || x % cluster != 0) return CUDA_ERROR_INVALID_VALUE;
  Command command{};
  command.kind = Command::launch;
  command.to = function->address;
  command.attached = *static_cast<const std::size_t*>(extra[3]);
  if (command.attached > 4096) return CUDA_ERROR_INVALID_VALUE;  // of CUDA 12.0, and of all GPUs
  command.blocks[0] = x;
  command.blocks[1] = y;
  command.blocks[2] = z;
  command.threads[0] = config->blockDimX;
  command.threads[1] = config->blockDimY;
  command.threads[2] = config->blockDimZ;
  command.shared_bytes = config->sharedMemBytes;
  command.cluster = cluster;
  ++launches;
  return queue(*config->hStream, command, extra[1]);
}
}
