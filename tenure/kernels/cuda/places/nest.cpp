#include "tenure/kernels/cuda/places/nest.h"

#include <array>

namespace tenure::kernels::cuda {

Places no_loops(int operands) {
  Places nest{};
  nest.operands = operands;
  nest.count = 1;
  return nest;
}

void add_loop(Places& nest, std::int64_t size, const std::int64_t* strides) {
  nest.count *= size;
  if (size == 1) return;
  bool is_even = nest.rank > 0;
  for (int i = 0; is_even && i < nest.operands; ++i) {
    is_even = nest.strides[i][nest.rank - 1] == strides[i] * size;
  }
  if (!is_even) nest.shape[nest.rank++] = 1;
  const int last = nest.rank - 1;
  nest.shape[last] *= size;
  for (int i = 0; i < nest.operands; ++i) nest.strides[i][last] = strides[i];
}

void add_loop(Places& nest, std::int64_t size, std::initializer_list<std::int64_t> strides) {
  add_loop(nest, size, strides.begin());
}

void add_loops(Places& nest, const Shape& shape, int first, int last,
               std::initializer_list<const Strides*> strides) {
  for (int d = first; d < last; ++d) {
    std::array<std::int64_t, Places::kMostOperands> steps{};
    std::size_t i = 0;
    for (const Strides* const one : strides) steps[i++] = (*one)[d];
    add_loop(nest, shape[d], steps.data());
  }
}

Places loops_over(const Shape& shape, std::initializer_list<const Strides*> strides) {
  Places nest = no_loops(static_cast<int>(strides.size()));
  add_loops(nest, shape, 0, shape.size(), strides);
  return nest;
}

}  // namespace tenure::kernels::cuda
