#pragma once

#include "tenure/kernels/cuda/compile/kernels.h"
#include "tenure/ops/core/loop.h"

namespace tenure::kernels::cuda {

class Gpu;

/// A loop as a GPU runs it: two kernels.
class CudaLoop final : public ops::PreparedLoop {
 public:
  /// Compiles it. Throws DeviceError.
  CudaLoop(Gpu& gpu, const ops::Loop& loop);

  void run(const ops::LoopInputs& in, const ops::View& out) const override;
  void run_flat(const void* const* in, std::uint32_t numbers, void* out,
                std::size_t n) const override;
  std::size_t bytes() const override { return sizeof *this; }

 private:
  Gpu& gpu_;
  const char* op_;  ///< the last one, for messages
  std::vector<DType> in_types_;
  DType out_type_;
  std::size_t pack_ = 1;  ///< elements that the flat kernel reads at once
  Function flat_ = nullptr;
  Function strided_ = nullptr;
};

}  // namespace tenure::kernels::cuda
