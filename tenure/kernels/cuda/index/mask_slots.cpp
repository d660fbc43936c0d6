#include <numeric>

#include "tenure/kernels/cuda/index/index_arguments.h"
#include "tenure/kernels/cuda/launch/bits.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/places/nest.h"
#include "tenure/kernels/cuda/table.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

constexpr std::uint32_t kMaskThreads = 256;

TypedKernel masking(const char* function) {
  return {"tenure/kernels/cuda/index/mask.cu", function, "MaskArguments", kMaskThreads,
          bits_types()};
}
const TypedKernel kCountTrue = masking("count_true");
const TypedKernel kSelectMasked = masking("select_masked");
const TypedKernel kWriteNonzero = masking("write_nonzero");

/// What is asked whether it is true, in the order of the elements.
MaskArguments asking(const View& mask, const View& in, const Grid& grid) {
  // The sign of a float is not among the bits: -0 is zero.
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - 8 * size_of(mask.dtype));
  MaskArguments a{};
  a.places = loops_over(mask.shape, {&mask.strides, &in.strides});
  a.bits = is_floating(mask.dtype) ? all >> 1 : all;
  a.mask = mask.data;
  a.in = in.data;
  a.chunk = (mask.count() + grid.blocks - 1) / grid.blocks;
  return a;
}

/// How many blocks' counts fit in the workspace, for a mask of a size.
std::size_t before_bytes(const View& mask) {
  return mask.count() == 0 ? 0
                           : grid_over(mask.count(), kMaskThreads).blocks * sizeof(std::uint64_t);
}

/// Counts the true elements, and leaves in the workspace how many come before each block's.
std::int64_t count_true(const Kernel& k, const View& mask) {
  Gpu* const gpu = gpu_of(k);
  if (gpu == nullptr || mask.count() == 0) return 0;
  const Grid grid = grid_over(mask.count(), kMaskThreads);
  MaskArguments a = asking(mask, mask, grid);
  std::vector<std::uint64_t> found(grid.blocks);
  gpu->ask(k.op, kCountTrue, bits_type(size_of(mask.dtype)), grid, a, &MaskArguments::answers,
           found);
  const std::uint64_t total = std::accumulate(found.begin(), found.end(), std::uint64_t{0});
  std::exclusive_scan(found.begin(), found.end(), found.begin(), std::uint64_t{0});
  gpu->write(k.workspace.data(), found.data(), found.size() * sizeof(std::uint64_t));
  return static_cast<std::int64_t>(total);
}

void write_true(const Kernel& k, const View& mask, const TypedKernel& kernel, DType type) {
  Gpu* const gpu = gpu_of(k);
  if (gpu == nullptr || k.out[0].count() == 0) return;
  const Grid grid = grid_over(mask.count(), kMaskThreads);
  MaskArguments a = asking(mask, k.in[0], grid);
  a.out = k.out[0].data;
  a.before = reinterpret_cast<const std::uint64_t*>(k.workspace.data());
  for (const std::int64_t size : mask.shape) a.shape[a.rank++] = size;
  gpu->launch(k.op, kernel, type, grid, a);
}

struct MaskSelectSlot {
  static std::size_t workspace(const Kernel& k) { return before_bytes(k.in[1]); }
  static ops::Specs measure(const Kernel& k) { return {{k.in[0].dtype, {count_true(k, k.in[1])}}}; }
  static void run(const Kernel& k) {
    write_true(k, k.in[1], kSelectMasked, bits_type(size_of(k.in[0].dtype)));
  }
};

struct NonzeroSlot {
  static std::size_t workspace(const Kernel& k) { return before_bytes(k.in[0]); }
  static ops::Specs measure(const Kernel& k) {
    return {{DType::int64, {count_true(k, k.in[0]), k.in[0].shape.size()}}};
  }
  static void run(const Kernel& k) {
    write_true(k, k.in[0], kWriteNonzero, bits_type(size_of(k.in[0].dtype)));
  }
};

}  // namespace

Family mask_family() {
  return {{row<MaskSelectSlot>("mask_select"), row<NonzeroSlot>("nonzero")},
          {&kCountTrue, &kSelectMasked, &kWriteNonzero}};
}

}  // namespace tenure::kernels::cuda
