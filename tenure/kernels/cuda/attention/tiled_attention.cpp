#include "tenure/kernels/cuda/attention/tiled_attention.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

/// Kernels for heads of up to so many columns.
struct TiledKernels {
  AttentionTiles tiles;           ///< of `attend`
  AttentionTiles gradient_tiles;  ///< of the others
  int rooms;                      ///< for weights, of each sum that they are in
  int facts;                      ///< of each query
  TypedKernel attend;
  TypedKernel query_gradient;
  TypedKernel key_value_gradient;
};

TypedKernel tiled_kernel(const char* file, const char* function, const AttentionTiles& tiles,
                         std::vector<Types> types) {
  return {file,
          function,
          "AttentionArguments",
          static_cast<std::uint32_t>(tiles.threads()),
          std::move(types),
          static_cast<std::uint32_t>(tiles.blocks)};
}
TypedKernel narrow_kernel(const char* function, const AttentionTiles& tiles) {
  return tiled_kernel("tenure/kernels/cuda/attention/tensor_cores.cu", function, tiles,
                      {DType::float16, DType::bfloat16});
}
TypedKernel float32_kernel(const char* function, const AttentionTiles& tiles) {
  return tiled_kernel("tenure/kernels/cuda/attention/float32_tiles.cu", function, tiles,
                      {DType::float32});
}

/// Of 16-bit floats.
TiledKernels narrow_kernels(const AttentionTiles& attend, const AttentionTiles& gradient,
                            const char* forward, const char* query, const char* key_value) {
  return {attend,
          gradient,
          0,
          2,
          narrow_kernel(forward, attend),
          narrow_kernel(query, gradient),
          narrow_kernel(key_value, gradient)};
}

const TiledKernels kUpTo64 = narrow_kernels(kAttend64, kGradient64, "attend_64",
                                            "query_gradient_64", "key_value_gradient_64");
const TiledKernels kUpTo128 = narrow_kernels(kAttend128, kGradient128, "attend_128",
                                             "query_gradient_128", "key_value_gradient_128");
const TiledKernels kByGroups64 =
    narrow_kernels(kGroupsAttend64, kGroupsGradient64, "attend_by_groups_64",
                   "query_gradient_by_groups_64", "key_value_gradient_by_groups_64");
const TiledKernels kByGroups128 =
    narrow_kernels(kGroupsAttend128, kGroupsGradient128, "attend_by_groups_128",
                   "query_gradient_by_groups_128", "key_value_gradient_by_groups_128");
const TiledKernels kOfMany{kFloat32Many,
                           kFloat32Many,
                           1,
                           3,
                           float32_kernel("attend_many", kFloat32Many),
                           float32_kernel("query_gradient_many", kFloat32Many),
                           float32_kernel("key_value_gradient_many", kFloat32Many)};
const TiledKernels kOfFew{kFloat32Few,
                          kFloat32Few,
                          1,
                          3,
                          float32_kernel("attend_few", kFloat32Few),
                          float32_kernel("query_gradient_few", kFloat32Few),
                          float32_kernel("key_value_gradient_few", kFloat32Few)};

/// Those that can do it; nullptr: none.
const TiledKernels* tiled_kernels(const Gpu& gpu, const AttentionArguments& a, DType type) {
  // Rows and blocks are counted in 32 bits.
  constexpr std::int64_t kMost = std::int64_t{1} << 29;
  const std::int64_t rows = std::max(a.n, a.m);
  if (gpu.facts().architecture < 80 || rows >= kMost || rows * a.heads.count >= kMost) {
    return nullptr;
  }
  const std::int64_t columns = std::max(a.d, a.e);
  if (type == DType::float32) {
    if (columns > kFloat32Many.size) return nullptr;
    const std::int64_t blocks = rows / kFloat32Many.rows() * a.heads.count;
    return blocks > 2 * gpu.facts().processors ? &kOfMany : &kOfFew;
  }
  using Scale = std::numeric_limits<float>;
  const bool is_usual = a.scale >= Scale::min() && a.scale <= Scale::max() && a.mask_kind != 2;
  if (!is_narrow_float(type) || !is_usual) return nullptr;
  const bool by_groups = gpu.facts().architecture == 90;
  if (columns <= kUpTo64.tiles.size) return by_groups ? &kByGroups64 : &kUpTo64;
  if (columns > kUpTo128.tiles.size) return nullptr;
  return by_groups ? &kByGroups128 : &kUpTo128;
}

