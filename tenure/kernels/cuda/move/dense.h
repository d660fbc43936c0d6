#pragma once

#include <cstddef>
#include <span>

#include "tenure/kernels/view.h"

namespace tenure::kernels::cuda {

class Gpu;

/// Inputs of kernels that want contiguous elements (outputs are so), like kernels/cpu/move/dense.h.
/// What is so already is used where it lies; the rest is copied to the workspace. Made without a
/// workspace, it counts bytes.
class DenseInputs {
 public:
  DenseInputs() = default;
  DenseInputs(Gpu& gpu, const char* op, std::span<std::byte> workspace)
      : gpu_(&gpu), op_(op), room_(workspace) {}

  /// The elements of an input.
  View read(const View& in);
  /// Room for anything else, aligned as a workspace is.
  std::byte* take(std::size_t bytes);
  /// What was taken so far.
  std::size_t bytes() const { return used_; }
  /// What is left, aligned likewise.
  std::span<std::byte> rest() const { return room_.subspan(used_); }

 private:
  Gpu* gpu_ = nullptr;
  const char* op_ = nullptr;
  std::span<std::byte> room_{};
  std::size_t used_ = 0;
};

}  // namespace tenure::kernels::cuda
