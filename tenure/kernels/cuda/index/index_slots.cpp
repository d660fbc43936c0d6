#include <algorithm>
#include <array>

#include "tenure/kernels/cuda/find/find.h"
#include "tenure/kernels/cuda/index/check_indices.h"
#include "tenure/kernels/cuda/index/put.h"
#include "tenure/kernels/cuda/launch/bits.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/move/move.h"
#include "tenure/kernels/cuda/places/nest.h"
#include "tenure/kernels/cuda/reduce/matrix.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/index/attributes.h"
#include "tenure/ops/index/outside.h"
#include "tenure/ops/index/places.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

constexpr std::uint32_t kIndexThreads = 256;

const TypedKernel kChoose{"tenure/kernels/cuda/index/choose.cu", "choose", "ChooseArguments",
                          kIndexThreads, bits_types()};

const TypedKernel kChooseStrips{"tenure/kernels/cuda/index/choose.cu",
                                "choose_strips",
                                "ChooseArguments",
                                kIndexThreads,
                                {Types()}};

int axis_of(const Kernel& k) {
  return normalize_axis(k.attributes.integer(ops::AlongAxisAttributes::axis), k.in[0].shape.size(),
                        k.op);
}

ChosenAxis chosen_axis(const View& indices, std::int64_t size, std::int64_t stride) {
  return {.indices = indices.data,
          .is_wide = indices.dtype == DType::int64 ? 1 : 0,
          .size = size,
          .stride = stride};
}

/// Copies input 0 to the output, unless the call computes in place.
void copy_input(Gpu& gpu, const Kernel& k) {
  if (k.in[0].data != k.out[0].data) copy_elements(gpu, k.op, k.in[0], k.out[0]);
}

/// Has the numbers of what is chosen count strips of 16 bytes instead of elements, if all of it is
/// such strips.
bool as_strips(Chosen& from, const View& in, const void* out) {
  Places& places = from.positions;
  const std::int64_t n = strip_size(size_of(in.dtype));
  const int last = places.rank - 1;
  if (last < 0 || places.strides[0][last] != 1 || places.shape[last] % n != 0 ||
      !is_aligned(in.data) || !is_aligned(out)) {
    return false;
  }
  for (int k = 0; k < from.axes; ++k) {
    if (places.strides[1 + k][last] != 0 || from.axis[k].stride % n != 0) return false;
  }
  for (int d = 0; d < last; ++d) {
    if (places.strides[0][d] % n != 0) return false;
  }
  places.shape[last] /= n;
  places.count /= n;
  for (int d = 0; d < last; ++d) places.strides[0][d] /= n;
  for (int k = 0; k < from.axes; ++k) from.axis[k].stride /= n;
  return true;
}

void choose(Gpu& gpu, const Kernel& k, Chosen from) {
  if (k.out[0].count() == 0) return;
  if (as_strips(from, k.in[0], k.out[0].data)) {
    gpu.launch(k.op, kChooseStrips, Types(), grid_over(from.positions.count, kIndexThreads),
               ChooseArguments{.from = from, .in = k.in[0].data, .out = k.out[0].data});
    return;
  }
  gpu.launch(k.op, kChoose, bits_type(size_of(k.in[0].dtype)),
             grid_over(k.out[0].count(), kIndexThreads),
             ChooseArguments{.from = from, .in = k.in[0].data, .out = k.out[0].data});
}

struct TakeSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const View& in = k.in[0];
    const View& indices = k.in[1];
    const int axis = axis_of(k);
    check_indices(*gpu, k, indices, in.shape[axis]);
    Chosen from{.positions = no_loops(2), .axes = 1, .axis = {}};
    const Strides nothing = Strides::filled(in.shape.size(), 0);
    add_loops(from.positions, in.shape, 0, axis, {&in.strides, &nothing});
    const Strides still = Strides::filled(indices.shape.size(), 0);
    add_loops(from.positions, indices.shape, 0, indices.shape.size(), {&still, &indices.strides});
    add_loops(from.positions, in.shape, axis + 1, in.shape.size(), {&in.strides, &nothing});
    from.axis[0] = chosen_axis(indices, in.shape[axis], in.strides[axis]);
    choose(*gpu, k, from);
  }
};

struct GatherSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const View& in = k.in[0];
    const View& indices = k.in[1];
    const int axis = axis_of(k);
    check_indices(*gpu, k, indices, in.shape[axis]);
    Strides base = in.strides;
    base[axis] = 0;
    Chosen from{
        .positions = loops_over(indices.shape, {&base, &indices.strides}), .axes = 1, .axis = {}};
    from.axis[0] = chosen_axis(indices, in.shape[axis], in.strides[axis]);
    choose(*gpu, k, from);
  }
};

struct ScatterSlot {
  static bool is_unique(const Kernel& k) { return k.in[1].shape[axis_of(k)] <= 1; }
  static std::size_t workspace(const Kernel& k) {
    return put_bytes(k.in[1].count(), k.in[0].count(), is_unique(k));
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const View& out = k.out[0];
    const View& indices = k.in[1];
    const int axis = axis_of(k);
    check_indices(*gpu, k, indices, out.shape[axis]);
    copy_input(*gpu, k);
    Strides base = out.strides;
    base[axis] = 0;
    Put job{.block = no_loops(2),
            .places = std::max<std::int64_t>(out.count(), 1),
            .is_unique = is_unique(k),
            .mode = static_cast<ScatterMode>(k.attributes.integer(ops::ScatterAttributes::mode)),
            .dtype = out.dtype,
            .out = out.data,
            .values = k.in[2].data};
    job.to = {.positions = loops_over(indices.shape, {&base, &indices.strides, &k.in[2].strides}),
              .axes = 1,
              .axis = {chosen_axis(indices, out.shape[axis], out.strides[axis])}};
    job.targets = job.to;  // the output is contiguous: a place is its number
    put(*gpu, k.op, job, k.workspace.data());
  }
};

