#include "tenure/kernels/cpu/move/dense.h"

#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/cpu/move/copy.h"

namespace tenure::kernels {
namespace {

View dense_like(const View& view, DType dtype, void* data) {
  return {
      .dtype = dtype, .shape = view.shape, .strides = contiguous_strides(view.shape), .data = data};
}

}  // namespace

View copy_dense(const View& view, DType dtype, std::byte* to) {
  const View dense = dense_like(view, dtype, to);
  if (view.dtype == dtype) {
    copy(view, dense);
    return dense;
  }
  const auto n = static_cast<std::size_t>(view.count());
  const void* from = view.data;
  if (!view.contiguous()) {
    // The copy goes to the upper part of the room, from where it widens downwards.
    View narrow = dense_like(view, view.dtype, to + n * (size_of(dtype) - size_of(view.dtype)));
    copy(view, narrow);
    from = narrow.data;
  }
  cast_elements(view.dtype, from, dtype, to, n);
  return dense;
}

View Staging::read(const View& in) {
  if (in.dtype == compute_ && in.contiguous()) return in;
  std::byte* const to = take(static_cast<std::size_t>(in.count()) * size_of(compute_));
  if (room_ == nullptr || in.count() == 0) return dense_like(in, compute_, to);
  return copy_dense(in, compute_, to);
}

View Staging::write(const View& out) {
  if (out.dtype == compute_) return out;
  return dense_like(out, compute_, take(static_cast<std::size_t>(out.count()) * size_of(compute_)));
}

void Staging::finish(const View& computed, const View& out) const {
  if (out.dtype == compute_) return;
  cast_elements(compute_, computed.data, out.dtype, out.data,
                static_cast<std::size_t>(out.count()));
}

std::byte* Staging::take(std::size_t bytes) {
  const std::size_t at = used_;
  used_ += round_up(bytes, 64);
  return room_ == nullptr ? nullptr : room_ + at;
}

std::size_t staged_bytes(DType compute, std::span<const View> in, std::span<const View> out) {
  Staging staging(compute);
  for (const View& view : in) staging.read(view);
  for (const View& view : out) staging.write(view);
  return staging.bytes();
}

}  // namespace tenure::kernels
