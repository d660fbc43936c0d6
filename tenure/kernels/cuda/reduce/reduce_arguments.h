#pragma once

#include <cstddef>
#include <cstdint>

#include "tenure/kernels/cuda/places/small_nest_arguments.h"
#include "tenure/kernels/cuda/reduce/groups_arguments.h"

namespace tenure::kernels::cuda {

/// Of reductions. Where few outputs have many terms, blocks share an output: each writes what it
/// has of its chunk (the state of a fold), and the last one to do so joins these.
struct ReduceArguments {
  const void* in;
  void* out;
  void* states;          ///< one for each chunk and output; null: blocks share none
  std::int64_t outputs;  ///< a group has one, or some neighbours
  std::int64_t terms;    ///< of an output
  std::int64_t chunk;    ///< terms of a block; which of them is blockIdx.y
  Walk kept;
  Walk reduced;
  SmallNest<1, 8> near_terms;  ///< the same; of no rank if there are more terms than it counts
  Groups groups;
  std::int32_t is_packed;  ///< 16 bytes of neighbouring terms, or outputs, are read at once
  std::int32_t root;       ///< of var: its square root
  double number;           ///< the divisor of sums, the correction of var, the order of norm
};

/// No state has more.
inline constexpr int kStateBytes = 32;
/// A thread has several outputs if their states have no more, each.
inline constexpr int kSmallStateBytes = 8;
/// Outputs of a thread that may have several.
constexpr int columns_of_thread(std::size_t element) {
  return element < 8 ? static_cast<int>((element < 2 ? 8 : 16) / element) : 1;
}
}  // namespace tenure::kernels::cuda
