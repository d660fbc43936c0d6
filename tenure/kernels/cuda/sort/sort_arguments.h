#pragma once

#include "tenure/kernels/cuda/places/places_arguments.h"

namespace tenure::kernels::cuda {

/// How the bits of elements become unsigned integers in the order of sort: -0 and 0 are equal,
/// every NaN is equal to every other and greater than all numbers.
struct KeyRule {
  std::uint64_t infinity;  ///< its bits, of floats
  std::uint64_t flipped;   ///< bits that are turned over, of integers
  std::uint64_t order;     ///< bits that are turned over for the order: all of them for descending
  std::int64_t is_floating;
};

/// Rows that are sorted, as all kernels of a sort see them. Each may have a stride of its own along
/// the sorted axis.
struct SortedRows {
  KeyRule rule;
  Places rows;  ///< of the input, the values, the indices
  std::int64_t n;
  std::int64_t kept;  ///< how many of each row come out
};

/// Of rows that are sorted in shared memory.
struct SmallSortArguments {
  SortedRows of;
  const void* in;
  std::int64_t in_step;
  void* values;  ///< null: not wanted
  std::int64_t value_step;
  void* indices;  ///< int64; null: not wanted
  std::int64_t index_step;
  std::uint32_t* places;  ///< the same in a workspace, rows behind each other
};

/// Of one pass over all rows, by four bits of their keys. Without a stride, a side is the
/// workspace, where rows lie behind each other.
struct RadixArguments {
  SortedRows of;
  std::int64_t tiles;  ///< of a row
  std::int64_t shift;
  const void* in;
  std::int64_t in_step;
  const std::uint32_t* in_places;  ///< null: those of the elements, or not wanted
  void* out;
  std::int64_t out_step;
  std::uint32_t* out_places;
  std::int64_t* indices;  ///< in the last pass
  std::int64_t index_step;
  std::int64_t in_is_packed;
  std::int64_t out_is_packed;
  std::uint32_t* counts;  ///< of each row: digits by tiles; then what comes before each
};

/// Of what comes of sorted elements: the different ones, how many, and which each was.
struct UniqueArguments {
  KeyRule rule;
  const void* sorted;
  const std::uint32_t* places;
  std::int64_t n;
  std::int64_t chunk;           ///< elements of a block
  std::uint64_t* answers;       ///< of each block: how many different ones begin there
  const std::uint64_t* before;  ///< of each block: those of the blocks before
  void* values;
  std::int64_t* inverse;
  std::uint64_t* counts;  ///< zeros at first
};

/// Of a search in sorted rows.
struct SearchArguments {
  KeyRule rule;
  Places values;  ///< of the values, of the row in which each is sought
  const void* sorted;
  std::int64_t step;
  std::int64_t n;
  const void* sought;
  std::int64_t* out;
  std::int64_t right;
};

}  // namespace tenure::kernels::cuda