/// Whether every row is at a multiple of 16 bytes, in every head.
bool in_packs(const View& matrix) {
  const auto each = static_cast<std::int64_t>(16 / size_of(matrix.dtype));
  bool is_even =
      matrix.strides.back() == 1 && reinterpret_cast<std::uintptr_t>(matrix.data) % 16 == 0;
  for (int i = 0; i + 1 < matrix.strides.size(); ++i) is_even &= matrix.strides[i] % each == 0;
  return is_even;
}
/// Whether the rows of a head begin less than 2 GiB behind the first.
bool is_near(const View& matrix) {
  const int rank = matrix.shape.size();
  const auto most = std::int64_t{1} << 31;
  const std::int64_t row = matrix.strides[rank - 2];
  return row >= 0 && row < most &&
         row * matrix.shape[rank - 2] < most / static_cast<std::int64_t>(size_of(matrix.dtype));
}
/// As AttentionArguments has it, of the first inputs of a kernel.
std::int64_t in_packs(const Kernel& k, std::size_t matrices) {
  const std::span<const View> all = k.in.first(matrices);
  if (!std::ranges::all_of(all, [](const View& matrix) { return in_packs(matrix); })) return 0;
  return std::ranges::all_of(all, is_near) ? 2 : 1;
}

/// Blocks of a head read the same, and are neighbours where all have as much work. Where they have
/// not, those of the most work of some heads are: of as many as the cache has room for, or fewer.
std::int64_t heads_together(const AttentionArguments& a, DType type) {
  constexpr std::int64_t kCached = std::int64_t{32} << 20;
  if (a.causal == 0) return 1;
  const std::int64_t bytes = a.m * (a.d + a.e) * static_cast<std::int64_t>(size_of(type));
  const std::int64_t most = std::max<std::int64_t>(1, kCached / std::max<std::int64_t>(1, bytes));
  const std::int64_t turns = std::max<std::int64_t>(1, (a.heads.count + most - 1) / most);
  return (a.heads.count + turns - 1) / turns;
}

Grid tiled_grid(const AttentionArguments& a, std::int64_t rows, const AttentionTiles& tiles,
                int bytes) {
  const std::int64_t blocks = (rows + tiles.rows() - 1) / tiles.rows() * a.heads.count;
  return {.blocks = static_cast<std::uint32_t>(blocks),
          .threads = static_cast<std::uint32_t>(tiles.threads()),
          .shared_bytes = static_cast<std::uint32_t>(bytes)};
}

}  // namespace

bool attend_by_tiles(Gpu& gpu, const Kernel& k, AttentionArguments a) {
  const DType type = k.in[0].dtype;
  const TiledKernels* const kernels = tiled_kernels(gpu, a, type);
  if (kernels == nullptr) return false;
  a.in_packs = in_packs(k, 3);
  a.heads_together = heads_together(a, type);
  a.out = k.out[0].data;
  const int bytes = kernels->tiles.bytes(1, static_cast<int>(size_of(type)), kernels->rooms, 0);
  gpu.launch(k.op, kernels->attend, type, tiled_grid(a, a.n, kernels->tiles, bytes), a);
  return true;
}

bool attention_gradient_by_tiles(Gpu& gpu, const Kernel& k, AttentionArguments a) {
  const DType type = k.in[0].dtype;
  const TiledKernels* const kernels = tiled_kernels(gpu, a, type);
  if (kernels == nullptr) return false;
  a.in_packs = in_packs(k, 4);
  a.heads_together = heads_together(a, type);
  const auto grid = [&](std::int64_t rows, int facts) {
    const AttentionTiles& tiles = kernels->gradient_tiles;
    return tiled_grid(a, rows, tiles,
                      tiles.bytes(2, static_cast<int>(size_of(type)), 2 * kernels->rooms, facts));
  };
  if (a.n > 0 && a.heads.count > 0) {
    a.out = k.out[0].data;
    gpu.launch(k.op, kernels->query_gradient, type, grid(a.n, 0), a);
  }
  if (a.m > 0 && a.heads.count > 0) {
    a.out = k.out[1].data;
    a.out_of_values = k.out[2].data;
    gpu.launch(k.op, kernels->key_value_gradient, type, grid(a.m, kernels->facts), a);
  }
  return true;
}

std::vector<const TypedKernel*> kernels_of_tiles() {
  std::vector<const TypedKernel*> all;
  for (const TiledKernels* const kernels :
       {&kUpTo64, &kUpTo128, &kByGroups64, &kByGroups128, &kOfMany, &kOfFew}) {
    all.insert(all.end(),
               {&kernels->attend, &kernels->query_gradient, &kernels->key_value_gradient});
  }
  return all;
}

}  // namespace tenure::kernels::cuda
