#pragma once

#include "tenure/kernels/cuda/reduce/groups_arguments.h"

namespace tenure::kernels::cuda {

/// Of reductions. Where few outputs have many terms, blocks share an output: each writes what it
/// has of its chunk (the state of a fold), and a second launch joins these.
struct ReduceArguments {
  const void* in;        ///< elements; or states, one for each chunk and output
  void* out;             ///< elements, or states
  std::int64_t outputs;  ///< a group each
  std::int64_t terms;    ///< of an output
  std::int64_t chunk;    ///< terms of a block; which of them is blockIdx.y
  Walk kept;
  Walk reduced;
  Groups groups;
  std::int32_t reads_states;
  std::int32_t writes_states;
  std::int32_t is_packed;  ///< terms are contiguous, and those of a chunk are whole packs
  std::int32_t root;       ///< of var: its square root
  double number;           ///< the divisor of sums, the correction of var, the order of norm
};

/// No state has more.
inline constexpr int kStateBytes = 32;

}  // namespace tenure::kernels::cuda
