#include "tenure/kernels/cpu/index/blocks.h"
#include "tenure/kernels/cpu/index/mask.h"
#include "tenure/kernels/cpu/index/take.h"
#include "tenure/kernels/cpu/index/within.h"
#include "tenure/kernels/cpu/move/copy.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/index/attributes.h"
#include "tenure/ops/index/places.h"

namespace tenure::kernels {
namespace {

using ops::Kernel;

int axis_of(const Kernel& k) {
  return normalize_axis(k.attributes.integer(ops::AlongAxisAttributes::axis), k.in[0].shape.size(),
                        k.op);
}

/// Copies input 0 to the output, unless the call computes in place.
void copy_input(const Kernel& k) {
  if (k.in[0].data != k.out[0].data) copy(k.in[0], k.out[0]);
}

struct TakeSlot {
  static void run(const Kernel& k) { take(k.in[0], axis_of(k), k.in[1], k.out[0], k.op); }
};

struct GatherSlot {
  static void run(const Kernel& k) { gather(k.in[0], axis_of(k), k.in[1], k.out[0]); }
};

struct ScatterSlot {
  static void run(const Kernel& k) {
    copy_input(k);
    scatter(k.out[0], axis_of(k), k.in[1], k.in[2],
            static_cast<ScatterMode>(k.attributes.integer(ops::ScatterAttributes::mode)));
  }
};

struct MaskSelectSlot {
  static ops::Specs measure(const Kernel& k) { return {{k.in[0].dtype, {nonzero_count(k.in[1])}}}; }
  static void run(const Kernel& k) { mask_select(k.in[0], k.in[1], k.out[0]); }
};

struct NonzeroSlot {
  static ops::Specs measure(const Kernel& k) {
    return {{DType::int64, {nonzero_count(k.in[0]), k.in[0].shape.size()}}};
  }
  static void run(const Kernel& k) { nonzero(k.in[0], k.out[0]); }
};

struct IndexGatherSlot {
  static void run(const Kernel& k) {
    const ops::IndexViews indices(k.in.subspan(1), k.op);
    index_gather(ops::axes_first(k.in[0], k.attributes.dims(ops::IndexGatherAttributes::axes)),
                 indices.views(), k.out[0], k.op);
  }
};

/// index_update, or index_add.
template <bool add>
struct IndexPutSlot {
  static void run(const Kernel& k) {
    const ops::IndexViews indices(k.in.subspan(2), k.op);
    copy_input(k);
    const View part = ops::part_of(k.out[0], k.attributes);
    View values = k.in[1];
    values.shape = indices.chosen_from(part.shape);
    values.strides = broadcast_strides(k.in[1].shape, k.in[1].strides, values.shape);
    if (!indices.views().empty()) {
      index_put(part, indices.views(), values, add, k.op);
    } else if (!add) {
      copy(values, part);
    } else {
      const std::int64_t start = 0;
      index::combine_blocks(ScatterMode::add, part.dtype,
                            index::make_loop(part.shape, part.strides, values.strides), part.data,
                            &start, values.data, &start, part.count() > 0 ? 1 : 0);
    }
  }
};

struct WithinSlot {
  static void run(const Kernel& k) {
    check_within(k);
    copy_input(k);
  }
};

}  // namespace

std::vector<KernelRow> index_kernels() {
  return {kernel_row<TakeSlot>("take"),
          kernel_row<GatherSlot>("gather"),
          kernel_row<ScatterSlot>("scatter"),
          kernel_row<MaskSelectSlot>("mask_select"),
          kernel_row<NonzeroSlot>("nonzero"),
          kernel_row<IndexGatherSlot>("index_gather"),
          kernel_row<IndexPutSlot<false>>("index_update"),
          kernel_row<IndexPutSlot<true>>("index_add"),
          kernel_row<WithinSlot>("within")};
}

}  // namespace tenure::kernels
