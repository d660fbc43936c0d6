#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tenure/kernels/cuda/compile/kernels.h"
#include "tenure/kernels/cuda/sort/sort_arguments.h"

namespace tenure::kernels::cuda {

class Gpu;

/// How elements of a type are ordered.
KeyRule key_rule(DType type, bool is_descending);

/// Rows that are to be sorted, stably. Only what is wanted is there: values (which may lie where
/// the input does), indices as int64, places as uint32 behind each other.
struct SortJob {
  const char* op = nullptr;
  std::size_t element = 0;  ///< bytes
  KeyRule rule{};
  Places rows{};  ///< of the input, the values, the indices; without the sorted axis
  std::int64_t n = 0;
  std::int64_t kept = 0;
  const void* in = nullptr;
  std::int64_t in_step = 1;
  void* values = nullptr;
  std::int64_t value_step = 1;
  void* indices = nullptr;
  std::int64_t index_step = 1;
  std::uint32_t* places = nullptr;
  int bits = 0;  ///< of the keys that may differ, from the lowest on

  bool has_places() const { return indices != nullptr || places != nullptr; }
};

/// The workspace of such a job.
std::size_t sort_bytes(std::int64_t rows, std::int64_t n, std::size_t element, bool with_places);
/// Queues it. Throws ValueError where a row has more elements than uint32 can number.
void sort_rows(Gpu& gpu, const SortJob& job, std::byte* workspace);

/// The kernels of the above, for the list of a family.
std::vector<const TypedKernel*> sort_kernels();

}  // namespace tenure::kernels::cuda
