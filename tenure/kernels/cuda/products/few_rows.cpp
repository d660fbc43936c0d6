#include "tenure/kernels/cuda/products/few_rows.h"

#include <bit>
#include <utility>

#include "tenure/kernels/cuda/loops/neighbours.h"
#include "tenure/kernels/cuda/products/few_rows_arguments.h"
#include "tenure/kernels/cuda/products/float32.h"

namespace tenure::kernels::cuda {
namespace {

constexpr std::int64_t kFewRows = 8;
constexpr int kKinds = 4;  // of rows: 1, 2, 4, 8

TypedKernel few_rows_kernel(const char* function, const char* rows) {
  return {.file = "tenure/kernels/cuda/products/few_rows.cu",
          .function = function,
          .arguments = "FewRows",
          .threads = kFewRowsThreads,
          .types = {Types()},
          .first = {rows}};
}
const TypedKernel kByRows[kKinds] = {
    few_rows_kernel("multiply_rows", "1"), few_rows_kernel("multiply_rows", "2"),
    few_rows_kernel("multiply_rows", "4"), few_rows_kernel("multiply_rows", "8")};
const TypedKernel kByColumns[kKinds] = {
    few_rows_kernel("multiply_columns", "1"), few_rows_kernel("multiply_columns", "2"),
    few_rows_kernel("multiply_columns", "4"), few_rows_kernel("multiply_columns", "8")};

/// The product of the transposed matrices, which has the same results where they are one column.
ProductPlan transposed(ProductPlan plan) {
  std::swap(plan.m, plan.n);
  std::swap(plan.a_row, plan.b_column);
  std::swap(plan.a_column, plan.b_row);
  std::swap(plan.batch.strides[0], plan.batch.strides[1]);
  return plan;
}

/// Threads side by side in a row: few, so that there are blocks for all processors, until what one
/// of them reads at once is as long as memory gives it.
int threads_across(const ProductPlan& plan) {
  constexpr std::int64_t kBlocks = 256;
  int across = 1;
  while (across < 8 && plan.n / (across * 8) * plan.batch.count >= kBlocks) across *= 2;
  return across;
}

}  // namespace

bool multiply_few_rows(Gpu& gpu, const ops::Kernel& kernel, const ProductPlan& given,
                       const ops::FusedNeighbours& neighbours) {
  const bool is_turned = given.n == 1 && given.m > 1;
  const ProductPlan plan = is_turned ? transposed(given) : given;
  const bool by_columns = plan.b_column != 1 && plan.b_row == 1;
  if (plan.m > kFewRows || (plan.b_column != 1 && !by_columns)) return false;
  const View& a = kernel.in[is_turned ? 1 : 0];
  const View& b = kernel.in[is_turned ? 0 : 1];
  const std::int64_t b_stride = by_columns ? plan.b_column : plan.b_row;
  const FewRows product{.a = a.as<const float>(),
                        .b = b.as<const float>(),
                        .c = kernel.out[0].data,
                        .m = static_cast<std::int32_t>(plan.m),
                        .n = static_cast<std::int32_t>(plan.n),
                        .k = static_cast<std::int32_t>(plan.k),
                        .across = threads_across(plan),
                        .a_row = plan.a_row,
                        .a_column = plan.a_column,
                        .b_stride = b_stride,
                        .a_by_vectors = is_by_fours(a, plan.a_row, plan.batch, 0),
                        .b_by_vectors = is_by_fours(b, b_stride, plan.batch, 1),
                        .batch = plan.batch};
  const std::int64_t width = product.across * 4;
  const std::int64_t blocks =
      by_columns ? (plan.n * plan.batch.count * 32 + kFewRowsThreads - 1) / kFewRowsThreads
                 : (plan.n + width - 1) / width * plan.batch.count;
  const auto rows = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(plan.m - 1)));
  launch_with(gpu, kernel.op, by_columns ? kByColumns[rows] : kByRows[rows], {},
              {.blocks = static_cast<std::uint32_t>(blocks), .threads = kFewRowsThreads}, product,
              neighbours, {}, 1);
  return true;
}

std::vector<const TypedKernel*> few_rows_kernels() {
  std::vector<const TypedKernel*> kernels;
  for (const TypedKernel& kernel : kByRows) kernels.push_back(&kernel);
  for (const TypedKernel& kernel : kByColumns) kernels.push_back(&kernel);
  return kernels;
}

}  // namespace tenure::kernels::cuda
