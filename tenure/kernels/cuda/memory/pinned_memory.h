#pragma once

#include <cstddef>

#include "tenure/memory/pool/source.h"

namespace tenure::kernels::cuda {

class Gpu;

/// Memory of the host's that a GPU reads and writes by itself: pages that stay where they are, for
/// a heap of their own. So the ledger has them as the device `pinned` of the GPU's index.
class PinnedMemory final : public mem::Source {
 public:
  explicit PinnedMemory(Gpu& gpu) : gpu_(gpu) {}

  void* map(std::size_t bytes) noexcept override;
  void unmap(void* begin, std::size_t bytes) noexcept override;

 private:
  Gpu& gpu_;
};

}  // namespace tenure::kernels::cuda
