#include "tenure/kernels/cuda/index/check_indices.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/kernels/cuda/index/index_arguments.h"
#include "tenure/kernels/cuda/launch/device_view.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {
namespace {

constexpr std::uint32_t kCheckThreads = 256;  // find_outside has room for so many

const TypedKernel kFindOutside{"tenure/kernels/cuda/index/choose.cu",
                               "find_outside",
                               "IndexCheckArguments",
                               kCheckThreads,
                               {DType::int32, DType::int64}};

std::int64_t index_at(Gpu& gpu, const View& indices, std::uint64_t i) {
  std::int64_t offset = 0;
  auto rest = static_cast<std::int64_t>(i);
  for (int d = indices.shape.size() - 1; d >= 0; --d) {
    offset += rest % indices.shape[d] * indices.strides[d];
    rest /= indices.shape[d];
  }
  if (indices.dtype == DType::int64) {
    std::int64_t index = 0;
    gpu.read(&index, indices.as<const std::int64_t>() + offset, sizeof index);
    return index;
  }
  std::int32_t index = 0;
  gpu.read(&index, indices.as<const std::int32_t>() + offset, sizeof index);
  return index;
}

}  // namespace

void check_indices(Gpu& gpu, const char* op, const View& indices, std::int64_t size) {
  if (indices.count() == 0) return;
  IndexCheckArguments a{.in = device_view(indices), .size = size, .answers = nullptr};
  const Grid grid = grid_over(indices.count(), kCheckThreads);
  std::vector<std::uint64_t> answers(grid.blocks);
  gpu.ask(op, kFindOutside, indices.dtype, grid, a, &IndexCheckArguments::answers, answers);
  const std::uint64_t first = *std::min_element(answers.begin(), answers.end());
  if (first == ~std::uint64_t{0}) return;
  const std::int64_t index = index_at(gpu, indices, first);
  throw IndexError(op, fmt::format("index {} is outside an axis of size {}", index, size), index,
                   size);
}

const TypedKernel& index_check_kernel() { return kFindOutside; }

}  // namespace tenure::kernels::cuda
