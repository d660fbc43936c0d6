#include "tenure/kernels/cuda/index/check_indices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

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

}  // namespace

ops::ElementBytes read_element(Gpu& gpu, const View& view, std::int64_t number) {
  std::int64_t offset = 0;
  for (int d = view.shape.size() - 1; d >= 0; --d) {
    offset += number % view.shape[d] * view.strides[d];
    number /= view.shape[d];
  }
  const std::size_t size = size_of(view.dtype);
  ops::ElementBytes element{};
  gpu.read(element.bytes, view.as<const std::byte>() + offset * static_cast<std::int64_t>(size),
           size);
  return element;
}

void check_indices(Gpu& gpu, const ops::Kernel& call, const View& indices, std::int64_t size) {
  if (call.indices_hold || indices.count() == 0) return;
  IndexCheckArguments a{.in = device_view(indices), .size = size, .answers = nullptr};
  const Grid grid = grid_over(indices.count(), kCheckThreads);
  std::vector<std::uint64_t> answers(grid.blocks);
  gpu.ask(call.op, kFindOutside, indices.dtype, grid, a, &IndexCheckArguments::answers, answers);
  const std::uint64_t first = *std::min_element(answers.begin(), answers.end());
  if (first == ~std::uint64_t{0}) return;
  const ops::ElementBytes element = read_element(gpu, indices, static_cast<std::int64_t>(first));
  const std::int64_t index = visit_dtype(indices.dtype, [&]<class T>(TypeTag<T>) {
    T value;
    std::memcpy(&value, element.bytes, sizeof value);
    return static_cast<std::int64_t>(value);
  });
  throw IndexError(call.op, fmt::format("index {} is outside an axis of size {}", index, size),
                   index, size);
}

const TypedKernel& index_check_kernel() { return kFindOutside; }

}  // namespace tenure::kernels::cuda
