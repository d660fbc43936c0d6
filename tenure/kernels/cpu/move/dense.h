#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "tenure/base/units.h"
#include "tenure/kernels/view.h"
#include "tenure/ops/core/compute_type.h"

namespace tenure::kernels {

using ops::compute_type;

/// Converts a view of any layout to contiguous elements of `dtype`, its own type or a wider float.
/// `to` has room for them.
View copy_dense(const View& view, DType dtype, std::byte* to);

/// Operands of a kernel that wants contiguous elements of one type. What is so already is used
/// where it lies; the rest is copied to the workspace. Made without a workspace, it counts bytes.
class Staging {
 public:
  explicit Staging(DType compute) : compute_(compute) {}
  Staging(DType compute, std::span<std::byte> workspace)
      : compute_(compute), room_(workspace.data()), size_(workspace.size()) {}

  /// The elements of an input.
  View read(const View& in);
  /// Where to compute an output; `finish` converts it to its own type.
  View write(const View& out);
  void finish(const View& computed, const View& out) const;
  /// Room for anything else, aligned to a cache line.
  std::byte* take(std::size_t bytes);
  /// What was taken so far.
  std::size_t bytes() const { return used_; }
  /// What is left.
  std::span<std::byte> rest() const { return {room_ + used_, size_ - used_}; }

 private:
  DType compute_;
  std::byte* room_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
};

/// The bytes of a kernel's workspace that staging these takes.
std::size_t staged_bytes(DType compute, std::span<const View> in, std::span<const View> out);

}  // namespace tenure::kernels
