#include "tenure/kernels/cpu/index/arrange.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/core/types.h"
#include "tenure/ops/index/arrange.h"
#include "tenure/ops/index/attributes.h"

namespace tenure::kernels {
namespace {

using ops::Kernel;

struct PadSlot {
  static void run(const Kernel& k) {
    alignas(8) std::byte element[8];
    ops::store_scalar(ops::to_scalar(k.attributes[ops::PadAttributes::value]), k.in[0].dtype,
                      element, k.op);
    pad(k.in[0], k.out[0], k.attributes.dims(ops::PadAttributes::before),
        static_cast<PadMode>(k.attributes.integer(ops::PadAttributes::mode)), element);
  }
};

struct TileSlot {
  static void run(const Kernel& k) {
    View in = k.in[0];
    const int rank = k.out[0].shape.size();
    in.shape = ops::with_leading_ones(in.shape, rank);
    in.strides = ops::with_leading_ones(in.strides, rank);
    tile(in, ops::with_leading_ones(k.attributes.dims(ops::TileAttributes::times), rank), k.out[0]);
  }
};

struct RepeatSlot {
  static void run(const Kernel& k) {
    const int axis = normalize_axis(k.attributes.integer(ops::RepeatAttributes::axis),
                                    k.in[0].shape.size(), k.op);
    repeat(k.in[0], axis, k.attributes.integer(ops::RepeatAttributes::times), k.out[0]);
  }
};

struct RollSlot {
  static void run(const Kernel& k) {
    roll(k.in[0], k.out[0], ops::shifts_of_axes(k.in[0].shape, k.attributes));
  }
};

struct TrilSlot {
  static void run(const Kernel& k) {
    tril(k.in[0], k.out[0], k.attributes.integer(ops::TriangleAttributes::diagonal));
  }
};

struct TriuSlot {
  static void run(const Kernel& k) {
    triu(k.in[0], k.out[0], k.attributes.integer(ops::TriangleAttributes::diagonal));
  }
};

}  // namespace

std::vector<KernelRow> arrange_kernels() {
  return {kernel_row<PadSlot>("pad"),       kernel_row<TileSlot>("tile"),
          kernel_row<RepeatSlot>("repeat"), kernel_row<RollSlot>("roll"),
          kernel_row<TrilSlot>("tril"),     kernel_row<TriuSlot>("triu")};
}

}  // namespace tenure::kernels
