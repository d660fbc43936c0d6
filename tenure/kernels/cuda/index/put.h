#pragma once

#include <cstddef>

#include "tenure/kernels/cuda/index/index_arguments.h"
#include "tenure/kernels/cuda/sort/sorter.h"
#include "tenure/ops/core/record.h"
#include "tenure/ops/index/modes.h"

namespace tenure::kernels::cuda {

/// Values that are put to chosen places of a tensor: a block of elements for each position. Where
/// several positions choose one place, their values come there in the order of the positions.
struct Put {
  Chosen to{};              ///< with the values as last operand
  Chosen targets{};         ///< the same, with the number of a place instead of the place
  Places block{};           ///< of the tensor, of the values
  std::int64_t places = 1;  ///< how many numbers there are
  bool is_unique = false;   ///< positions choose different places
  ScatterMode mode = ScatterMode::assign;
  DType dtype = DType::float32;
  void* out = nullptr;
  const void* values = nullptr;
};

std::size_t put_bytes(std::int64_t positions, std::int64_t places, bool is_unique);
/// Queues it. In put.cpp.
void put(Gpu& gpu, const char* op, const Put& put, std::byte* workspace);

/// Its kernels, for the list of a family.
std::vector<const TypedKernel*> put_kernels();

}  // namespace tenure::kernels::cuda
