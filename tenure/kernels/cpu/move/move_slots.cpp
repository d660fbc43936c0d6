#include <algorithm>

#include "tenure/kernels/cpu/elementwise/engine.h"
#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/cpu/move/copy.h"
#include "tenure/kernels/cpu/move/tile_reader.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/shape/attributes.h"
#include "tenure/ops/shape/transfer.h"
#include "tenure/tensor/strided.h"

namespace tenure::kernels {
namespace {

using ops::Kernel;

/// reshape and its like, where no view does.
struct ReshapeSlot {
  static void run(const Kernel& k) {
    View out = k.out[0];
    out.shape = k.in[0].shape;
    out.strides = contiguous_strides(out.shape);
    copy(k.in[0], out);
  }
};

struct CopySlot {
  static void run(const Kernel& k) { copy(k.in[0], k.out[0]); }
};

/// From the CPU to any device. A copy of what is not contiguous goes to another one.
struct CopyToSlot {
  static bool is_staged(const Kernel& k) {
    return ops::transfer_target(k.attributes) != cpu && !k.in[0].contiguous();
  }
  static std::size_t workspace(const Kernel& k) {
    if (!is_staged(k)) return 0;
    return static_cast<std::size_t>(k.in[0].count()) * size_of(k.in[0].dtype);
  }
  static void run(const Kernel& k) {
    const Device to = ops::transfer_target(k.attributes);
    if (to == cpu) return copy(k.in[0], k.out[0]);
    const View& out = k.out[0];
    View from = k.in[0];
    if (is_staged(k)) {
      from.strides = contiguous_strides(from.shape);
      from.data = k.workspace.data();
      copy(k.in[0], from);
    }
    ops::backend(to).write(out.data, from.data,
                           static_cast<std::size_t>(out.count()) * size_of(out.dtype));
  }
};

struct CastSlot {
  static void run(const Kernel& k) {
    const DType to = k.out[0].dtype;
    const Elementwise identity{.body = copy_body(to), .in_types = {to}, .out_type = to, .cost = 1};
    run_elementwise(identity, k.in, k.out[0]);
  }
  template <std::size_t bytes>
  static void copy_elements(const void* const* in, void* out, std::size_t n) {
    if (in[0] != out)
      std::copy_n(static_cast<const std::byte*>(in[0]), n * bytes, static_cast<std::byte*>(out));
  }
  static Body copy_body(DType dtype) {
    switch (size_of(dtype)) {
      case 1:
        return copy_elements<1>;
      case 2:
        return copy_elements<2>;
      case 4:
        return copy_elements<4>;
      default:
        return copy_elements<8>;
    }
  }
};

/// Copies a view into a strided one of a type that it promotes to.
void copy_converted(const View& in, const View& out) {
  if (in.dtype == out.dtype || in.count() == 0) return copy(in, out);
  // Tile by tile: read, convert, and copy to where the tile's elements go.
  alignas(8) std::byte raw[kTile * 8];
  alignas(8) std::byte converted[kTile * 8];
  TileReader reader(in, in.shape);
  reader.seek(0);
  const std::int64_t row = out.shape.empty() ? 1 : out.shape.back();
  Shape rows = out.shape;
  Strides strides = out.strides;
  if (!rows.empty()) {
    rows.erase(rows.size() - 1);
    strides.erase(strides.size() - 1);
  }
  const auto size = static_cast<std::int64_t>(size_of(out.dtype));
  for_each_offset(rows, strides, [&](std::int64_t offset) {
    for (std::int64_t i = 0; i < row; i += static_cast<std::int64_t>(kTile)) {
      const auto n = std::min<std::int64_t>(row - i, kTile);
      reader.read(raw, static_cast<std::size_t>(n));
      cast_elements(in.dtype, raw, out.dtype, converted, static_cast<std::size_t>(n));
      const View from{.dtype = out.dtype, .shape = {n}, .strides = {1}, .data = converted};
      const std::int64_t step = out.shape.empty() ? 1 : out.strides.back();
      copy(from, {.dtype = out.dtype,
                  .shape = {n},
                  .strides = {step},
                  .data = out.as<std::byte>() + (offset + i * step) * size});
    }
  });
}

struct ConcatSlot {
  static void run(const Kernel& k) {
    const int axis =
        normalize_axis(k.attributes.integer(ops::JoinAttributes::axis), k.in[0].shape.size(), k.op);
    View piece = k.out[0];
    for (const View& view : k.in) {
      piece.shape[axis] = view.shape[axis];
      copy_converted(view, piece);
      piece.data = piece.as<std::byte>() + view.shape[axis] * piece.strides[axis] *
                                               static_cast<std::int64_t>(size_of(piece.dtype));
    }
  }
};

struct StackSlot {
  static void run(const Kernel& k) {
    View piece = k.out[0];
    const int axis =
        normalize_axis(k.attributes.integer(ops::JoinAttributes::axis), piece.shape.size(), k.op);
    const std::int64_t step = piece.strides[axis] * static_cast<std::int64_t>(size_of(piece.dtype));
    piece.shape.erase(axis);
    piece.strides.erase(axis);
    for (const View& view : k.in) {
      copy_converted(view, piece);
      piece.data = piece.as<std::byte>() + step;
    }
  }
};

}  // namespace

std::vector<KernelRow> copy_kernels() {
  return {kernel_row<ReshapeSlot>("reshape"), kernel_row<ReshapeSlot>("reshape_like"),
          kernel_row<ReshapeSlot>("flatten"), kernel_row<CopySlot>("clone"),
          kernel_row<CopySlot>("contiguous"), kernel_row<CopyToSlot>("copy_to"),
          kernel_row<CastSlot>("cast"),       kernel_row<ConcatSlot>("concat"),
          kernel_row<StackSlot>("stack")};
}

}  // namespace tenure::kernels
