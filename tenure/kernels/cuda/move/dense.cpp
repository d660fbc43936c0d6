#include "tenure/kernels/cuda/move/dense.h"

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/move/move.h"

namespace tenure::kernels::cuda {

View DenseInputs::read(const View& in) {
  if (in.contiguous()) return in;
  View dense = in;
  dense.strides = contiguous_strides(in.shape);
  dense.data = take(static_cast<std::size_t>(in.count()) * size_of(in.dtype));
  if (gpu_ != nullptr) copy_elements(*gpu_, op_, in, dense);
  return dense;
}

std::byte* DenseInputs::take(std::size_t bytes) {
  constexpr std::size_t kAligned = 256;  // as what is left goes to libraries: cuBLASLt insists
  const std::size_t at = used_;
  used_ += round_up(bytes, kAligned);
  return gpu_ == nullptr ? nullptr : room_.data() + at;
}

}  // namespace tenure::kernels::cuda
