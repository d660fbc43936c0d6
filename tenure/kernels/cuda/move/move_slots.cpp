#include <vector>

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/move/copy_walk.h"
#include "tenure/kernels/cuda/move/move.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/shape/attributes.h"
#include "tenure/ops/shape/transfer.h"
#include "tenure/tensor/host.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

std::size_t bytes_of(const View& view) {
  return static_cast<std::size_t>(view.count()) * size_of(view.dtype);
}

/// All that only moves or converts elements, in their order.
struct CopySlot {
  static void run(const Kernel& k) {
    if (Gpu* const gpu = gpu_of(k)) copy_elements(*gpu, k.op, k.in[0], k.out[0]);
  }
};

/// Of one axis that has neighbours in memory; -1: none has.
int innermost(const View& view) {
  for (int d = view.shape.size() - 1; d >= 0; --d) {
    if (view.shape[d] != 1 && view.strides[d] == 1) return d;
  }
  return -1;
}

struct CastSlot : CopySlot {
  /// All, where neighbours do not stay neighbours.
  static std::optional<std::int64_t> moved(const Kernel& k) {
    return innermost(k.in[0]) == innermost(k.out[0])
               ? 0
               : static_cast<std::int64_t>(bytes_of(k.out[0]));
  }
};

/// From a GPU to any device. Elsewhere only what is contiguous can be read at once.
struct CopyToSlot {
  static bool is_staged(const Kernel& k) {
    return ops::transfer_target(k.attributes) != ops::transfer_origin(k.attributes) &&
           !k.in[0].contiguous();
  }
  static std::size_t workspace(const Kernel& k) { return is_staged(k) ? bytes_of(k.in[0]) : 0; }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k.in[0]);
    if (gpu == nullptr) return;
    const View& out = k.out[0];
    const Device to = ops::transfer_target(k.attributes);
    View from = k.in[0];
    if (to == gpu->device()) return copy_elements(*gpu, k.op, from, out);
    if (is_staged(k)) {
      from.strides = contiguous_strides(from.shape);
      from.data = k.workspace.data();
      copy_elements(*gpu, k.op, k.in[0], from);
    }
    if (to == cpu) return gpu->read(out.data, from.data, bytes_of(out));
    const HostMemory room(bytes_of(out));  // by way of the host
    gpu->read(room.data(), from.data, bytes_of(out));
    ops::backend(to).write(out.data, room.data(), bytes_of(out));
  }
};

View moved_by(View view, std::int64_t elements) {
  view.data = view.as<std::byte>() + elements * static_cast<std::int64_t>(size_of(view.dtype));
  return view;
}

struct ConcatSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const int axis =
        normalize_axis(k.attributes.integer(ops::JoinAttributes::axis), k.in[0].shape.size(), k.op);
    View piece = k.out[0];
    for (const View& view : k.in) {
      piece.shape[axis] = view.shape[axis];
      copy_elements(*gpu, k.op, view, piece);
      piece = moved_by(piece, view.shape[axis] * piece.strides[axis]);
    }
  }
};

struct StackSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    View piece = k.out[0];
    const int axis =
        normalize_axis(k.attributes.integer(ops::JoinAttributes::axis), piece.shape.size(), k.op);
    const std::int64_t step = piece.strides[axis];
    piece.shape.erase(axis);
    piece.strides.erase(axis);
    for (const View& view : k.in) {
      copy_elements(*gpu, k.op, view, piece);
      piece = moved_by(piece, step);
    }
  }
};

}  // namespace

void copy_elements(Gpu& gpu, const char* op, const View& from, const View& to) {
  if (to.count() == 0) return;
  if (from.dtype == to.dtype && from.contiguous() && to.contiguous()) {
    return gpu.copy_bytes(op, to.data, from.data, bytes_of(to));
  }
  CopyWalk walk;
  const Shape& shape = is_contiguous(to.shape, to.strides) ? from.shape : to.shape;
  const Strides flat = contiguous_strides(shape);
  const Strides& from_strides = from.shape == shape ? from.strides : flat;
  const Strides& to_strides = to.shape == shape ? to.strides : flat;
  for (int d = 0; d < shape.size(); ++d) walk.add(shape[d], from_strides[d], to_strides[d]);
  copy_over(gpu, op, walk, {from.data, from.dtype, to.data, to.dtype});
}

Family move_family() {
  return {{row<CopySlot>("reshape"), row<CopySlot>("reshape_like"), row<CopySlot>("flatten"),
           row<CopySlot>("clone"), row<CopySlot>("contiguous"), row<CastSlot>("cast"),
           row<CopyToSlot>("copy_to"), row<ConcatSlot>("concat"), row<StackSlot>("stack")},
          copy_kernels()};
}

}  // namespace tenure::kernels::cuda
