#include <algorithm>
#include <numeric>

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/launch/bits.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/move/move.h"
#include "tenure/kernels/cuda/places/nest.h"
#include "tenure/kernels/cuda/sort/sorter.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/sort/axis.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;
using ops::sorted_axis;
using ops::with_axis;

constexpr std::uint32_t kThreads = 256;

TypedKernel of_sorted(const char* function, const char* arguments) {
  return {"tenure/kernels/cuda/sort/unique.cu", function, arguments, kThreads, bits_types()};
}
const TypedKernel kUniqueCount = of_sorted("unique_count", "UniqueArguments");
const TypedKernel kUniqueWrite = of_sorted("unique_write", "UniqueArguments");
const TypedKernel kSearchSorted = of_sorted("search_sorted", "SearchArguments");

int key_bits(DType type) { return static_cast<int>(8 * size_of(type)); }

/// Rows of `in` along an axis, with a nest over the others.
SortJob job_along(const Kernel& k, int axis, bool is_descending, const View* values,
                  const View* indices) {
  const View in = with_axis(k.in[0]);
  const auto others = [axis](Dims dims) {
    dims.erase(axis);
    return dims;
  };
  const Strides nothing = Strides::filled(in.shape.size(), 0);
  const Strides of_in = others(in.strides);
  const Strides of_values = others(values == nullptr ? nothing : values->strides);
  const Strides of_indices = others(indices == nullptr ? nothing : indices->strides);
  SortJob job{.op = k.op,
              .element = size_of(in.dtype),
              .rule = key_rule(in.dtype, is_descending),
              .rows = loops_over(others(in.shape), {&of_in, &of_values, &of_indices}),
              .n = in.shape[axis],
              .kept = in.shape[axis],
              .in = in.data,
              .in_step = in.strides[axis],
              .bits = key_bits(in.dtype)};
  if (values != nullptr) {
    job.values = values->data;
    job.value_step = values->strides[axis];
  }
  if (indices != nullptr) {
    job.indices = indices->data;
    job.index_step = indices->strides[axis];
  }
  return job;
}

std::size_t workspace_along(const Kernel& k, int axis, bool with_places) {
  const View in = with_axis(k.in[0]);
  const std::int64_t n = in.shape[axis];
  return n == 0 ? 0 : sort_bytes(in.count() / n, n, size_of(in.dtype), with_places);
}

/// sort, or argsort if `indices`.
template <bool indices>
struct SortSlot {
  static std::size_t workspace(const Kernel& k) {
    return workspace_along(k, sorted_axis(k, ops::SortAttributes::axis), indices);
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const View out = with_axis(k.out[0]);
    sort_rows(*gpu,
              job_along(k, sorted_axis(k, ops::SortAttributes::axis),
                        k.attributes.flag(ops::SortAttributes::descending),
                        indices ? nullptr : &out, indices ? &out : nullptr),
              k.workspace.data());
  }
};

struct TopKSlot {
  static std::size_t workspace(const Kernel& k) {
    return workspace_along(k, sorted_axis(k, ops::TopKAttributes::axis), true);
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const View values = with_axis(k.out[0]);
    const View indices = with_axis(k.out[1]);
    SortJob job = job_along(k, sorted_axis(k, ops::TopKAttributes::axis),
                            k.attributes.flag(ops::TopKAttributes::largest), &values, &indices);
    job.kept = k.attributes.integer(ops::TopKAttributes::size);
    sort_rows(*gpu, job, k.workspace.data());
  }
};

/// What unique leaves in its workspace for run: the sorted elements, their places if those are
/// wanted, and how many different ones come before each block's.
struct UniqueRoom {
  std::size_t places = 0;
  std::size_t before = 0;
  std::size_t rest = 0;
  std::size_t bytes = 0;
  Grid grid{};
  std::int64_t chunk = 1;

  UniqueRoom(const View& in, bool all) {
    constexpr std::size_t kAligned = 64;
    const std::int64_t n = in.count();
    if (n == 0) return;
    const auto count = static_cast<std::size_t>(n);
    grid = grid_over(n, kThreads);
    chunk = (n + grid.blocks - 1) / grid.blocks;
    places = round_up(count * size_of(in.dtype), kAligned);
    before = places + (all ? round_up(count * sizeof(std::uint32_t), kAligned) : 0);
    rest = before + round_up(grid.blocks * sizeof(std::uint64_t), kAligned);
    bytes = rest + sort_bytes(1, n, size_of(in.dtype), all);
  }
};

