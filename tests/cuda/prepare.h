#pragma once

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tenure/kernels/cuda/compile/compiler.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tests/cuda/every_kernel.h"

namespace tenure::test {

/// Compiles every kernel for a GPU, a file's together and on all cores, where one by one, as they
/// are first used, the compiler would take minutes to begin again and again. They are kept in
/// $TENURE_CACHE for all programs that do this.
inline void prepare_every_kernel(Device device) {
  kernels::cuda::Gpu& gpu = kernels::cuda::gpu(device);
  std::vector<KernelBatch> batches = every_family();
  for (KernelBatch& batch : every_loop()) batches.push_back(std::move(batch));
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < batches.size(); i = next++) {
      const std::vector<kernels::cuda::KernelCode>& codes = batches[i].all;
      static_cast<void>(kernels::cuda::compile_or_find(
          kernels::cuda::program_of(codes.front().file, codes), gpu.facts().architecture));
    }
  };
  std::vector<std::jthread> threads(std::max(1u, std::thread::hardware_concurrency()));
  for (std::jthread& thread : threads) thread = std::jthread(work);
  threads.clear();
  for (const KernelBatch& batch : batches) gpu.kernels().prepare(batch.all);
}

}  // namespace tenure::test