/// Of the indices of one tensor for each leading axis of `view`: the nest over their common shape,
/// with `base` as first operand and `values`, if any, as last, and each axis with a stride.
Chosen chosen_by(const ops::IndexViews& indices, const View& view, const Strides& strides,
                 const Strides* values) {
  const std::span<const View> views = indices.views();
  const auto count = static_cast<int>(views.size());
  Chosen chosen{
      .positions = no_loops(count + (values == nullptr ? 1 : 2)), .axes = count, .axis = {}};
  for (int i = 0; i < count; ++i) {
    chosen.axis[i] = chosen_axis(views[static_cast<std::size_t>(i)], view.shape[i], strides[i]);
  }
  if (count == 0) return chosen;
  const Shape& shape = views[0].shape;
  for (int d = 0; d < shape.size(); ++d) {
    std::array<std::int64_t, Places::kMostOperands> steps{};
    for (int i = 0; i < count; ++i) {
      steps[static_cast<std::size_t>(i + 1)] = views[static_cast<std::size_t>(i)].strides[d];
    }
    if (values != nullptr) steps[static_cast<std::size_t>(count + 1)] = (*values)[d];
    add_loop(chosen.positions, shape[d], steps.data());
  }
  return chosen;
}

void check_all(Gpu& gpu, const Kernel& k, const ops::IndexViews& indices, const View& view) {
  int axis = 0;
  for (const View& one : indices.views()) check_indices(gpu, k, one, view.shape[axis++]);
}

struct IndexGatherSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const ops::IndexViews indices(k.in.subspan(1), k.op);
    const View in = ops::axes_first(k.in[0], k.attributes.dims(ops::IndexGatherAttributes::axes));
    check_all(*gpu, k, indices, in);
    Chosen from = chosen_by(indices, in, in.strides, nullptr);
    std::array<std::int64_t, Places::kMostOperands> steps{};
    for (int d = static_cast<int>(indices.views().size()); d < in.shape.size(); ++d) {
      steps[0] = in.strides[d];
      add_loop(from.positions, in.shape[d], steps.data());
    }
    choose(*gpu, k, from);
  }
};

/// index_update, or index_add.
template <bool add>
struct IndexPutSlot {
  /// How many places the tensors of indices choose among.
  static std::int64_t places(const View& part, std::size_t axes) {
    std::int64_t n = 1;
    for (int d = 0; d < static_cast<int>(axes); ++d) n *= part.shape[d];
    return std::max<std::int64_t>(n, 1);
  }
  static std::size_t workspace(const Kernel& k) {
    const ops::IndexViews indices(k.in.subspan(2), k.op);
    if (indices.views().empty()) return 0;
    return put_bytes(indices.views()[0].count(),
                     places(ops::part_of(k.in[0], k.attributes), indices.views().size()), false);
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const ops::IndexViews indices(k.in.subspan(2), k.op);
    const View part = ops::part_of(k.out[0], k.attributes);
    check_all(*gpu, k, indices, part);
    copy_input(*gpu, k);
    const auto axes = static_cast<int>(indices.views().size());
    const Shape chosen = indices.chosen_from(part.shape);
    const Strides values = broadcast_strides(k.in[1].shape, k.in[1].strides, chosen);
    const int lead = axes == 0 ? 0 : indices.views()[0].shape.size();

    Put job{.block = no_loops(2),
            .places = places(part, indices.views().size()),
            .is_unique = axes == 0,
            .mode = add ? ScatterMode::add : ScatterMode::assign,
            .dtype = part.dtype,
            .out = part.data,
            .values = k.in[1].data};
    for (int d = axes; d < part.shape.size(); ++d) {
      add_loop(job.block, part.shape[d], {part.strides[d], values[lead + d - axes]});
    }
    job.to = chosen_by(indices, part, part.strides, &values);
    Shape leading;
    for (int d = 0; d < axes; ++d) leading.push_back(part.shape[d]);
    job.targets = chosen_by(indices, part, contiguous_strides(leading), &values);
    put(*gpu, k.op, job, k.workspace.data());
  }
};

struct WithinSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const std::int64_t beyond =
        find_beyond(*gpu, k.op, k.in[0], k.attributes.number(ops::WithinAttributes::low),
                    k.attributes.number(ops::WithinAttributes::high));
    if (beyond >= 0) ops::refuse_outside(k, read_element(*gpu, k.in[0], beyond).bytes, beyond);
    copy_input(*gpu, k);
  }
};

}  // namespace

Family index_family() {
  Family family{{row<TakeSlot>("take"), row<GatherSlot>("gather"), row<ScatterSlot>("scatter"),
                 row<IndexGatherSlot>("index_gather"), row<IndexPutSlot<false>>("index_update"),
                 row<IndexPutSlot<true>>("index_add"), row<WithinSlot>("within")},
                put_kernels()};
  family.kernels.push_back(&kChoose);
  family.kernels.push_back(&kChooseStrips);
  family.kernels.push_back(&index_check_kernel());
  return family;
}

}  // namespace tenure::kernels::cuda