/// unique, or unique_all.
template <bool all>
struct UniqueSlot {
  static std::size_t workspace(const Kernel& k) { return UniqueRoom(k.in[0], all).bytes; }
  static UniqueArguments arguments(const Kernel& k, const UniqueRoom& room) {
    std::byte* const begin = k.workspace.data();
    return {.rule = key_rule(k.in[0].dtype, false),
            .sorted = begin,
            .places = reinterpret_cast<const std::uint32_t*>(begin + room.places),
            .n = k.in[0].count(),
            .chunk = room.chunk,
            .answers = nullptr,
            .before = reinterpret_cast<const std::uint64_t*>(begin + room.before),
            .values = nullptr,
            .inverse = nullptr,
            .counts = nullptr};
  }
  static ops::Specs measure(const Kernel& k) {
    const std::int64_t n = count(k);
    if (!all) return {{k.in[0].dtype, {n}}};
    return {{k.in[0].dtype, {n}}, {DType::int64, k.in[0].shape}, {DType::int64, {n}}};
  }
  static std::int64_t count(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.in[0].count() == 0) return 0;
    const View& in = k.in[0];
    const UniqueRoom room(in, all);
    std::byte* const begin = k.workspace.data();
    const View sorted{
        .dtype = in.dtype, .shape = {in.count()}, .strides = {1}, .data = k.workspace.data()};
    copy_elements(*gpu, k.op, in, sorted);
    SortJob job{.op = k.op,
                .element = size_of(in.dtype),
                .rule = key_rule(in.dtype, false),
                .rows = no_loops(3),
                .n = in.count(),
                .kept = in.count(),
                .in = sorted.data,
                .values = sorted.data,
                .bits = key_bits(in.dtype)};
    if (all) job.places = reinterpret_cast<std::uint32_t*>(begin + room.places);
    sort_rows(*gpu, job, begin + room.rest);
    UniqueArguments a = arguments(k, room);
    std::vector<std::uint64_t> found(room.grid.blocks);
    gpu->ask(k.op, kUniqueCount, bits_type(size_of(in.dtype)), room.grid, a,
             &UniqueArguments::answers, found);
    const std::uint64_t total = std::accumulate(found.begin(), found.end(), std::uint64_t{0});
    std::exclusive_scan(found.begin(), found.end(), found.begin(), std::uint64_t{0});
    gpu->write(begin + room.before, found.data(), found.size() * sizeof(std::uint64_t));
    return static_cast<std::int64_t>(total);
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.in[0].count() == 0) return;
    const UniqueRoom room(k.in[0], all);
    UniqueArguments a = arguments(k, room);
    a.values = k.out[0].data;
    if (all) {
      a.inverse = k.out[1].template as<std::int64_t>();
      a.counts = k.out[2].template as<std::uint64_t>();
      gpu->set_bytes(k.op, a.counts, 0,
                     static_cast<std::size_t>(k.out[2].count()) * sizeof(std::uint64_t));
    }
    gpu->launch(k.op, kUniqueWrite, bits_type(size_of(k.in[0].dtype)), room.grid, a);
  }
};

struct SearchSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const View& sorted = k.in[0];
    const View& values = k.in[1];
    const int last = sorted.shape.size() - 1;
    Strides rows = Strides::filled(values.shape.size(), 0);
    for (int d = 0; d < last; ++d) rows[d] = sorted.strides[d];
    gpu->launch(k.op, kSearchSorted, bits_type(size_of(values.dtype)),
                grid_over(values.count(), kThreads),
                SearchArguments{.rule = key_rule(values.dtype, false),
                                .values = loops_over(values.shape, {&values.strides, &rows}),
                                .sorted = sorted.data,
                                .step = sorted.strides[last],
                                .n = sorted.shape[last],
                                .sought = values.data,
                                .out = k.out[0].as<std::int64_t>(),
                                .right = k.attributes.flag(ops::SearchAttributes::right) ? 1 : 0});
  }
};

}  // namespace

Family sort_family() {
  Family family{{row<SortSlot<false>>("sort"), row<SortSlot<true>>("argsort"),
                 row<TopKSlot>("topk"), row<UniqueSlot<false>>("unique"),
                 row<UniqueSlot<true>>("unique_all"), row<SearchSlot>("searchsorted")},
                sort_kernels()};
  for (const TypedKernel* one : {&kUniqueCount, &kUniqueWrite, &kSearchSorted}) {
    family.kernels.push_back(one);
  }
  return family;
}

}  // namespace tenure::kernels::cuda
