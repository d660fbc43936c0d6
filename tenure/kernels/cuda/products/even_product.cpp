#include "tenure/kernels/cuda/products/even_product.h"

#include <algorithm>

namespace tenure::kernels::cuda {
namespace {

constexpr std::int64_t kStrip = 8;  // elements of 16 bytes

/// Of an axis: where it begins, and how long it is.
struct Stretch {
  std::int64_t at;
  std::int64_t size;
};

/// What is a multiple of a strip, and the rest; or all in one.
std::vector<Stretch> stretches_of(std::int64_t size, bool is_cut) {
  const std::int64_t even = size / kStrip * kStrip;
  if (!is_cut || even == size || even == 0) return {{0, size}};
  return {{0, even}, {even, size - even}};
}

bool may_be_cut(DType type, const ProductPlan& plan) {
  constexpr double kLarge = 1 << 30;
  const std::int64_t rows[] = {plan.a_column == 1 ? plan.a_row : plan.a_column,
                               plan.b_column == 1 ? plan.b_row : plan.b_column, plan.c_row};
  return size_of(type) == 2 && plan.batch.rank == 0 &&
         static_cast<double>(plan.m) * static_cast<double>(plan.n) * static_cast<double>(plan.k) >=
             kLarge &&
         std::all_of(std::begin(rows), std::end(rows),
                     [](std::int64_t row) { return row % kStrip == 0; });
}

const std::byte* moved_by(const void* data, std::int64_t elements, DType type) {
  return static_cast<const std::byte*>(data) + elements * static_cast<std::int64_t>(size_of(type));
}

}  // namespace

std::vector<ProductPart> even_parts(DType type, const ProductPlan& plan) {
  const bool may = may_be_cut(type, plan);
  std::vector<Stretch> sums = stretches_of(plan.k, may && (plan.a_column == 1 || plan.b_row == 1));
  std::reverse(sums.begin(), sums.end());
  std::vector<ProductPart> parts;
  for (const Stretch& m : stretches_of(plan.m, may && plan.a_row == 1)) {
    for (const Stretch& n : stretches_of(plan.n, may)) {
      for (const Stretch& k : sums) {
        ProductPart part{.plan = plan,
                         .a = m.at * plan.a_row + k.at * plan.a_column,
                         .b = k.at * plan.b_row + n.at * plan.b_column,
                         .c = m.at * plan.c_row + n.at,
                         .adds = &k != sums.data()};
        part.plan.m = m.size;
        part.plan.n = n.size;
        part.plan.k = k.size;
        parts.push_back(part);
      }
    }
  }
  return parts;
}

std::size_t even_workspace(DType type, const ProductPlan& plan) {
  std::size_t most = 0;
  for (const ProductPart& part : even_parts(type, plan)) {
    most = std::max(most, library_workspace(part.plan));
  }
  return most;
}

bool multiply_evenly(Gpu& gpu, const LibraryProduct& product, const void* a, const void* b, void* c,
                     std::span<std::byte> workspace) {
  const std::vector<ProductPart> parts = even_parts(product.type, product.plan);
  return std::all_of(parts.begin(), parts.end(), [&](const ProductPart& part) {
    LibraryProduct one = product;
    one.plan = part.plan;
    one.adds |= part.adds;
    return library_multiply(gpu, one, moved_by(a, part.a, product.type),
                            moved_by(b, part.b, product.type),
                            const_cast<std::byte*>(moved_by(c, part.c, product.out)), workspace);
  });
}

}  // namespace tenure::kernels::cuda
