#include "tenure/kernels/cuda/sort/sorter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/launch/bits.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {
namespace {

// As the kernels have them.
constexpr std::int64_t kSmallSort = 2048;
constexpr std::int64_t kRadixTile = 2048;
constexpr std::int64_t kDigits = 16;
constexpr int kDigitBits = 4;
constexpr std::uint32_t kSortThreads = 256;

TypedKernel radix(const char* function, std::vector<Types> types) {
  return {"tenure/kernels/cuda/sort/radix.cu", function, "RadixArguments", kSortThreads,
          std::move(types)};
}
const TypedKernel kSortSmall{"tenure/kernels/cuda/sort/small_sort.cu", "sort_small",
                             "SmallSortArguments", kSortThreads, bits_types()};
const TypedKernel kRadixCount = radix("radix_count", bits_types());
const TypedKernel kRadixScan = radix("radix_scan", {Types()});
const TypedKernel kRadixPlace = radix("radix_place", bits_types());

std::int64_t tiles_of(std::int64_t n) { return (n + kRadixTile - 1) / kRadixTile; }

/// The parts of the workspace: two of everything that passes hand on.
struct SortRoom {
  std::size_t values = 0;
  std::size_t places = 0;
  std::size_t counts = 0;

  SortRoom(std::int64_t rows, std::int64_t n, std::size_t element, bool with_places) {
    if (n <= kSmallSort) return;
    constexpr std::size_t kAligned = 64;
    const auto all = static_cast<std::size_t>(rows * n);
    values = round_up(all * element, kAligned);
    places = with_places ? round_up(all * sizeof(std::uint32_t), kAligned) : 0;
    counts = static_cast<std::size_t>(rows * kDigits * tiles_of(n)) * sizeof(std::uint32_t);
  }
  std::size_t bytes() const { return 2 * values + 2 * places + counts; }
};

void sort_small(Gpu& gpu, const SortJob& job, const SortedRows& rows) {
  const auto room = static_cast<std::uint32_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(job.n, 1))));
  const std::uint32_t threads = std::clamp<std::uint32_t>(room / 2, 32, kSortThreads);
  const Grid grid = grid_over(job.rows.count * threads, threads);
  gpu.launch(job.op, kSortSmall, bits_type(job.element), grid,
             SmallSortArguments{.of = rows,
                                .in = job.in,
                                .in_step = job.in_step,
                                .values = job.values,
                                .value_step = job.value_step,
                                .indices = job.indices,
                                .index_step = job.index_step,
                                .places = job.places});
}

}  // namespace

KeyRule key_rule(DType type, bool is_descending) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * size_of(type) - 1);
  return {.infinity = is_floating(type) ? element_type(type).format.infinity() : 0,
          .flipped = is_unsigned(type) ? 0 : sign,
          .order = is_descending ? ~std::uint64_t{0} : 0,
          .is_floating = is_floating(type) ? 1 : 0};
}

std::size_t sort_bytes(std::int64_t rows, std::int64_t n, std::size_t element, bool with_places) {
  return SortRoom(rows, n, element, with_places).bytes();
}

void sort_rows(Gpu& gpu, const SortJob& job, std::byte* workspace) {
  if (job.rows.count == 0 || job.n == 0 || job.kept == 0) return;
  const SortedRows rows{.rule = job.rule, .rows = job.rows, .n = job.n, .kept = job.n};
  SortedRows last = rows;
  last.kept = job.kept;
  if (job.n <= kSmallSort) return sort_small(gpu, job, last);
  if (job.n > std::numeric_limits<std::uint32_t>::max()) {
    throw ValueError(fmt::format("{}: a GPU sorts at most {} elements in a row, not {}", job.op,
                                 std::numeric_limits<std::uint32_t>::max(), job.n));
  }
  const SortRoom room(job.rows.count, job.n, job.element, job.has_places());
  void* values[] = {workspace, workspace + room.values};
  std::byte* const places_begin = workspace + 2 * room.values;
  std::uint32_t* places[] = {reinterpret_cast<std::uint32_t*>(places_begin),
                             reinterpret_cast<std::uint32_t*>(places_begin + room.places)};
  RadixArguments a{.of = rows,
                   .tiles = tiles_of(job.n),
                   .shift = 0,
                   .in = job.in,
                   .in_step = job.in_step,
                   .in_places = nullptr,
                   .out = nullptr,
                   .out_step = job.value_step,
                   .out_places = nullptr,
                   .indices = nullptr,
                   .index_step = job.index_step,
                   .in_is_packed = 0,
                   .out_is_packed = 1,
                   .counts = reinterpret_cast<std::uint32_t*>(places_begin + 2 * room.places)};
  const DType type = bits_type(job.element);
  const Grid grid = grid_over(job.rows.count * a.tiles * kSortThreads, kSortThreads);
  const Grid scan = grid_over(job.rows.count * kSortThreads, kSortThreads);
  const int passes = (job.bits + kDigitBits - 1) / kDigitBits;
  for (int pass = 0; pass < passes; ++pass) {
    a.shift = pass * kDigitBits;
    a.out = values[pass % 2];
    a.out_places = job.has_places() ? places[pass % 2] : nullptr;
    if (pass == passes - 1) {
      a.of = last;
      a.out = job.values;
      a.out_is_packed = 0;
      a.out_places = job.places;
      a.indices = static_cast<std::int64_t*>(job.indices);
    }
    gpu.launch(job.op, kRadixCount, type, grid, a);
    gpu.launch(job.op, kRadixScan, Types(), scan, a);
    gpu.launch(job.op, kRadixPlace, type, grid, a);
    a.in = a.out;
    a.in_is_packed = 1;
    a.in_places = a.out_places;
  }
}

std::vector<const TypedKernel*> sort_kernels() {
  return {&kSortSmall, &kRadixCount, &kRadixScan, &kRadixPlace};
}

}  // namespace tenure::kernels::cuda
