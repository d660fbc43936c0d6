#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "tenure/kernels/cuda/compile/kernels.h"
#include "tenure/kernels/cuda/loops/loop_arguments.h"
#include "tenure/ops/core/loop.h"

namespace tenure::kernels::cuda {

class Gpu;

/// A loop as a GPU runs it: two kernels for each choice of its inputs' types, compiled when they
/// come first.
class CudaLoop final : public ops::PreparedLoop {
 public:
  CudaLoop(Gpu& gpu, ops::Loop loop);
  ~CudaLoop() override;

  /// Throws DeviceError where a kernel cannot be compiled.
  void run(const ops::LoopInputs& in, const ops::View& out) const override;
  void run_flat(const void* const* in, std::uint32_t numbers, void* out,
                std::size_t n) const override;
  std::size_t bytes() const override { return sizeof *this + loop_.bytes(); }

 private:
  using InTypes = std::array<DType, kLoopInputs>;
  /// Of one choice of types; in a list, to which others are added in front.
  struct Variant {
    InTypes types{};
    std::size_t pack = 1;  ///< elements that the flat kernel reads at once
    Function flat = nullptr;
    Function strided = nullptr;
    const Variant* next = nullptr;
  };
  const Variant& variant(const InTypes& types) const;
  bool try_flat(const Variant& variant, FlatArguments& arguments) const;
  void launch_strided(const Variant& variant, StridedArguments arguments) const;

  Gpu& gpu_;
  const ops::Loop loop_;
  const char* op_;  ///< the last one, for messages
  InTypes in_types_{};
  mutable std::mutex mutex_;
  mutable std::atomic<const Variant*> variants_ = nullptr;
};

}  // namespace tenure::kernels::cuda
