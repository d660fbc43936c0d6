#pragma once

#include "tenure/kernels/cuda/driver/library.h"

// NVTX: names for what a profiler of NVIDIA's shows. What it has when no profiler is there does
// nothing.

namespace tenure::kernels::cuda {

struct NvtxFunctions {
  int (*nvtxRangePushA)(const char* name) = nullptr;
  int (*nvtxRangePop)() = nullptr;
};

/// The library as it was found.
struct Nvtx {
  Library library{};
  NvtxFunctions functions{};
};
/// Looked for by the first call, once.
const Nvtx& nvtx();

/// While it lives, what this thread does has a name in a profiler's timeline.
class NvtxRange {
 public:
  explicit NvtxRange(const char* name) {
    if (!is_there_) return;
    nvtx().functions.nvtxRangePushA(name);
  }
  ~NvtxRange() {
    if (is_there_) nvtx().functions.nvtxRangePop();
  }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;

 private:
  const bool is_there_ = nvtx().library.is_usable();
};

}  // namespace tenure::kernels::cuda
